// What the multiprocessors of a GPU do when tokens go to their experts in kernels of their own (DeepEP, HybridEP).
#pragma once

namespace orrery::hardware {

/// Of an exchange inside a node, seconds for each token that a rank sends or gets back, beside what copies of tokens
/// take on the links: a warp reads where a token goes and moves it, whatever its width. DeepEP on eight H100 with 20
/// multiprocessors, Megatron-Core's moe_deepep_num_sms: 20.9 ns of a dispatch and 26.0 ns of a combine, least squares
/// of the relative errors of 90 measurements each, 2,048 tokens and more of widths of 2,048 to 7,168 that go to 1 to 22
/// of 8 to 512 experts, beside 343 GB/s of links (aiconfigurator, h100_sxm, DeepEP in normal mode; README.md). Taken
/// for other GPUs and for HybridEP, of which narrow tokens were not published.
inline constexpr double token_exchange_seconds = (20.9e-9 + 26.0e-9) / 2;

}  // namespace orrery::hardware
