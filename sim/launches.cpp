#include "sim/launches.hpp"

#include "hardware/eager.hpp"

namespace orrery::sim {

namespace {

bool casts_by_expert(const kernels::Kernel& kernel, const strategies::Plan& plan) {
    using kernels::PointwiseKind;
    const auto* pointwise = std::get_if<kernels::Pointwise>(&kernel);
    return pointwise != nullptr && plan.training.fp8_recipe != strategies::Fp8Recipe::delayed &&
           (pointwise->kind == PointwiseKind::transpose || pointwise->kind == PointwiseKind::sum_of_squares);
}

}  // namespace

Launches launches_of(const kernels::Kernel& kernel, const strategies::Plan& plan, hardware::HostProcessor host,
                     double launch_seconds) {
    const hardware::Software software = plan.training.software;
    if (plan.model.experts == 0) return {};
    if (!hardware::is_eager(software)) return {};
    if (const auto* product = std::get_if<kernels::Gemm>(&kernel))
        return {product->batch, hardware::further_expert_seconds(software, host, launch_seconds)};
    if (!casts_by_expert(kernel, plan)) return {};
    return {plan.rank_experts(plan.model.experts), launch_seconds};
}

double looped_product_seconds(double launch_seconds) {
    return hardware::further_product_seconds(hardware::Software::transformer_engine, launch_seconds);
}

double looped_message_seconds(double launch_seconds) { return 2 * launch_seconds; }

}  // namespace orrery::sim
