#include "hardware/narrow_formats.hpp"

#include "base/enum_table.hpp"
#include "hardware/compute_capability.hpp"

namespace orrery::hardware {

namespace {

/// Milliseconds that Transformer Engine prints of the twelve products of a layer on B300 (docs/examples/gemm_profiling:
/// hidden 4,096, MLP 16,384, 15,872 tokens): products alone ("pre-quantized"), by their pass, and all of them with the
/// casts of both operands ("autocast").
struct OfLayer {
    double forward, data_gradient, weight_gradient, autocast;
    [[nodiscard]] constexpr double products() const { return forward + data_gradient + weight_gradient; }
    [[nodiscard]] constexpr double casts() const { return autocast - products(); }
};
constexpr OfLayer current{2.158, 2.329, 2.325, 9.147}, mxfp8{2.365, 2.397, 2.400, 8.984},
    nvfp4{1.254, 1.305, 1.205, 6.453};
/// It prints none of delayed scales' without casts: the same products in the same format as current ones'.
constexpr OfLayer delayed{2.158, 2.329, 2.325, 7.802};

/// Elements of their operands, and the bytes that our kernels move of each: a cast reads 16 bits and writes both
/// orientations; maxima read them once more.
constexpr double tokens = 15872, hidden = 4096, qkv = 12288, mlp = 16384;
constexpr double operands = 2 * (tokens * (hidden + qkv) + hidden * qkv + tokens * 2 * hidden + hidden * hidden +
                                 2 * (tokens * (hidden + mlp) + hidden * mlp));
constexpr double cast_bytes = 4, maxima_bytes = 2;
constexpr double stream = 7.35e12;  ///< of Blackwell (calibrate/gpu_facts.cpp)

constexpr double milliseconds(double bytes) { return operands * bytes / stream * 1e3; }

constexpr std::string_view engine_b300 =
    "TransformerEngine, docs/examples/gemm_profiling, B300: products of a layer by pass, with casts and without";

/// table: what the format's table says of a third of the layer.
constexpr NarrowTimes over(const OfLayer& measured, double table, double bytes) {
    return {measured.forward / table, measured.data_gradient / table, measured.weight_gradient / table,
            measured.casts() / milliseconds(bytes), engine_b300};
}

using Row = EnumTable<Scales, NarrowTimes>;

/// fp8: what a third of the layer takes by the table. fp4's are forward products on B200, on B300 at this layer's mean.
constexpr Row blackwell_row(double fp8, double fp4) {
    return {over(delayed, fp8, cast_bytes), over(current, fp8, cast_bytes + maxima_bytes), over(mxfp8, fp8, cast_bytes),
            over(nvfp4, fp4, cast_bytes + maxima_bytes)};
}

/// Tables of B200 and GB200 are forward products (cuBLASLt's TN), of B300 and GB300 all of this layer's.
constexpr Row on_b200 = blackwell_row(current.forward, nvfp4.forward),
              on_b300 = blackwell_row(current.products() / 3, nvfp4.products() / 3);

}  // namespace

NarrowTimes narrow_times(Scales scales, int compute_capability) {
    if (!is_blackwell(compute_capability)) return {.origin = "what tables and bytes say"};
    return compute_capability < blackwell_ultra ? on_b200[scales] : on_b300[scales];
}

}  // namespace orrery::hardware
