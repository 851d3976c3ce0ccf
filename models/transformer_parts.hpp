// Branches and ends that Transformers of several kinds share.
#pragma once

#include <string>
#include <vector>

#include "models/families.hpp"

namespace orrery::models {

/// Over the residual stream. begins_branch: its input is also the residual that the next ResidualAdd takes.
Norm norm(const ModelSpec& spec, std::string name, bool begins_branch = false);
ResidualAdd residual(const ModelSpec& spec);

/// From the norm's output to what the residual takes: projections (latent ones too), rotation, core and projection.
void append_attention(std::vector<Operator>& operators, const ModelSpec& spec, bool window);
void append_mlp(std::vector<Operator>& operators, const ModelSpec& spec);
/// Megatron-LM's MoELayer: the shared expert is an ordinary MLP, the router has no bias.
void append_experts(std::vector<Operator>& operators, const ModelSpec& spec);

/// A layer over tokens of a sequence: a norm before attention and one before the MLP, each branch added behind it.
Layer pre_norm_block(const ModelSpec& spec, std::string name, Sequence sequence);

/// Words, learned positions and token types; and the last norm, the logits and the loss, behind BERT's dense layer
/// where there is one.
Layer embedding(const ModelSpec& spec);
Layer head(const ModelSpec& spec);

}  // namespace orrery::models
