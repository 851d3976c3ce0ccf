#include "sim/rates.hpp"

#include "models/operators.hpp"

namespace orrery::sim {

namespace {

/// Floating-point operations of the matrix products that one step really executes, over all ranks.
double executed_flops(const strategies::StepProgram& step) {
    std::vector<double> of_block;
    const auto kernel_flops = [&](const strategies::Op& op) {
        const auto* compute = std::get_if<strategies::Compute>(&op.what);
        return compute != nullptr ? kernels::flops(step.kernels[compute->kernel]) : 0.0;
    };
    for (const auto& block : step.blocks) {
        of_block.push_back(0);
        for (const auto& op : block.ops) of_block.back() += kernel_flops(op);
    }
    std::vector<double> of_role;
    for (const auto& program : step.programs) {
        of_role.push_back(0);
        for (const auto& op : program.ops) {
            const auto* call = std::get_if<strategies::Call>(&op.what);
            of_role.back() += call != nullptr ? of_block[call->block] : kernel_flops(op);
        }
    }
    double total = 0;
    for (const std::uint16_t role : step.role) total += of_role[role];
    return total / step.steps;
}

/// Of the model FLOPs, those of attention's masked half: a causal query sees half of the square, which MFU counts
/// whole.
double masked_flops(const scenarios::Scenario& scenario) {
    const models::ModelSpec& spec = scenario.plan.model;
    const strategies::Training& training = scenario.plan.training;
    if (!spec.causal) return 0;
    constexpr double products = 2, forward_and_backward = 3;  // Q K^T and P V; a multiply-add is two
    const double square = static_cast<double>(training.global_batch) * training.seq * training.seq;
    const double width = static_cast<double>(spec.heads) * spec.head_dim;
    return forward_and_backward * products * 2 * square * width * spec.layers / 2;
}

}  // namespace

Rates rates(const scenarios::Scenario& scenario, double peak, const strategies::StepProgram& step, double step_time_s) {
    const strategies::Training& training = scenario.plan.training;
    const models::Model model = models::build(scenario.plan.model);
    const double tokens = static_cast<double>(training.global_batch) * training.seq;
    const double gpu_seconds = step_time_s * scenario.plan.ranks();
    const double model_flops = models::model_flops(model, training.global_batch, training.seq);
    Rates r;
    r.tokens_per_s = tokens / step_time_s;
    r.model_flops_per_gpu = model_flops / gpu_seconds;
    r.hardware_flops_per_gpu = executed_flops(step) / gpu_seconds;
    r.mfu = peak > 0 ? r.model_flops_per_gpu / peak : 0;
    r.mfu_causal = r.mfu * (1 - masked_flops(scenario) / model_flops);
    r.hfu = peak > 0 ? r.hardware_flops_per_gpu / peak : 0;
    r.training_time_s = scenario.outputs.token_budget / r.tokens_per_s;
    return r;
}

}  // namespace orrery::sim
