// What torch.autocast casts around the product of a linear layer (torch/aten/src/ATen/autocast_mode.cpp, cached_cast):
// weights and bias, of which one copy serves a forward and the backward behind it, and an input that is fp32, as the
// residual stream and what norms leave of it are; gradients go back the same way.
#pragma once

#include <string>
#include <vector>

#include "models/operators.hpp"
#include "strategies/partition/sharder.hpp"

namespace orrery::strategies {

/// The product of a layer as this rank has it: [inputs, outputs] of weights, and its input's rows, which each of so
/// many products casts for itself.
struct CastLayer {
    const models::Linear& op;
    std::uint64_t inputs, outputs, rows;
    std::size_t products = 1;
};

/// Whether activations are cast by kernels of their own: torch.compile joins them to the norms and sums beside them.
bool casts_activations(const LayerStream& stream);

/// Copies of the layer's input that are kept for its weights' gradients: a cast for each product, else one.
std::size_t kept_inputs(const LayerStream& stream, const CastLayer& layer);

/// A cast of so many numbers. Nothing without autocast.
void add_cast(const LayerStream& stream, std::vector<Work>& list, std::string name, std::uint64_t rows,
              std::uint64_t cols, bool of_weights = false);

/// Casts before the product, and the weights' copies among what the layer keeps. Nothing without autocast.
void cast_operands(const LayerStream& stream, const CastLayer& layer, Piece& piece);

/// Casts of the weights' gradients, which autograd adds to fp32 ones behind them.
void cast_weight_gradients(const LayerStream& stream, const CastLayer& layer, Piece& piece);

/// The cast of the input's gradient, behind what `needs` says.
void cast_input_gradient(const LayerStream& stream, const CastLayer& layer, Piece& piece, std::uint8_t needs);

/// Of a branch in 16 bits, which ends in the residual stream: its gradient is cast from that of the sum.
void cast_branch_gradient(const LayerStream& stream, std::uint64_t width, Piece& piece);

}  // namespace orrery::strategies
