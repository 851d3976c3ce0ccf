// How fast the backward of fused attention is where forward alone was measured.
#pragma once

#include <string_view>

namespace orrery::calibrate {

/// Operations a second of fused attention backward over those forward, rounded to the digits that profiles hold.
struct AttentionBackward {
    double rate;
    std::string_view origin;
};
inline constexpr AttentionBackward flash_2_backward{
    0.863, "63% of the peak backward, 73% forward on A100 (FlashAttention-2, abstract and section 4.1)"};
inline constexpr AttentionBackward flash_3_backward{
    0.866,
    "561 of 648 TFLOP/s, backward of forward, H100, head width 128, 16k tokens (FlashAttention-3, figures 5 and 6)"};
static_assert(flash_2_backward.rate - 63.0 / 73 < 5e-4 && 63.0 / 73 - flash_2_backward.rate < 5e-4);
static_assert(flash_3_backward.rate - 561.0 / 648 < 5e-4 && 561.0 / 648 - flash_3_backward.rate < 5e-4);

}  // namespace orrery::calibrate
