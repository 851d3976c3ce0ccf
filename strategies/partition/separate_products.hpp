// Products of one input that a model's code keeps apart, where Megatron-LM has one: queries, keys and values
// (fuse_attention_qkv), and a gate beside its MLP's first matrix (fuse_attention_ffn).
#pragma once

#include <cstdint>
#include <vector>

#include "models/operators.hpp"
#include "strategies/partition/sharder.hpp"

namespace orrery::strategies {

/// Outputs, on this rank, of each product of a linear layer; one where it is one product.
std::vector<std::uint64_t> separate_outputs(const models::Linear& op, const LayerStream& stream);

/// The sum of what so many products leave as gradients of their input: a kernel for each but the first (autograd,
/// torch/csrc/autograd/input_buffer.cpp), or, where torch.compile joins it to what is behind, one more read for each.
void add_gradient_sums(const LayerStream& stream, std::vector<Work>& list, std::size_t products, const Cells& gradient,
                       std::uint8_t needs = 0);

/// Writes each product of a piece that stands for several (Piece::Results::products) as these, and likewise the sums
/// that are the gradients of its bias.
void separate_products(ShardedLayer& layer);

}  // namespace orrery::strategies
