#include "strategies/expert_rules.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "strategies/refusal.hpp"

namespace orrery::strategies {

namespace {

using std::uint64_t;

/// Keys that mean nothing without experts.
void check_dense(const Plan& plan) {
    const std::string hint = "leave it out, or name a model with experts";
    if (plan.strategy.expert > 1)
        refuse("/strategy/expert", fmt::format("{}, but the model has no experts", plan.strategy.expert), hint,
               Source::megatron_arguments);
    if (plan.strategy.dispatcher != Dispatcher::alltoall)
        refuse("/strategy/moe_token_dispatcher_type", "given, but the model has no experts", hint,
               Source::origin_of_key);
    if (plan.strategy.overlap_expert_exchanges)
        refuse("/strategy/overlap_moe_expert_parallel_comm", "true, but the model has no experts", hint,
               Source::megatron_config);
    if (plan.strategy.expert_tensor > 0)
        refuse("/strategy/expert_tensor", "given, but the model has no experts", hint, Source::origin_of_key);
    if (plan.training.expert_capacity > 0)
        refuse("/training/moe_expert_capacity_factor", "given, but the model has no experts", hint,
               Source::megatron_config);
    if (plan.training.cuda_graph_scope != CudaGraphScope::full_iteration)
        refuse("/training/cuda_graph_scope", "given, but the model has no experts", hint, Source::megatron_config);
    if (plan.training.pad_to_capacity)
        refuse("/training/moe_pad_expert_input_to_capacity", "true, but the model has no experts", hint,
               Source::megatron_config);
}

/// Experts are split over the tensor axis as the rest is, or not at all (Megatron-LM's parallel folding knows more).
void check_expert_tensor(const Plan& plan) {
    const uint64_t tensor = plan.strategy.tensor, expert = plan.strategy.expert;
    if (plan.strategy.expert_tensor > 1 && plan.strategy.expert_tensor != tensor)
        refuse("/strategy/expert_tensor", fmt::format("{} differs from tensor {}", plan.strategy.expert_tensor, tensor),
               fmt::format("legal values: 1, {}", tensor), Source::not_modelled);
    if (tensor > 1 && !plan.strategy.sequence_parallel)
        refuse("/strategy/sequence_parallel", "false beside tensor parallelism and experts",
               "set sequence_parallel to true, or tensor to 1", Source::megatron_experts);
    if (plan.experts_split()) {
        const auto check = [&](uint64_t width, std::string_view name) {
            if (width % tensor != 0)
                refuse("/strategy/tensor", fmt::format("{} does not divide the {} {}", tensor, width, name),
                       "set expert_tensor to 1, or tensor to a divisor", Source::megatron_layers);
        };
        check(plan.model.expert_ffn, "columns of an expert (moe_intermediate_size)");
        check(plan.model.shared_expert_ffn, "columns of the shared expert");
    } else if (expert % tensor != 0) {
        refuse("/strategy/expert", fmt::format("{} ranks are no multiple of tensor {}", expert, tensor),
               nearest_multiples(expert, tensor) + "; or leave expert_tensor out", Source::not_modelled);
    }
}

/// Expert groups cover the context axis before they take data ranks (Megatron-LM's order of ranks for experts): all of
/// it, or neighbours along it, of which as many groups hold the same experts.
void check_expert_context(const Plan& plan) {
    const uint64_t expert = plan.strategy.expert, tensors = plan.expert_tensors(), context = plan.strategy.context;
    if (plan.experts_cover_context()) return;
    const auto legal = [&](uint64_t value) {
        Plan other = plan;
        other.strategy.expert = static_cast<std::uint32_t>(value);
        return value % tensors == 0 && other.experts_cover_context();
    };
    refuse("/strategy/expert",
           plan.context_heads() > 1
               ? fmt::format("{} ranks cover other context ranks than the {} that exchange heads, or all {}", expert,
                             plan.context_heads(), context)
               : fmt::format("{} ranks neither divide the {} tensor and context ranks nor are a multiple of them",
                             expert, tensors * context),
           nearest_legal(expert, plan.model.experts, legal), Source::not_modelled);
}

}  // namespace

void check_experts(const Plan& plan) {
    if (plan.model.experts == 0) return check_dense(plan);
    if (plan.strategy.expert > plan.model.experts || plan.model.experts % plan.strategy.expert != 0)
        refuse("/strategy/expert",
               fmt::format("{} ranks do not divide the {} experts", plan.strategy.expert, plan.model.experts),
               nearest_divisors(plan.strategy.expert, plan.model.experts), Source::megatron_arguments);
    check_expert_tensor(plan);
    check_expert_context(plan);
    if (plan.strategy.dispatcher == Dispatcher::flex &&
        plan.strategy.all_to_all_algorithm != AllToAllAlgorithm::automatic)
        refuse("/strategy/all_to_all_algorithm", "given, but flex has kernels of its own that send a token once a node",
               "set it to \"auto\", or moe_token_dispatcher_type to \"alltoall\"", Source::experts_by_node);
    const uint64_t along = plan.expert_extent(), data = plan.strategy.data;
    if (data % along != 0)
        refuse("/strategy/expert",
               fmt::format("{} expert ranks do not divide the {} data ranks that they are taken from", along, data),
               nearest_divisors(along, data), Source::megatron_groups);
    const double capacity = plan.training.expert_capacity;
    if (plan.training.pad_to_capacity && capacity == 0)
        refuse("/training/moe_pad_expert_input_to_capacity", "true needs a capacity",
               "give moe_expert_capacity_factor, or set it to false", Source::megatron_config);
}

}  // namespace orrery::strategies
