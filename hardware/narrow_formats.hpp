// What products in narrow formats and the casts before them take in Transformer Engine, by the recipe of their scales,
// over what tables of products and the stream of the memory say.
#pragma once

#include <cstdint>
#include <string_view>

namespace orrery::hardware {

/// How the scales of a narrow format come about.
enum class Scales : std::uint8_t {
    delayed,  ///< of a tensor, from steps before
    current,  ///< of a tensor, from itself
    mxfp8,    ///< of 32 elements each
    nvfp4,    ///< of 16 elements each, behind a Hadamard transform
};

/// Times over what is priced otherwise: a linear layer's products over those of the format's table, and the kernels
/// that cast their operands over what their bytes take of a stream.
struct NarrowTimes {
    double forward = 1, data_gradient = 1, weight_gradient = 1;
    double cast = 1;
    std::string_view origin;
};
/// compute_capability: CUDA's, 80 for 8.0.
NarrowTimes narrow_times(Scales scales, int compute_capability);

}  // namespace orrery::hardware
