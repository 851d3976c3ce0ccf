// Copies that give each expert a number of rows that narrow products can take.
#pragma once

#include "strategies/partition/experts.hpp"
#include "strategies/partition/sharder.hpp"

namespace orrery::strategies {

/// fp8 products take a multiple of 16 or 32 rows, and what routers send an expert is none. Megatron-LM copies all rows
/// to where each expert's part is padded, and its results back (core/transformer/moe/experts.py, TEGroupedMLP:
/// quantization_padding, quantization_unpadding; Transformer Engine's Fp8Padding, which copies nothing where all parts
/// fit). HybridEP pads while it permutes; capacities that experts are padded to fit.
bool pads_experts_apart(const Plan& plan);

/// To the piece of the experts' first product (up) or second one: rows before it and behind it, forward and backward.
void add_expert_padding(LayerStream& stream, const ExpertShapes& shapes, std::uint64_t width, bool up, Piece& piece);

}  // namespace orrery::strategies
