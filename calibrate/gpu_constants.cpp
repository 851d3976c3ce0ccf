#include "calibrate/gpu_constants.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "hardware/attention_kernels.hpp"
#include "hardware/compute_capability.hpp"
#include "hardware/datasheets.hpp"

namespace orrery::calibrate {

namespace {

constexpr std::string_view hopper_rows =
    "medians of products of 0.2 TFLOP and more on an H200 (cuBLASLt 13.1, orrery calibrate), 55, 32 and 217 whose rows "
    "have an odd number of elements, an even one and eights: ";

/// What Nemotron 3 Nano's steps on H100 spend in mamba_ssm's and causal_conv1d's kernels.
constexpr std::string_view mixers =
    "Nemotron 3 Nano in bf16 on 8 H100, 12,288 tokens a GPU and step, 23 mixers "
    "(GiscardBiamby/Automodel-scalingai-f26, mfu/results, final8_nsys)";

/// Rate at which scans of mamba_ssm's library compute, beside moving their bytes, of the peak in fp32.
Constant state_space_products() {
    return {
        2.27, "1",
        fmt::format("{}: 54.3 ms of scans, whose bytes take 34.8; 2.96 TFLOP of products in the others, 152 TFLOP/s "
                    "of 66.9",
                    mixers)};
}

/// Share of what their bytes ask for that the convolutions before scans reach, forward and backward.
Constant state_space_convolution() {
    return {0.479, "1", fmt::format("{}: 17.1 ms of convolutions that bytes put at 8.19", mixers)};
}

/// Of products while an all_gather runs inside the node, where someone read both.
Constant beside_collectives(int compute_capability) {
    if (compute_capability >= hardware::hopper)
        return {
            80.0 / 47, "1",
            "80% of the peak alone, 47% beside an all_gather of 24 channels, a product on an H100 (NVIDIA's developer "
            "forum, 337991)"};
    return {2.08 / 1.18, "1",
            "1.18 ms alone, 2.08 beside an all_gather, a product in a step of GPT on A100 (NCCL, issue 1428)"};
}

/// Of rows between words: their kernels take the multiprocessors that there are, and how much slower than others that
/// makes them is a matter of the tensor cores, of which an H20 has few.
void add_unaligned(std::map<std::string, Constant>& out, const hardware::Gpu& board) {
    const hardware::Gpu& read = *hardware::find("H200");
    const double against =
        (static_cast<double>(board.multiprocessors) / read.multiprocessors) / (board.half_flops / read.half_flops);
    const auto share = [&](double teraflops) { return std::min(1.0, teraflops / 764 * against); };
    const std::string elsewhere = against == 1 ? "" : ", by multiprocessors over peaks";
    out["unaligned_gemm"] = {share(118), "1",
                             fmt::format("{}118 of 764 TFLOP/s with an odd one{}", hopper_rows, elsewhere)};
    out["partly_aligned_gemm"] = {share(236), "1",
                                  fmt::format("{}236 of 764 TFLOP/s with an even one{}", hopper_rows, elsewhere)};
}

}  // namespace

std::map<std::string, Constant> board_constants(const hardware::Gpu& board) {
    const hardware::AttentionRates dropout =
        hardware::attention_dropout(hardware::AttentionKernel::newest, board.compute_capability);
    std::map<std::string, Constant> out{
        {"peak_half_flops", {board.half_flops, "flop/s", board.datasheet}},
        {"peak_single_flops", {board.fp32_flops, "flop/s", board.datasheet}},
        {"memory_bytes_per_second", {board.memory_bytes_per_second, "B/s", board.datasheet}},
        {"attention_dropout_forward", {dropout.forward, "1", std::string(dropout.origin)}},
        {"attention_dropout_backward", {dropout.backward, "1", std::string(dropout.origin)}},
    };
    if (board.fp8_flops > 0) out["peak_fp8_flops"] = {board.fp8_flops, "flop/s", board.datasheet};
    if (board.fp4_flops > 0) out["peak_fp4_flops"] = {board.fp4_flops, "flop/s", board.datasheet};
    if (board.tf32_flops > 0) out["peak_tf32_flops"] = {board.tf32_flops, "flop/s", board.datasheet};
    return out;
}

std::map<std::string, Constant> constants_of(const GpuFacts& facts) {
    const hardware::Gpu& board = board_of(facts);
    std::map<std::string, Constant> out = board_constants(board);
    out.insert({
        {"sustained_gemm",
         {std::min(1.0, facts.sustained / facts.best), "1",
          fmt::format("{}{:g} TFLOP/s", facts.sustained_origin, facts.best)}},
        {"state_space_products", state_space_products()},
        {"state_space_convolution", state_space_convolution()},
        {"unaligned_gemm",
         {0.479, "1",
          "GPT-2 124M on A100 in bf16, 8,192 tokens a step: 112,046 tokens/s with 50,257 words, 127,345 with 50,304 "
          "(LLMs-from-scratch, ch05/10_llm-training-speed): 8.78 ms more for three products that take 8.08 ms"}},
        {"board_spread",
         {0.015, "1",
          "8% of variation on average among GPUs of one kind in a cluster (Sinha et al., arXiv 2208.11035), taken as "
          "the range between a box plot's whiskers: 5.4 standard deviations"}},
        {"attention_backward_rate", {facts.backward.rate, "1", std::string(facts.backward.origin)}},
        {"kernel_gap_seconds",
         {0.9e-6, "s",
          "3.8 us a kernel in a stream against 2.9 us of execution (NVIDIA blog, Getting Started with CUDA Graphs, "
          "2019)"}},
        {"graph_gap_seconds",
         {0.5e-6, "s",
          "3.4 us a kernel in a graph against 2.9 us of execution (NVIDIA blog, Getting Started with CUDA Graphs, "
          "2019)"}},
        {"launch_seconds", {hardware::launch_seconds(board.host), "s", std::string(hardware::launch_origin)}},
        {"collective_launch_seconds",
         {1.8e-6, "s", "two stream-event waits around the collective, each one kernel_gap_seconds"}},
        {"overlap_slowdown", beside_collectives(board.compute_capability)},
    });
    if (hardware::is_hopper(board.compute_capability)) add_unaligned(out, board);
    if (facts.short_repeats)
        out["short_repeats"] = {1, "1",
                                "DeepBench times products one by one; parts of a layer that are repeated for seconds "
                                "are slower alike (mli/transformers-benchmarks, micro_bench.ipynb at 53a232b)"};
    if (facts.sustained_clock > 0)
        out["sustained_clock"] = {facts.sustained_clock, "1", std::string(facts.sustained_clock_origin)};
    if (board.multiprocessors > 0)
        out["multiprocessors"] = {static_cast<double>(board.multiprocessors), "1",
                                  "as the device reports them (cudaDeviceProp)"};
    if (facts.stream > 0)
        out["sustained_memory"] = {facts.stream / board.memory_bytes_per_second, "1",
                                   fmt::format("{:g} TB/s: {}", facts.stream / 1e12, facts.stream_origin)};
    if (facts.sustained_single > 0)
        out["sustained_single"] = {facts.sustained_single / facts.best_single, "1",
                                   fmt::format("fp32 runs on other units: {:g} of {:g} TFLOP/s, from the same sources",
                                               facts.sustained_single, facts.best_single)};
    if (!facts.fp8.empty()) out["sustained_fp8"] = {1, "1", "its table was taken after 10,000 warm-ups on random data"};
    if (!facts.fp4.empty()) out["sustained_fp4"] = {1, "1", "its table is of random data, at a clock that lasts"};
    if (facts.tile_waves)
        out["tile_waves"] = {1, "1", "lower held-out error of the GEMM table than without waves (calibrate/README.md)"};
    return out;
}

}  // namespace orrery::calibrate
