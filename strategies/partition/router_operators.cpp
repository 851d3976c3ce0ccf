#include "strategies/partition/router_operators.hpp"

#include <cmath>

namespace orrery::strategies {

std::uint32_t router_operators(const Plan& plan) {
    if (plan.training.software != hardware::Software::transformer_engine) return 0;
    const double kernels = plan.strategy.dispatcher == Dispatcher::flex ? router_kernels_of_flex : router_kernels;
    return static_cast<std::uint32_t>(std::lround((kernels - named_router_kernels) / launches_of_plain_kernel));
}

void add_router_operators(const Plan& plan, const ExpertShapes& shapes, const models::Experts& op, Piece& piece) {
    using namespace kernels;
    for (std::uint32_t i = 0; i < router_operators(plan); ++i)
        piece.forward.push_back({.name = "router operators",
                                 .what = Pointwise{PointwiseKind::scale, Dtype::fp32, shapes.tokens, op.experts},
                                 .plain = true});
}

}  // namespace orrery::strategies
