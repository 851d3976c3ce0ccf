#include "sim/rates.hpp"

#include "models/operators.hpp"

namespace orrery::sim {

double peak_flops(const topology::Gpu& gpu, kernels::Dtype dtype) {
    switch (dtype) {
        case kernels::Dtype::fp32: return gpu.fp32_flops;
        case kernels::Dtype::tf32: return gpu.tf32_flops;
        case kernels::Dtype::fp16:
        case kernels::Dtype::bf16: return gpu.half_flops;
        case kernels::Dtype::fp8: return gpu.fp8_flops;
    }
    return 0;
}

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

}  // namespace

void fill_rates(const scenarios::Scenario& scenario, double peak, const strategies::StepProgram& step, Prediction& p) {
    const strategies::Training& training = scenario.plan.training;
    const models::Model model = models::build(scenario.plan.model);
    const double tokens = static_cast<double>(training.global_batch) * training.seq;
    const double gpu_seconds = p.step_time_s * p.gpus;
    p.tokens_per_s = tokens / p.step_time_s;
    p.model_flops_per_gpu = models::model_flops(model, training.global_batch, training.seq) / gpu_seconds;
    p.hardware_flops_per_gpu = executed_flops(step) / gpu_seconds;
    p.mfu = peak > 0 ? p.model_flops_per_gpu / peak : 0;
    p.hfu = peak > 0 ? p.hardware_flops_per_gpu / peak : 0;
    p.training_time_s = scenario.outputs.token_budget / p.tokens_per_s;
}

}  // namespace orrery::sim
