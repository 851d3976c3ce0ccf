#include "strategies/schedule_rules.hpp"

#include <fmt/format.h>

#include "strategies/refusal.hpp"

namespace orrery::strategies {

namespace {

/// What a backward in two parts is not known with.
void check_split_backward(const Strategy& strategy, const Schedule& schedule) {
    if (strategy.recompute == Recompute::full)
        refuse("/strategy/recompute",
               fmt::format("full recomputation, but {} forms weight gradients later and keeps what they need",
                           schedule.name),
               "set recompute to \"none\" or \"selective\"");
    if (strategy.cpu_offloading_num_layers > 0)
        refuse(
            "/strategy/cpu_offloading_num_layers",
            fmt::format("{}, but {} needs saved activations twice", strategy.cpu_offloading_num_layers, schedule.name),
            "set it to 0, or schedule to \"1f1b\"");
}

/// What layers of two micro-batches beside each other are not known with. The first three are Megatron-LM's rules
/// (transformer_config.py).
void check_pairs(const Strategy& strategy) {
    const auto pairs = [](const char* key, const std::string& what, const char* remedy) {
        refuse(key, what + ", but exchanges of experts run beside another micro-batch",
               std::string(remedy) + ", or set overlap_moe_expert_parallel_comm to false");
    };
    const bool interleaved = strategy.schedule == ScheduleKind::interleaved && strategy.virtual_pipeline > 1;
    if (!interleaved && !(strategy.schedule == ScheduleKind::one_f_one_b && strategy.pipeline == 1))
        pairs("/strategy/schedule", std::string(schedule_of(strategy.schedule).name),
              strategy.pipeline == 1 ? "set it to \"1f1b\""
                                     : "set it to \"interleaved\", and virtual_pipeline to 2 or more");
    if (strategy.recompute == Recompute::full)
        pairs("/strategy/recompute", "full", "set it to \"none\" or \"selective\"");
    if (strategy.dispatcher == Dispatcher::allgather)
        pairs("/strategy/moe_token_dispatcher_type", "allgather", "set it to \"alltoall\" or \"flex\"");
    if (strategy.sharding == Sharding::zero3)
        pairs("/strategy/sharding", "zero3, whose weights are gathered layer by layer", "set it to \"zero2\"");
    if (strategy.cpu_offloading_num_layers > 0)
        pairs("/strategy/cpu_offloading_num_layers", fmt::format("{}", strategy.cpu_offloading_num_layers),
              "set it to 0");
    if (strategy.expert == 1) pairs("/strategy/expert", "1: nothing is exchanged", "raise it");
}

}  // namespace

void check_schedule(const Plan& plan) {
    const Strategy& strategy = plan.strategy;
    const Schedule& schedule = schedule_of(strategy.schedule);
    const bool chunked = strategy.virtual_pipeline > 1;
    if (chunked && !schedule.chunked) {
        refuse("/strategy/virtual_pipeline",
               fmt::format("{} chunks per stage need the interleaved schedule", strategy.virtual_pipeline),
               "set schedule to \"interleaved\", or virtual_pipeline to 1");
    }
    if (chunked && strategy.pipeline == 1) {
        refuse("/strategy/virtual_pipeline",
               fmt::format("{} chunks per stage, but pipeline is 1: there is nothing to interleave",
                           strategy.virtual_pipeline),
               "set virtual_pipeline to 1, or pipeline to 2 or more");
    }
    if (strategy.overlap_p2p && !chunked) {
        refuse("/strategy/overlap_p2p", "true needs the interleaved schedule with two or more chunks per stage",
               "set it to false, or set schedule to \"interleaved\" and virtual_pipeline to 2 or more");
    }
    if (schedule.chunks > 0 && strategy.virtual_pipeline != schedule.chunks)
        refuse("/strategy/virtual_pipeline",
               fmt::format("{} chunks per stage, but {} has {}", strategy.virtual_pipeline, schedule.name,
                           schedule.chunks),
               fmt::format("set it to {}, and pipeline to 2 or more", schedule.chunks));
    if (schedule.splits_backward) check_split_backward(strategy, schedule);
    if (strategy.overlap_expert_exchanges) check_pairs(strategy);
}

void check_asynchronous(const Plan& plan) {
    const Strategy& strategy = plan.strategy;
    const Schedule& schedule = schedule_of(strategy.schedule);
    if (!schedule.asynchronous) return;
    if (strategy.schedule == ScheduleKind::pipedream_2bw && plan.micro_batches() < strategy.pipeline)
        refuse("/strategy/schedule",
               fmt::format("two versions of weights serve {} stages from {} micro-batches on, and a step has {}",
                           strategy.pipeline, strategy.pipeline, plan.micro_batches()),
               "raise training.global_batch_size, or set schedule to \"pipedream\"");
    if (strategy.sharding != Sharding::none)
        refuse("/strategy/sharding",
               fmt::format("{}, but {} keeps versions of whole weights", row_of(strategy.sharding).name, schedule.name),
               "set it to \"none\"");
    if (strategy.optimizer_cpu_offload)
        refuse("/strategy/optimizer_cpu_offload", fmt::format("true, but {} never waits for its host", schedule.name),
               "set it to false");
    if (plan.model.tied_embeddings && strategy.pipeline > 1)
        refuse("/model/tie_word_embeddings",
               fmt::format("true, but the ends of {} come to their updates at different times", schedule.name),
               "set it to false, or schedule to \"1f1b\"");
}

}  // namespace orrery::strategies
