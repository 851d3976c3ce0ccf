#include "sim/module_hooks.hpp"

#include "hardware/eager.hpp"
#include "sim/expert_tiles.hpp"

namespace orrery::sim {

namespace {

/// A graph replays kernels alone.
bool has_hooks(const strategies::Plan& plan) {
    return !plan.training.cuda_graph && plan.strategy.sharding == strategies::Sharding::zero3 &&
           plan.strategy.full_sharding.implementation == strategies::FsdpImplementation::deepspeed &&
           hardware::is_eager(plan.training.software);
}

/// Products of queries with keys and of shares with values are as many as there are heads, those of experts as many as
/// a rank has.
bool is_linear(const kernels::Gemm& product, const strategies::Plan& plan) {
    return product.batch == 1 || is_of_experts(product, plan);
}

}  // namespace

double hook_seconds(const kernels::Kernel& kernel, const strategies::Plan& plan, hardware::HostProcessor host) {
    const auto* product = std::get_if<kernels::Gemm>(&kernel);
    if (product == nullptr || !has_hooks(plan) || !is_linear(*product, plan)) return 0;
    switch (product->pass) {
        case kernels::GemmPass::forward:
        case kernels::GemmPass::data_gradient: return hardware::zero3_visit_seconds(host);
        case kernels::GemmPass::weight_gradient: break;
    }
    return hardware::zero3_bucket_seconds(host);
}

}  // namespace orrery::sim
