// The bias of an expert's second product where Megatron-LM adds it by itself.
#pragma once

#include "strategies/partition/experts.hpp"
#include "strategies/partition/tensor.hpp"

namespace orrery::strategies {

/// Transformer Engine's grouped linear layer adds the first product's bias and hands back the second's, which
/// Megatron-LM adds in Python, expert by expert, each times the probabilities of its tokens, which are fp32: the sum is
/// fp32, too, is joined and cast (megatron/core/transformer/moe/experts.py, TEGroupedMLP._apply_bias).
bool adds_expert_bias_apart(const Plan& plan, const models::Experts& op);

/// Behind the second product: kernels of each expert, and of all of them together. In the backward they form the
/// gradient of the bias as well.
void add_expert_bias(const Plan& plan, const ExpertShapes& shapes, std::uint64_t width, Piece& piece);

}  // namespace orrery::strategies
