#include "strategies/tensor_overlap.hpp"

#include <fmt/format.h>

#include "strategies/compiled.hpp"
#include "strategies/refusal.hpp"

namespace orrery::strategies {

bool pulls_parts(const Plan& plan) { return plan.training.software == hardware::Software::pytorch; }

bool tensor_overlap_divides(const Plan& plan) {
    const std::uint64_t unit = std::uint64_t{scattered_parts} * plan.strategy.tensor;
    return plan.rank_tokens() % unit == 0 && plan.rank_tokens(models::Sequence::decoded) % unit == 0;  // 0 of one stack
}

std::uint64_t gathered_bytes(const Precision& precision) {
    return is_narrow(precision.compute) ? 1 : kernels::size_of(precision.compute);
}

std::uint64_t tensor_overlap_buffers(const Plan& plan) {
    if (!plan.strategy.tensor_comm_overlap) return 0;
    const Precision& precision = plan.training.precision;
    const std::uint64_t activation = is_narrow(precision.compute) ? 2 : kernels::size_of(precision.compute);
    if (pulls_parts(plan)) return 2 * plan.rank_tokens() / plan.strategy.tensor * plan.model.hidden * activation;
    return plan.rank_tokens() * plan.model.hidden * (6 * gathered_bytes(precision) + 4 * activation);
}

void check_tensor_overlap(const Plan& plan) {
    constexpr const char* key = "/strategy/tp_comm_overlap";
    const Strategy& strategy = plan.strategy;
    if (!strategy.tensor_comm_overlap) return;
    if (strategy.tensor == 1)
        refuse(key, "true, but there is one tensor rank", "leave it out, or raise tensor", Source::origin_of_key);
    if (!strategy.sequence_parallel)
        refuse(key, "true, but tensor ranks sum whole tensors: without sequence parallelism there is nothing to gather",
               "set sequence_parallel to true, as Megatron-LM demands, or leave it out", Source::megatron_arguments);
    if (pulls_parts(plan) && !is_compiled(plan.training))
        refuse(key, "true, but PyTorch does so in what torch.compile makes, and operators run one by one",
               "set training.kernel_fusion to \"full\", or leave it out", Source::pytorch_micro_pipeline);
    if (!strategy.async_tensor_allreduce && !pulls_parts(plan))
        refuse(key, "true beside async_tensor_allreduce false: a backward's gathers run beside products too",
               "set async_tensor_allreduce to true, or leave it out", Source::not_modelled);
    if (schedule_of(strategy.schedule).backwards != Backwards::whole)
        refuse(key,
               fmt::format("true, but {} forms weight gradients apart, which products of parts are not",
                           schedule_of(strategy.schedule).name),
               "take another schedule, or leave it out", Source::not_modelled);
    if (plan.model.two_stacks())
        refuse(key, fmt::format("true, but products of {}, which has two stacks, have no buffers", plan.model.name),
               "leave it out", Source::not_modelled);
    if (plan.training.lora_rank > 0)
        refuse(key, "true beside adapters, which Transformer Engine leaves alone", "leave it out",
               Source::not_modelled);
    const Training& training = plan.training;
    const bool blocks =
        training.precision.compute == kernels::Dtype::fp8 && training.fp8_recipe == Fp8Recipe::blockwise;
    if (training.precision.compute == kernels::Dtype::fp4 || blocks)
        refuse(key, "true, but Transformer Engine's buffers hold bf16, fp8 of one scale a tensor, or mxfp8",
               "set training.fp8_recipe to \"delayed\", \"tensorwise\" or \"mxfp8\", or leave it out",
               Source::engine_buffers);
    if (!tensor_overlap_divides(plan))
        refuse(key,
               fmt::format("true, but the {} tokens of a micro-batch are not divisible by tensor {} x {} parts",
                           plan.rank_tokens(), strategy.tensor, scattered_parts),
               "set it to false, or micro_batch_size higher", Source::not_modelled);
}

}  // namespace orrery::strategies
