// What a kernel sees of the emulated GPU while it runs: its thread, its block, its warp's meetings, shared memory.
// Every thread of a block is a stack of its own; one runs until it has to wait for others. Faults end the launch and
// leave the GPU in error, as a real one's do.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

namespace orrery::emulated {

inline constexpr unsigned lanes = 32;

/// dim3.
struct Extent {
    unsigned x = 1, y = 1, z = 1;
    constexpr Extent(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
    [[nodiscard]] std::uint64_t count() const { return std::uint64_t{x} * y * z; }
};

struct Stream;
struct Event;

/// The thread that runs.
struct ThreadView {
    Extent index;
    unsigned lane = 0;
};
extern ThreadView* current;

/// The launch and the block that run.
struct LaunchView {
    Extent blocks, threads, block;
};
extern LaunchView launched;

/// Ends the launch: what the kernel did wrong. The thread does not go on.
[[noreturn]] void fault(const std::string& what);

void block_barrier();
void warp_barrier();

/// Threads of a warp do something together, all of the same kind: what each gives, and what each gets.
enum class Meeting : std::uint8_t { barrier, shuffle, load_matrices, multiply };
inline constexpr std::size_t slot_bytes = 48;
struct alignas(16) Slot : std::array<std::byte, slot_bytes> {};
using Slots = std::array<Slot, lanes>;
using Together = void (*)(const Slots& given, Slots& got);

/// Waits until all lanes of the mask are here; the last to come works for all. Returns the caller's slot.
const Slot& meet(Meeting kind, unsigned mask, std::span<const std::byte> own, Together work);

template <class Given, class Got>
void meet(Meeting kind, const Given& own, Together work, Got& got) {
    static_assert(sizeof own <= slot_bytes && sizeof got <= slot_bytes);
    const Slot& slot = meet(kind, ~0u, std::as_bytes(std::span(&own, 1)), work);
    std::memcpy(&got, slot.data(), sizeof got);
}

/// __shfl_xor_sync.
template <class T>
T exchange(unsigned mask, T value, int with) {
    struct Sent {
        T value;
        int with;
    };
    const Sent own{value, with};
    const Slot& slot =
        meet(Meeting::shuffle, mask, std::as_bytes(std::span(&own, 1)), [](const Slots& given, Slots& got) {
            for (unsigned lane = 0; lane < lanes; ++lane) {
                Sent sent;
                std::memcpy(&sent, given[lane].data(), sizeof sent);
                std::memcpy(got[lane].data(), given[(lane ^ static_cast<unsigned>(sent.with)) % lanes].data(),
                            sizeof(T));
            }
        });
    std::memcpy(&value, slot.data(), sizeof value);
    return value;
}

/// Shared memory of the block: that of the launch, and a variable of the kernel, by an address that stands for it. All
/// bits are set when a block begins.
void* dynamic_shared();
void* shared_variable(const void* identity, std::size_t bytes, std::size_t alignment);
template <class T>
T& shared(const char* identity) {
    return *static_cast<T*>(shared_variable(identity, sizeof(T), alignof(T)));
}
std::uint32_t shared_address(const void* memory);
void read_shared(std::uint32_t address, void* to, std::size_t bytes);

/// cp.async: `bytes` are written when waited for, `there` of them copied and the others zero.
void copy_later(void* to, const void* from, int bytes, int there);
void commit_copies();
void wait_copies(int pending);

/// __launch_bounds__.
void require_threads(unsigned most);

/// Clocks of the GPU; each look takes time.
std::uint64_t nanoseconds();
std::uint64_t cycles();

/// kernel<<<blocks, threads, shared, stream>>>(): queued. name: of the kernel, for messages.
void launch(Extent blocks, Extent threads, std::size_t shared, Stream* stream, const char* name,
            std::function<void()> kernel);
/// As launch, with the kernel's arguments taken now.
template <class Kernel, class... Arguments>
void launch_with(Extent blocks, Extent threads, std::size_t shared, Stream* stream, const char* name, Kernel kernel,
                 Arguments... arguments) {
    launch(blocks, threads, shared, stream, name, [=] { kernel(arguments...); });
}

}  // namespace orrery::emulated
