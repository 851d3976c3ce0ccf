// Operators of PyTorch's around a router: what its product and its gate are not.
#pragma once

#include "strategies/partition/experts.hpp"
#include "strategies/partition/sharder.hpp"

namespace orrery::strategies {

/// Between a router's product and its dispatch a forward of Megatron-Core launches 31 kernels (scores, losses of
/// balance, maps, counts of each expert and rank, their sums and offsets), with moe_router_fusion and permute fusion
/// on; DeepEP and HybridEP, which count in kernels of their own, leave 17; without moe_router_fusion they are 72
/// (Megatron-LM, docs/discussions/deepseek-v3-gb200-optimization, 2.1.4 and 2.2.1).
inline constexpr double router_kernels = 31, router_kernels_of_flex = 17, unfused_router_kernels = 72;

/// Of the 72 those that DeepSeek-V3's routers have and a softmax's do not: groups of experts are chosen before experts
/// (moe_utils.py, group_limited_topk: 13 where torch.topk is 2), and sigmoid's scores are biased, gathered and divided
/// by their sum (9).
inline constexpr double grouped_sigmoid_kernels = 20;

/// Of a backward, beside the gate's and the product's: the losses' scale, their gradient, the scores', the sum of both
/// paths and a cast; unfused one kernel an operator of autograd's. Counted in router.py and moe_utils.py; the same
/// count of a forward finds 42 between fused and not, where the document above has 41.
inline constexpr double router_backward_kernels = 6, unfused_router_backward_kernels = 24;

/// Of a forward's the product and the gate are works of their own.
inline constexpr double named_router_kernels = 2;

/// How many works stand for them, in a forward and in a backward: none but under Transformer Engine, of whose layers
/// they were counted.
struct RouterOperators {
    std::uint32_t forward = 0, backward = 0;
};
RouterOperators router_operators(const Plan& plan);

/// Each a pass over the tokens' scores in fp32.
void add_router_operators(const Plan& plan, const ExpertShapes& shapes, const models::Experts& op, Piece& piece);

}  // namespace orrery::strategies
