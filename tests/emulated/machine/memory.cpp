#include "tests/emulated/machine/memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>

#include "tests/emulated/machine/machine.hpp"
#include "tests/emulated/machine/sanitizer.hpp"

namespace orrery::emulated {

namespace {

constexpr std::size_t page = 4096, alignment = 256;
constexpr auto untouched = std::byte{0xff};  ///< behind an end: what is read there is not a number
constexpr std::size_t most_kept = 4096;      ///< released pieces whose addresses stay forbidden

struct Held : Piece {
    std::byte* pages = nullptr;  ///< with a page before and one behind
    std::size_t page_bytes = 0;
    [[nodiscard]] std::byte* usable_end() const { return pages + page_bytes - page; }
};

/// By the address where its pages begin.
std::map<const std::byte*, Held>& pieces() {
    static std::map<const std::byte*, Held> all;
    return all;
}

std::deque<const std::byte*>& kept() {
    static std::deque<const std::byte*> all;
    return all;
}

std::size_t& in_use(int gpu) {
    static std::map<int, std::size_t> bytes;
    return bytes[gpu];
}

Held* find(const void* address) {
    const auto* const at = static_cast<const std::byte*>(address);
    auto behind = pieces().upper_bound(at);
    if (behind == pieces().begin()) return nullptr;
    Held& held = std::prev(behind)->second;
    return at < held.pages + held.page_bytes ? &held : nullptr;
}

void forget_oldest() {
    const auto found = pieces().find(kept().front());
    ::munmap(found->second.pages, found->second.page_bytes);
    pieces().erase(found);
    kept().pop_front();
}

}  // namespace

void* allocate(std::size_t bytes, Kind kind, int gpu) {
    if (kind == Kind::device && (bytes > memory_bytes || in_use(gpu) + bytes > memory_bytes)) return nullptr;
    const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
    const std::size_t usable = (rounded + page - 1) / page * page, whole = usable + 2 * page;
    void* const memory = ::mmap(nullptr, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    Held held;
    held.pages = static_cast<std::byte*>(memory);
    held.page_bytes = whole;
    ::mprotect(held.pages + page, usable, PROT_READ | PROT_WRITE);
    held.begin = held.usable_end() - rounded;  // its end, rounded, is where a page begins that may not be touched
    held.bytes = bytes;
    held.kind = kind;
    held.gpu = gpu;
    std::fill(held.begin, held.usable_end(), untouched);
    forbid(held.pages + page, static_cast<std::size_t>(held.begin - held.pages) - page);
    forbid(held.begin + bytes, rounded - bytes);
    if (kind == Kind::device) in_use(gpu) += bytes;
    pieces()[held.pages] = held;
    return held.begin;
}

std::optional<std::string> release(void* memory, Kind kind) {
    if (memory == nullptr) return std::nullopt;
    Held* const held = find(memory);
    if (held == nullptr || held->begin != memory || held->kind != kind) return "releases " + describe(memory);
    if (held->released) return "releases once more " + describe(memory);
    const std::byte* const end = held->begin + held->bytes;
    allow(end, static_cast<std::size_t>(held->usable_end() - end));
    const bool overrun =
        std::any_of(end, static_cast<const std::byte*>(held->usable_end()), [](std::byte b) { return b != untouched; });
    held->released = true;
    if (kind == Kind::device) in_use(held->gpu) -= held->bytes;
    ::madvise(held->pages + page, held->page_bytes - 2 * page, MADV_DONTNEED);
    ::mprotect(held->pages, held->page_bytes, PROT_NONE);
    allow(held->pages, held->page_bytes);  // the kernel forbids it now
    const std::string what = describe(memory);
    kept().push_back(held->pages);
    if (kept().size() > most_kept) forget_oldest();
    if (overrun) return "something was written behind " + what;
    return std::nullopt;
}

std::optional<Piece> piece_at(const void* address) {
    const Held* const held = find(address);
    return held == nullptr ? std::nullopt : std::optional<Piece>(*held);
}

bool holds(const void* memory, std::size_t bytes, Kind kind) {
    const Held* const held = find(memory);
    const auto* const at = static_cast<const std::byte*>(memory);
    return held != nullptr && held->kind == kind && !held->released && at >= held->begin &&
           bytes <= held->bytes - std::min<std::size_t>(held->bytes, static_cast<std::size_t>(at - held->begin));
}

std::size_t living(Kind kind) {
    return static_cast<std::size_t>(std::count_if(pieces().begin(), pieces().end(), [kind](const auto& entry) {
        return entry.second.kind == kind && !entry.second.released;
    }));
}

std::string describe(const void* address) {
    const Held* const held = find(address);
    if (held == nullptr) return "an address that belongs to no memory of a GPU";
    const auto* const at = static_cast<const std::byte*>(address);
    const auto distance = [](const std::byte* from, const std::byte* to) { return std::to_string(to - from); };
    std::string where;
    if (at >= held->begin + held->bytes)
        where = distance(held->begin + held->bytes, at) + " bytes behind the end of ";
    else if (at < held->begin)
        where = distance(at, held->begin) + " bytes before ";
    else
        where = "byte " + distance(held->begin, at) + " of ";
    return where + std::to_string(held->bytes) + " bytes " +
           (held->kind == Kind::device ? "of GPU " + std::to_string(held->gpu) : "of pinned memory") +
           (held->released ? ", which was released" : "");
}

}  // namespace orrery::emulated
