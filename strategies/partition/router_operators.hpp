// Operators of PyTorch's around a router: what its product and its gate are not.
#pragma once

#include "strategies/partition/experts.hpp"
#include "strategies/partition/sharder.hpp"

namespace orrery::strategies {

/// Between a router's product and its dispatch a forward of Megatron-Core launches 31 kernels (scores, losses of
/// balance, maps, counts of each expert and rank, their sums and offsets), with moe_router_fusion and permute fusion
/// on; DeepEP and HybridEP, which count in kernels of their own, leave 17 (Megatron-LM,
/// docs/discussions/deepseek-v3-gb200-optimization, "Kernel fusions for the MoE router and preprocessing": 72 kernels,
/// then 31, then 17).
inline constexpr double router_kernels = 31, router_kernels_of_flex = 17;

/// Of them the product and the gate are works of their own.
inline constexpr double named_router_kernels = 2;

/// What hardware/host_time counts as one kernel of PyTorch's is 88 launches over 55 (hardware/README.md).
inline constexpr double launches_of_plain_kernel = 88.0 / 55.0;

/// How many works stand for them in a forward: none but under Transformer Engine, of whose layers they were counted.
std::uint32_t router_operators(const Plan& plan);

/// Each a pass over the tokens' scores in fp32. Those of a backward were not counted, and are not added.
void add_router_operators(const Plan& plan, const ExpertShapes& shapes, const models::Experts& op, Piece& piece);

}  // namespace orrery::strategies
