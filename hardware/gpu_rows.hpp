// Rows of the table of accelerators, one file a maker: nvidia_gpus.cpp, amd_gpus.cpp and other_chips.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "hardware/host_time.hpp"
#include "hardware/socket.hpp"

namespace orrery::hardware {

using Host = HostProcessor;
using Aliases = std::array<std::string_view, 3>;

/// Dense peaks without structured sparsity; memory as the driver reports it (a "80GB" board has 80 GiB).
struct GpuRow {
    const char *name, *profile, *datasheet;
    std::uint64_t gibibytes;
    double gigabytes_per_second;
    double fp32, tf32, half, fp8;  ///< dense TFLOP/s
    Socket socket;
    std::uint32_t multiprocessors;  ///< AMD's compute units
    int compute_capability;         ///< CUDA C++ programming guide; 0: none
    Host host;
    Aliases aliases;
    double fp4 = 0;             ///< dense TFLOP/s of NVFP4
    std::uint32_t nvlinks = 0;  ///< 0: as many as boards of its socket have
};

constexpr GpuRow renamed(GpuRow board, const char* name, const char* datasheet, Aliases aliases) {
    board.name = name;
    board.datasheet = datasheet;
    board.aliases = aliases;
    return board;
}

/// The same board under another name, with fewer NVLinks.
constexpr GpuRow with_nvlinks(GpuRow board, std::uint32_t nvlinks, const char* name, const char* datasheet,
                              Aliases aliases) {
    board.nvlinks = nvlinks;
    return renamed(board, name, datasheet, aliases);
}

/// The same board with other memory.
constexpr GpuRow with_memory(GpuRow board, std::uint64_t gibibytes, double gigabytes_per_second, const char* name,
                             const char* datasheet, Aliases aliases) {
    board.gibibytes = gibibytes;
    board.gigabytes_per_second = gigabytes_per_second;
    return renamed(board, name, datasheet, aliases);
}

std::span<const GpuRow> nvidia_gpus();
std::span<const GpuRow> amd_gpus();
std::span<const GpuRow> other_chips();

}  // namespace orrery::hardware
