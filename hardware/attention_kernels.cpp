#include "hardware/attention_kernels.hpp"

#include "hardware/compute_capability.hpp"

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
/// "around 2x faster than FlashAttention" (arXiv 2307.08691, section 4.1).
constexpr AttentionRates flash_1_over_2{1 / 2.0, 1 / 2.0, "half of FlashAttention-2 (arXiv 2307.08691, section 4.1)"};
/// "around 1.3-1.5x faster than FlashAttention in Triton in the forward pass and around 2x faster in the backward pass"
/// (ibid.)
constexpr AttentionRates triton_over_flash_2{
    1 / 1.4, 1 / 2.0, "FlashAttention-2 is 1.3 to 1.5 times as fast forward, twice backward (arXiv 2307.08691, 4.1)"};

AttentionRates slower(const AttentionRates& rates, const AttentionRates& share) {
    return {rates.forward * share.forward, rates.backward * share.backward, share.origin};
}

}  // namespace

AttentionRates attention_rates(AttentionKernel kernel, int compute_capability) {
    const bool on_hopper = compute_capability >= hopper && compute_capability < blackwell;
    const AttentionRates& flash_2 = on_hopper ? flash_2_on_hopper : as_the_table;
    switch (kernel) {
        case AttentionKernel::flash_1: return slower(flash_2, flash_1_over_2);
        case AttentionKernel::flash_triton: return slower(flash_2, triton_over_flash_2);
        case AttentionKernel::flash_2: return flash_2;
        case AttentionKernel::cudnn: return on_hopper ? cudnn_on_hopper : as_the_table;
        case AttentionKernel::newest: break;
    }
    return as_the_table;
}

}  // namespace orrery::hardware
