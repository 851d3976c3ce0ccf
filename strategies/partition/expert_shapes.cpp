// How many tokens, and copies of them, a layer of experts has on one rank.
#include <cmath>

#include "models/routing.hpp"
#include "strategies/partition/experts.hpp"

namespace orrery::strategies {

ExpertShapes expert_shapes(const models::Experts& op, const Plan& plan) {
    const std::uint64_t tensor = plan.strategy.tensor;
    const bool split = plan.experts_split();
    ExpertShapes shapes;
    // Experts are known beside tensor parallelism only with sequence parallelism (plan.cpp).
    shapes.tokens = plan.rank_tokens() / tensor;
    shapes.sent =
        static_cast<std::uint64_t>(std::ceil(plan.training.taken(1.0) * static_cast<double>(shapes.tokens * op.top_k)));
    shapes.rows = shapes.sent * (split ? tensor : 1);
    shapes.experts = plan.rank_experts(op.experts);
    shapes.rows_each = static_cast<std::uint32_t>((shapes.rows + shapes.experts - 1) / shapes.experts);
    shapes.ffn = static_cast<std::uint32_t>(op.ffn / (split ? tensor : 1));
    shapes.inner = shapes.ffn * (op.gated ? 2 : 1);
    shapes.exchanges = plan.strategy.expert > 1;
    shapes.gathers = split;
    if (plan.strategy.dispatcher == Dispatcher::allgather)
        shapes.gathered = shapes.tokens * plan.strategy.expert * (split ? tensor : 1);
    if (plan.strategy.dispatcher == Dispatcher::flex) {
        shapes.copies = models::expected_parts(op.routing(), static_cast<double>(plan.strategy.expert)) *
                        static_cast<double>(split ? tensor : 1);
        shapes.distinct = static_cast<std::uint64_t>(
            std::ceil(static_cast<double>(shapes.tokens) * shapes.copies * plan.training.taken(1.0)));
    }
    return shapes;
}

}  // namespace orrery::strategies
