// The clamps before an expert's gated activation, where Megatron-LM clamps by operators of PyTorch.
#pragma once

#include "strategies/partition/experts.hpp"
#include "strategies/partition/sharder.hpp"

namespace orrery::strategies {

/// GPT-OSS clamps both halves of what goes into its gate. Megatron-LM fuses the gate, and clamps before it in Python:
/// halves are taken apart, clamped and joined again (core/fusions/fused_bias_geglu.py, weighted_bias_quick_geglu_impl;
/// Megatron-Bridge's GPTOSSProvider sets activation_func_clamp_value and bias_activation_fusion). Of the models here
/// only GPT-OSS has gated experts with biases.
bool clamps_apart(const Plan& plan, const models::Experts& op);

/// To a piece that has its gate: to the forward before it and to the backward behind it. Autograd's clamp compares,
/// joins the masks of two bounds and chooses, each a kernel (derivatives.yaml, clamp_backward in FunctionsManual.cpp),
/// and the gradients of the halves are joined by a copy (torch.chunk's backward).
void add_clamps(LayerStream& stream, const ExpertShapes& shapes, Piece& piece);

}  // namespace orrery::strategies
