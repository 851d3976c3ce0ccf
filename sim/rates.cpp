#include "sim/rates.hpp"

#include "models/operators.hpp"
#include "strategies/stage.hpp"

namespace orrery::sim {

namespace {

/// Floating-point operations of the matrix products that one step really executes, over all ranks; but for those of
/// an optimizer (Muon), which are not in the format of the layers.
double executed_flops(const strategies::StepProgram& step) {
    std::vector<double> of_block;
    const auto kernel_flops = [&](const strategies::Op& op) {
        const auto* compute = std::get_if<strategies::Compute>(&op.what);
        const bool of_layers = op.label.phase != strategies::Phase::optimizer;
        return compute != nullptr && of_layers ? kernels::flops(step.kernels[compute->kernel]) : 0.0;
    };
    for (const auto& block : step.blocks) {
        of_block.push_back(0);
        for (const auto& op : block.ops) of_block.back() += kernel_flops(op);
    }
    std::vector<double> of_role;
    for (const auto& program : step.programs) {
        of_role.push_back(0);
        for (std::uint32_t i = 0; i < program.ops.size(); ++i) {
            const auto* call = std::get_if<strategies::Call>(&program.ops[i].what);
            of_role.back() += static_cast<double>(program.rounds.times(i)) *
                              (call != nullptr ? call->times * of_block[call->block] : kernel_flops(program.ops[i]));
        }
    }
    double total = 0;
    for (const std::uint16_t role : step.role) total += of_role[role];
    return total / step.steps;
}

/// Of the model FLOPs, those of attention's masked half: a causal query sees half of the square, which MFU counts
/// whole.
double masked_flops(const scenarios::Scenario& scenario, const models::Model& model) {
    const strategies::Training& training = scenario.plan.training;
    return models::causal_attention_flops(model, training.global_batch, training.seq, training.decoder_seq,
                                          training.document_length) /
           2;
}

/// Of forward, gradients of inputs and gradients of weights, as much work each, frozen weights have two.
double trained_share(const strategies::Training& training) { return training.lora_rank > 0 ? 2.0 / 3 : 1.0; }

/// 8TP/(nX), whose X counts the forward pass twice, recomputed or not (SC'21, equation 3). P: active parameters.
double end_to_end_seconds(const scenarios::Scenario& scenario, const models::Model& model, double gpu_seconds) {
    const strategies::Training& training = scenario.plan.training;
    const double x = models::hardware_flops_full_recompute(model, training.global_batch, training.seq,
                                                           training.decoder_seq, training.document_length) /
                     gpu_seconds;
    const double parameters = static_cast<double>(models::active_parameters(model));
    return 8 * scenario.outputs.token_budget * parameters / (scenario.plan.ranks() * x);
}

}  // namespace

Rates rates(const scenarios::Scenario& scenario, double peak, const strategies::StepProgram& step, double step_time_s) {
    const strategies::Training& training = scenario.plan.training;
    const models::Model model = strategies::model_of(scenario.plan);
    const double examples = scenario.plan.examples();
    const double gpu_seconds = step_time_s * scenario.plan.ranks();
    const double all =
        models::model_flops(model, training.global_batch, training.seq, training.decoder_seq, training.document_length);
    const double model_flops = all * trained_share(training);
    Rates r;
    r.tokens_per_s = examples / step_time_s;
    r.model_flops_per_gpu = model_flops / gpu_seconds;
    r.hardware_flops_per_gpu = executed_flops(step) / gpu_seconds;
    r.mfu = peak > 0 ? r.model_flops_per_gpu / peak : 0;
    r.mfu_causal = r.mfu * (1 - masked_flops(scenario, model) / all);
    r.hfu = peak > 0 ? r.hardware_flops_per_gpu / peak : 0;
    r.training_time_s = scenario.outputs.token_budget / r.tokens_per_s;
    if (!scenario.plan.model.takes_images()) r.end_to_end_s = end_to_end_seconds(scenario, model, gpu_seconds);
    return r;
}

}  // namespace orrery::sim
