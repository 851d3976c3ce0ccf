#include "hardware/instinct_attention.hpp"

namespace orrery::hardware {

namespace {

/// Medians of causal attention of 2,048, 4,096 and 8,192 tokens, 128 columns a head, on an MI355X over what the table
/// has of 64 heads over 8: Composable Kernel's of the same heads, PyTorch's of 16.
constexpr AttentionRates composable_kernel{
    0.683, 0.641,
    "Composable Kernel on an MI355X (HipKittens, analysis/attn) over AITER's (its op_tests/cpp/mha/README.md)"};
constexpr AttentionRates aotriton{
    0.354, 0.249, "PyTorch's on an MI355X (HipKittens, analysis/attn) over AITER's (its op_tests/cpp/mha/README.md)"};
/// Causal, 16 heads of 128 columns, 2,048 to 16,384 tokens. A backward was read on none: taken for as much slower.
constexpr AttentionRates aotriton_on_mi300{
    0.64, 0.64, "PyTorch 2.10's over AITER's, forward, on an MI300X (midiareshadi/attn-dsl-bench, results/raw)"};

}  // namespace

AttentionRates instinct_attention_rates(AttentionKernel kernel, Socket socket) {
    switch (kernel) {
        case AttentionKernel::flash_1:
        case AttentionKernel::flash_2: return composable_kernel;
        case AttentionKernel::flash_triton: return socket == Socket::oam_mi350 ? aotriton : aotriton_on_mi300;
        case AttentionKernel::newest:
        case AttentionKernel::cudnn:
        case AttentionKernel::cudnn_9_17: break;
    }
    return {1, 1, "AITER's kernels of the table"};
}

}  // namespace orrery::hardware
