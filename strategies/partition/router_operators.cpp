#include "strategies/partition/router_operators.hpp"

#include <cmath>

#include "hardware/host_time.hpp"

namespace orrery::strategies {

namespace {

std::uint32_t works(double kernels) {
    return static_cast<std::uint32_t>(std::lround(kernels / hardware::launches_of_kernel));
}

double kernels_of_forward(const Plan& plan) {
    const double counted = plan.strategy.dispatcher == Dispatcher::flex ? router_kernels_of_flex : router_kernels;
    if (plan.training.router_fusion) return counted;
    return counted + unfused_router_kernels - router_kernels -
           (plan.model.router_groups > 1 ? 0 : grouped_sigmoid_kernels);
}

}  // namespace

RouterOperators router_operators(const Plan& plan) {
    if (plan.training.software != hardware::Software::transformer_engine) return {};
    return {.forward = works(kernels_of_forward(plan) - named_router_kernels),
            .backward = works(plan.training.router_fusion ? router_backward_kernels : unfused_router_backward_kernels)};
}

void add_router_operators(const Plan& plan, const ExpertShapes& shapes, const models::Experts& op, Piece& piece) {
    using namespace kernels;
    const RouterOperators operators = router_operators(plan);
    const auto put = [&](std::vector<Work>& list, const char* name, std::uint32_t count) {
        list.insert(list.end(), count,
                    {.name = name,
                     .what = Pointwise{PointwiseKind::scale, Dtype::fp32, shapes.tokens, op.experts},
                     .plain = true});
    };
    put(piece.forward, "router operators", operators.forward);
    put(piece.backward, "router operators backward", operators.backward);
}

}  // namespace orrery::strategies
