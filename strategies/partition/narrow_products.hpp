// A linear layer's products in fp8 as tensors: operands cast by the largest element of each (Transformer Engine's
// Float8CurrentScaling), in both orders, because tensor cores before Blackwell read fp8 along the depth of a product
// alone.
#pragma once

#include <cstdint>
#include <vector>

#include "strategies/partition/sharder.hpp"

namespace orrery::strategies {

/// A matrix [rows, cols] in fp8, the same [cols, rows], and fp32 [1]: what their elements are multiplied by.
struct NarrowOperand {
    ValueId as_is = no_value, turned = no_value, scale = no_value;
};

/// Whether casts can be tensors of a flow: one scale a tensor, known from nothing but the tensor, in software that
/// keeps what it has cast (keeps_casts), and both orders of weights there
/// throughout a step.
bool casts_are_tensors(const Plan& plan);

/// The casts of `x`, [rows, cols], with their operands; of a gradient in e5m2, else in e4m3.
NarrowOperand add_cast_operand(LayerStream& stream, std::vector<Work>& list, ValueId x, std::uint64_t rows,
                               std::uint64_t cols);

/// A weight's, which WeightCasts makes.
NarrowOperand cast_weight(FlowBuilder& flow, const FlowBuilder::Weights& weight);

/// What a product a [m, k] b [n, k] -> c [m, n] takes: a or b as it is, or turned; launched as a forward pass whichever
/// it is. gradient: a is one.
struct NarrowProduct {
    ValueId a, b, a_scale, b_scale;
    View c;
    std::uint64_t m, n, k;
    bool gradient = false;
};
Detail detail_of(const NarrowProduct& product, Launch launch = {});

}  // namespace orrery::strategies
