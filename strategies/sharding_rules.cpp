#include "strategies/sharding_rules.hpp"

#include <fmt/format.h>

#include "strategies/refusal.hpp"
#include "strategies/zero_plus_plus.hpp"

namespace orrery::strategies {

namespace {

constexpr std::string_view of_syncs = "/strategy/gradient_sync", of_implementation = "/strategy/fsdp_implementation";

/// The first key of FSDP that is not as ever; empty: all are.
std::string_view given_key(const FullSharding& full) {
    const FullSharding usual;
    if (full.implementation != usual.implementation) return of_implementation;
    if (full.reshard_after_forward != usual.reshard_after_forward) return "/strategy/fsdp_reshard_after_forward";
    if (full.unit_layers != usual.unit_layers) return "/strategy/fsdp_layers_per_unit";
    if (full.prefetch != usual.prefetch) return "/strategy/fsdp_prefetch";
    if (full.limit_all_gathers != usual.limit_all_gathers) return "/strategy/fsdp_limit_all_gathers";
    return "";
}

void check_full_sharding(const Plan& plan) {
    const Strategy& strategy = plan.strategy;
    const std::string_view key = given_key(strategy.full_sharding);
    if (key.empty()) return;
    if (strategy.sharding != Sharding::zero3)
        refuse(key,
               fmt::format("given, but sharding is {}: weights are gathered under zero3 alone",
                           row_of(strategy.sharding).name),
               "set sharding to \"zero3\", or leave it out", Source::origin_of_key);
    FullSharding of_others = strategy.full_sharding;
    if (of_others.implementation == FsdpImplementation::deepspeed) of_others.implementation = {};
    const std::string_view others_key = given_key(of_others);
    if (is_zero_plus_plus(strategy) && !others_key.empty())
        refuse(others_key, "given beside ZeRO++, which is DeepSpeed's and has an order of its own",
               "leave out zero_quantized_weights, zero_hpz_partition_size and zero_quantized_gradients, or this",
               Source::deepspeed_order);
    // FSDP offloads shares too (CPUOffloadPolicy), and copies what it gathers its own way.
    of_others.implementation = {};
    const std::string_view order_key = given_key(of_others);
    if (plan.offloads_weights() && !order_key.empty())
        refuse(order_key, "given beside weights that are offloaded, which come in DeepSpeed's order",
               "set offload_param_device to \"none\", or leave it out", Source::deepspeed_order);
    const models::ModelSpec& model = plan.model;
    if (strategy.full_sharding.unit_layers > 1 && (model.decoder_layers > 0 || model.takes_images()))
        refuse("/strategy/fsdp_layers_per_unit",
               fmt::format("{} layers, but {} is no stack of layers that are alike", strategy.full_sharding.unit_layers,
                           model.name),
               "set it to 1", Source::not_modelled);
}

void check_each_micro_batch(const Plan& plan) {
    const Strategy& strategy = plan.strategy;
    const auto micro_batch_beside = [](const std::string& what, const std::string& hint,
                                       Source source = Source::not_modelled) {
        refuse(of_syncs, fmt::format("micro_batch, but {}", what), hint, source);
    };
    if (strategy.sharding == Sharding::zero1)
        micro_batch_beside("gradients that are scattered behind every backward are those of zero2",
                           "set sharding to \"zero2\", or leave it out", Source::sharded_states);
    if (schedule_of(strategy.schedule).asynchronous)
        micro_batch_beside(fmt::format("{} goes on from step to step", schedule_of(strategy.schedule).name),
                           "set schedule to \"1f1b\", or leave it out");
    if (strategy.compression != Compression::none && strategy.compression != Compression::by_ratio)
        micro_batch_beside("what is compressed is exchanged once a step", "set compression to \"none\"");
    if (strategy.optimizer_cpu_offload)
        micro_batch_beside("the host's optimizer takes them once a step", "set optimizer_cpu_offload to false");
}

void check_once_a_step(const Plan& plan) {
    const Strategy& strategy = plan.strategy;
    if (strategy.sharding == Sharding::zero2)
        refuse(of_syncs, "step, but whole sums beside shares of states are those of zero1",
               "set sharding to \"zero1\", or leave it out", Source::sharded_states);
    if (strategy.quantized_gradients)
        refuse(of_syncs, "step, but quantized gradients are exchanged behind every backward",
               "set zero_quantized_gradients to false, or leave it out", Source::deepspeed_engine);
    if (plan.offloads_weights() || (strategy.optimizer_cpu_offload && strategy.sharding == Sharding::zero3))
        refuse(of_syncs, "step, but what is offloaded under zero3 are shares of gradients",
               "set optimizer_cpu_offload to false, or leave it out", Source::deepspeed_engine);
}

void check_two_hops(const Strategy& strategy) {
    if (!divides_gradients(strategy.sharding))
        refuse(of_syncs, fmt::format("two_hop, but {} reduces gradients once a step", row_of(strategy.sharding).name),
               "set sharding to \"zero2\" or \"zero3\", or leave it out", Source::origin_of_key);
    if (strategy.optimizer_instances == 1)
        refuse(of_syncs, "two_hop, but there is one group of ranks that share",
               "set num_distributed_optimizer_instances to the number of groups, or leave it out",
               Source::origin_of_key);
}

/// It says what software does where it scatters: where nothing is, it has no effect.
void check_grad_reduce_collective(const Strategy& strategy) {
    if (strategy.grad_reduce_collective == GradReduceCollective::reduce_scatter) return;
    if (strategy.quantized_gradients)
        refuse("/strategy/grad_reduce_collective", "given beside quantized gradients, which ranks exchange among them",
               "set zero_quantized_gradients to false, or leave it out", Source::deepspeed_engine);
}

}  // namespace

void check_sharding(const Plan& plan) {
    check_full_sharding(plan);
    check_grad_reduce_collective(plan.strategy);
    if (plan.strategy.gradient_syncs == GradientSyncs::micro_batch) check_each_micro_batch(plan);
    if (plan.strategy.gradient_syncs == GradientSyncs::step) check_once_a_step(plan);
    if (plan.strategy.gradient_syncs == GradientSyncs::two_hop) check_two_hops(plan.strategy);
}

std::string_view key_of_syncs(const Strategy& strategy) {
    return divides_gradients(strategy.sharding) ? "/strategy/sharding" : of_syncs;
}

std::string said_of_syncs(const Strategy& strategy) {
    return key_of_syncs(strategy) == of_syncs ? "micro_batch" : std::string(row_of(strategy.sharding).name);
}

}  // namespace orrery::strategies
