#include "tests/emulated/machine/shared_memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <new>
#include <vector>

#include "tests/emulated/machine/block.hpp"
#include "tests/emulated/machine/sanitizer.hpp"

namespace orrery::emulated {

namespace {

constexpr std::size_t page = 4096, unit = 16, behind = 64;  ///< behind: bytes between two variables
constexpr auto untouched = std::byte{0xa5};

/// Pages between two that may not be touched.
class Region {
public:
    explicit Region(std::size_t bytes) : bytes_((bytes + page - 1) / page * page) {
        void* const memory = ::mmap(nullptr, bytes_ + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) throw std::bad_alloc();
        begin_ = static_cast<std::byte*>(memory) + page;
        ::mprotect(begin_, bytes_, PROT_READ | PROT_WRITE);
    }
    [[nodiscard]] std::byte* begin() const { return begin_; }
    [[nodiscard]] std::byte* end() const { return begin_ + bytes_; }

private:
    std::byte* begin_;
    std::size_t bytes_;
};

struct Variable {
    const void* identity;
    std::byte* at;
    std::size_t bytes;
};

struct Shared {
    Region launch{most_shared}, own{plain_shared + 64 * behind};
    std::byte* dynamic = launch.end();  ///< ends where the region ends: what is written behind it faults
    std::size_t bytes = 0;
    std::vector<Variable> variables;
    std::byte* next = own.begin();
};

Shared& shared() {
    static Shared memory;
    return memory;
}

}  // namespace

void begin_shared(std::size_t bytes) {
    Shared& s = shared();
    allow(s.launch.begin(), static_cast<std::size_t>(s.launch.end() - s.launch.begin()));
    allow(s.own.begin(), static_cast<std::size_t>(s.own.end() - s.own.begin()));
    s.bytes = bytes;
    s.dynamic = s.launch.end() - (bytes + unit - 1) / unit * unit;
    std::fill(s.dynamic, s.launch.end(), std::byte{0xff});
    s.variables.clear();
    s.next = s.own.begin();
    forbid(s.launch.begin(), static_cast<std::size_t>(s.dynamic - s.launch.begin()));
    forbid(s.dynamic + bytes, static_cast<std::size_t>(s.launch.end() - s.dynamic) - bytes);
}

void* dynamic_shared() { return shared().dynamic; }

void* shared_variable(const void* identity, std::size_t bytes, std::size_t alignment) {
    Shared& s = shared();
    for (const Variable& variable : s.variables)
        if (variable.identity == identity) return variable.at;
    const std::size_t step = std::max(alignment, unit);
    std::byte* const at = s.own.begin() + (static_cast<std::size_t>(s.next - s.own.begin()) + step - 1) / step * step;
    if (at + bytes + behind > s.own.end()) fault("variables of more shared memory than a block may have");
    s.variables.push_back({identity, at, bytes});
    std::fill(at, at + bytes, std::byte{0xff});
    std::fill(at + bytes, at + bytes + behind, untouched);
    forbid(at + bytes, behind);
    s.next = at + bytes + behind;
    return at;
}

std::optional<std::string> overrun() {
    for (const Variable& variable : shared().variables) {
        const std::byte* const end = variable.at + variable.bytes;
        allow(end, behind);
        if (std::any_of(end, end + behind, [](std::byte b) { return b != untouched; }))
            return "something was written behind a variable in shared memory of " + std::to_string(variable.bytes) +
                   " bytes";
    }
    return std::nullopt;
}

bool is_shared(const void* memory, std::size_t bytes) {
    const auto* const at = static_cast<const std::byte*>(memory);
    return at >= shared().dynamic && at + bytes <= shared().dynamic + shared().bytes;
}

std::uint32_t shared_address(const void* memory) {
    return static_cast<std::uint32_t>(static_cast<const std::byte*>(memory) - shared().dynamic);
}

void read_shared(std::uint32_t address, void* to, std::size_t bytes) {
    if (address % unit != 0) fault("ldmatrix at " + std::to_string(address) + ", which is no multiple of 16");
    if (address + bytes > shared().bytes)
        fault("ldmatrix at " + std::to_string(address) + " of " + std::to_string(shared().bytes) +
              " bytes of shared memory");
    std::memcpy(to, shared().dynamic + address, bytes);
}

}  // namespace orrery::emulated
