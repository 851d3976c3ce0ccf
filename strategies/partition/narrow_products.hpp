// A linear layer's products in fp8 as tensors: operands cast by the largest element of each (Transformer Engine's
// Float8CurrentScaling), in both orders, because tensor cores before Blackwell read fp8 along the depth of a product
// alone.
#pragma once

#include <cstdint>
#include <vector>

#include "strategies/partition/sharder.hpp"

namespace orrery::strategies {

/// A matrix in fp8, and fp32 [1]: what its elements are multiplied by.
struct NarrowMatrix {
    ValueId elements, scale;
};

/// A matrix [rows, cols] in fp8, the same [cols, rows], and the scale of both.
struct NarrowOperand {
    ValueId straight = no_value, across = no_value, scale = no_value;
    [[nodiscard]] NarrowMatrix as_is() const { return {straight, scale}; }
    [[nodiscard]] NarrowMatrix turned() const { return {across, scale}; }
};

/// Whether casts can be tensors of a flow: one scale a tensor, known from nothing but the tensor, in software that
/// keeps what it has cast (keeps_casts), and both orders of weights, of one version,
/// there throughout a step.
bool casts_are_tensors(const Plan& plan);

/// The casts of `x`, [rows, cols], with their operands; of a gradient in e5m2, else in e4m3.
NarrowOperand add_cast_operand(LayerStream& stream, std::vector<Work>& list, ValueId x, std::uint64_t rows,
                               std::uint64_t cols);

/// A weight's, which WeightCasts makes.
NarrowOperand cast_weight(FlowBuilder& flow, const FlowBuilder::Weights& weight);

/// A product a [m, k] b [n, k] -> c [m, n], launched as a forward pass whichever it is. gradient: a is one.
struct NarrowProduct {
    NarrowMatrix a, b;
    View c;
    std::uint64_t m, n, k;
    bool gradient = false;
};
Detail detail_of(const NarrowProduct& product, Launch launch = {});

}  // namespace orrery::strategies
