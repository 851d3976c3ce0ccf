// Memory of the emulated GPUs and pinned memory of the host: every piece between pages that may not be touched, what
// was released not reused, so that a use behind an end or after a release is seen at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace orrery::emulated {

enum class Kind : std::uint8_t { device, pinned };

struct Piece {
    std::byte* begin = nullptr;
    std::size_t bytes = 0;
    Kind kind = Kind::device;
    int gpu = 0;
    bool released = false;
};

/// All bits set, at a multiple of 256. Null where the host has no more address space, or the GPU no memory.
void* allocate(std::size_t bytes, Kind kind, int gpu);
/// What is wrong with releasing it: none when nothing is.
std::optional<std::string> release(void* memory, Kind kind);
/// The piece that holds the address, or ended or began within a page of it.
std::optional<Piece> piece_at(const void* address);
/// Whether [memory, memory + bytes) lies in one living piece of the kind.
bool holds(const void* memory, std::size_t bytes, Kind kind);
/// Pieces that live.
std::size_t living(Kind kind);
/// "17 bytes behind the end of 4096 bytes of GPU 0".
std::string describe(const void* address);

}  // namespace orrery::emulated
