// The shapes of a layer's parameters on one rank, for what asks for more than their number.
#pragma once

#include <cstdint>
#include <vector>

#include "strategies/dataflow.hpp"
#include "strategies/partition/tensor.hpp"
#include "strategies/plan.hpp"

namespace orrery::strategies {

/// A rank's part of a parameter, [rows, cols] as PyTorch has it; a vector has one column.
struct ParameterShape {
    std::uint64_t rows = 0, cols = 1;
    std::uint64_t copies = 1;                         ///< of experts: one for each that the rank holds
    Parameter::Split split = Parameter::Split::none;  ///< over the tensor axis: the whole has `tensor` times as many
    bool experts = false;
    bool words = false;                  ///< embedding or head: its rows are words
    std::vector<std::uint64_t> parts{};  ///< of its rows: queries, keys and values of one weight

    [[nodiscard]] std::uint64_t numbers() const { return rows * cols; }
    [[nodiscard]] bool is_matrix() const { return cols > 1; }
    bool operator==(const ParameterShape&) const = default;
};

/// Of the parameters that the rank holds itself: as many as the layer's pieces count. Those that the flow does not name
/// (a mixer's convolution and scalars, projections around latent experts, tables of distances) are one vector.
std::vector<ParameterShape> parameter_shapes(const ShardedLayer& layer, const Plan& plan);

}  // namespace orrery::strategies
