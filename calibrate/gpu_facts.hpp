// What is known of each importable GPU besides its tables and its datasheet (hardware/gpu.hpp): which files hold the
// tables, and constants with their origins.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "calibrate/attention_backward.hpp"
#include "calibrate/profile.hpp"
#include "hardware/gpu.hpp"

namespace orrery::calibrate {

/// A measured product and its rate.
struct Product {
    std::uint32_t m, n, k;
    double teraflops;
};

/// Baidu DeepBench's results on a GPU as CSV: the two sheets of its table, and what made them.
struct DeepBench {
    std::string_view folder;  ///< of both files; "" when there are none
    std::string_view half, single;
    std::string_view date, blas, dnn;  ///< year, libraries
};

struct GpuFacts {
    std::string_view name;
    std::string_view board;             ///< of hardware::gpus()
    std::string_view device;            ///< as its driver calls it
    std::string_view gemm = {};         ///< file in gemm/ ("" when there is none)
    std::string_view gemm_fp8 = {};     ///< likewise, where no document states products in fp8 (`fp8`)
    std::string_view gemm_fp4 = {};     ///< likewise, of `fp4`
    std::string_view attention = {};    ///< file in attention/ ("" when there is none)
    std::string_view infersim = {};     ///< its name in infersim/ ("" when products and attention are not from there)
    std::string_view nccl_system = {};  ///< its name in nccl_one_node.csv ("" when it is not there)
    std::string_view nccl_of = {};      ///< that system's device, where it is another ("")
    std::string_view vidur = {};        ///< prefix of its files in memory_bound/ ("" when there is none)
    std::string_view send_recv = {};    ///< file in collectives/ ("" when there is none)
    bool tile_waves;
    double sustained, best;  ///< TFLOP/s of a 16-bit product: that last, and the best of the imported table
    std::string_view sustained_origin;
    /// All 16-bit products of the table, not the fastest alone, were timed at a clock that does not last.
    bool short_repeats = false;
    double sustained_clock = 0;  ///< over the highest, while that product ran; 0: not told
    std::string_view sustained_clock_origin = {};
    double sustained_single = 0, best_single = 0;  ///< of fp32, where its units are held down otherwise
    AttentionBackward backward;
    double cache_bytes = 0;  ///< of its second level, by the architecture's whitepaper; 0: no less than A100's 40 MB
    double stream = 0;       ///< bytes per second of a long stream; 0: no reading
    std::string_view stream_origin = {};
    std::span<const Product> fp8 = {};  ///< lasting rates
    std::string_view fp8_origin = {}, fp8_licence = {};
    std::span<const Product> fp4 = {};  ///< likewise
    std::string_view fp4_origin = {};
    DeepBench deepbench = {};
    /// Where a node's collectives are those read on V100: its own rate of NVLinks over theirs; 0: they are not.
    double over_v100_links = 0;
    /// Of a GPU's NVLinks, all through NVSwitches, where nccl_system's collectives were read; 0: no node of these GPUs
    /// is wired otherwise.
    double nvswitch_bytes_per_second = 0;
    std::string_view measured_on = {};  ///< whose products and attention are taken for its own; empty: its own
};

/// Oldest GPU first.
std::span<const GpuFacts> gpu_facts();

/// The default profile of the GPU that a driver's name means, "h100" for "NVIDIA H100 80GB HBM3"; "" for a device that
/// is none of hardware::gpus().
std::string_view gpu_in(std::string_view device);

/// The GPU that a driver's name means: "NVIDIA H100 80GB HBM3" is "h100". Null for another.
const GpuFacts* facts_of_device(std::string_view device);

const hardware::Gpu& board_of(const GpuFacts& facts);

}  // namespace orrery::calibrate
