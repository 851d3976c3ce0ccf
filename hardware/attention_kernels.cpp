#include "hardware/attention_kernels.hpp"

namespace orrery::hardware {

namespace {

constexpr AttentionRates as_the_table{1, 1, "the kernels of the table"};

/// Tables of Hopper are FlashAttention-3's.
constexpr AttentionRates flash_2_on_hopper{
    327.9 / 648, 1 / 1.625,
    "forward 327.9 TFLOP/s (Azure/AI-benchmarking-guide, H100, 8192 tokens, head width 128) against 648 of "
    "FlashAttention-3, whose backward is 1.5 to 1.75 times as fast (arXiv 2407.08608, abstract and section 4.1)"};
constexpr AttentionRates cudnn_on_hopper{566.0 / 660, 470.0 / 575,
                                         "566 and 470 TFLOP/s on H100 against 660 and 575 of FlashAttention-3 "
                                         "(flash-attention, pull request 1893)"};
/// Tables of Ampere are FlashAttention-2's.
constexpr double flash_2_over_1 = 2;  ///< "around 2x speedup compared to FlashAttention" (arXiv 2307.08691, abstract)

AttentionRates slower(const AttentionRates& rates, double factor) {
    return {rates.forward / factor, rates.backward / factor, "half of FlashAttention-2 (arXiv 2307.08691, abstract)"};
}

}  // namespace

AttentionRates attention_rates(AttentionKernel kernel, int compute_capability) {
    constexpr int hopper = 90, blackwell = 100;
    const bool on_hopper = compute_capability >= hopper && compute_capability < blackwell;
    switch (kernel) {
        case AttentionKernel::flash_1: return slower(on_hopper ? flash_2_on_hopper : as_the_table, flash_2_over_1);
        case AttentionKernel::flash_2: return on_hopper ? flash_2_on_hopper : as_the_table;
        case AttentionKernel::cudnn: return on_hopper ? cudnn_on_hopper : as_the_table;
        case AttentionKernel::newest: break;
    }
    return as_the_table;
}

}  // namespace orrery::hardware
