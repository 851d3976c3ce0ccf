#include "strategies/schedule_rules.hpp"

#include <fmt/format.h>

#include "strategies/refusal.hpp"
#include "strategies/sharding_rules.hpp"

namespace orrery::strategies {

namespace {

/// What a backward in two parts is not known with.
void check_split_backward(const Strategy& strategy, const Schedule& schedule) {
    if (strategy.recompute == Recompute::full)
        refuse("/strategy/recompute",
               fmt::format("full recomputation, but {} forms weight gradients later and keeps what they need",
                           schedule.name),
               "set recompute to \"none\" or \"selective\"", Source::not_modelled);
    if (strategy.cpu_offloading_num_layers > 0)
        refuse(
            "/strategy/cpu_offloading_num_layers",
            fmt::format("{}, but {} needs saved activations twice", strategy.cpu_offloading_num_layers, schedule.name),
            "set it to 0, or schedule to \"1f1b\"", Source::not_modelled);
}

/// What layers of two micro-batches beside each other are not known with. Of the first three what is not DualPipe's are
/// Megatron-LM's rules (transformer_config.py).
void check_pairs(const Strategy& strategy) {
    const auto pairs = [](const char* key, const std::string& what, const char* remedy, Source source) {
        refuse(key, what + ", but exchanges of experts run beside another micro-batch",
               std::string(remedy) + ", or set overlap_moe_expert_parallel_comm to false", source);
    };
    const bool interleaved = strategy.schedule == ScheduleKind::interleaved && strategy.virtual_pipeline > 1;
    const bool by_pairs = schedule_of(strategy.schedule).pairs;
    if (!interleaved && !by_pairs && !(strategy.schedule == ScheduleKind::one_f_one_b && strategy.pipeline == 1))
        pairs("/strategy/schedule", std::string(schedule_of(strategy.schedule).name),
              strategy.pipeline == 1 ? "set it to \"1f1b\""
                                     : "set it to \"interleaved\" with virtual_pipeline 2 or more, or to \"dualpipe\"",
              Source::megatron_config);
    if (strategy.recompute == Recompute::full)
        pairs("/strategy/recompute", "full", "set it to \"none\" or \"selective\"", Source::megatron_config);
    if (strategy.again().modules.has(Module::moe))
        pairs("/strategy/recompute_modules", "moe, whose exchanges run again in the midst of a backward",
              "leave moe out", Source::megatron_config);
    if (strategy.dispatcher == Dispatcher::allgather)
        pairs("/strategy/moe_token_dispatcher_type", "allgather", "set it to \"alltoall\" or \"flex\"",
              Source::megatron_config);
    if (strategy.sharding == Sharding::zero3)
        pairs("/strategy/sharding", "zero3, whose weights are gathered layer by layer", "set it to \"zero2\"",
              Source::not_modelled);
    if (strategy.cpu_offloading_num_layers > 0)
        pairs("/strategy/cpu_offloading_num_layers", fmt::format("{}", strategy.cpu_offloading_num_layers),
              "set it to 0", Source::not_modelled);
    if (strategy.expert == 1) pairs("/strategy/expert", "1: nothing is exchanged", "raise it", Source::megatron_config);
}

/// What two copies of the model on the same stages are not known with.
void check_copies(const Plan& plan, const Schedule& schedule) {
    const std::uint32_t pipeline = plan.strategy.pipeline, multiple = schedule.demand(plan.pipeline_shape()).stages;
    if (pipeline % multiple != 0)
        refuse("/strategy/pipeline",
               fmt::format("{} stages, but those of {} stand opposite each other in pairs", pipeline, schedule.name),
               nearest_multiples(pipeline, multiple), source_of(schedule.kind));
    if (plan.strategy.syncs_each_micro_batch())
        refuse(key_of_syncs(plan.strategy),
               fmt::format("{} reduces gradients behind every backward, and copies in {} work on other micro-batches",
                           said_of_syncs(plan.strategy), schedule.name),
               "set sharding to \"zero1\" and gradient_sync to \"by_sharding\", as DeepSeek-V3 does (arXiv:2412.19437, "
               "section 3.2)",
               Source::not_modelled);
    if (plan.strategy.compression != Compression::none)
        refuse("/strategy/compression",
               fmt::format("given, but momentum and gradients of {} have two copies in a pipeline", schedule.name),
               "set it to \"none\", or schedule to \"1f1b\"", Source::not_modelled);
}

}  // namespace

void check_micro_batches(const Plan& plan) {
    const Schedule& schedule = schedule_of(plan.strategy.schedule);
    const Demand demand = schedule.demand(plan.pipeline_shape());
    const std::uint64_t batch = plan.training.global_batch, all = plan.micro_batches(), slice = batch / all;
    if (all % demand.micro_batches != 0) {
        const std::string stages = demand.micro_batches == plan.strategy.pipeline
                                       ? fmt::format("the {} stages", plan.strategy.pipeline)
                                       : fmt::format("{}", demand.micro_batches);
        refuse(
            "/training/global_batch_size",
            fmt::format("{} sequences give {} micro-batches, not divisible by {}, as {} needs", batch, all, stages,
                        schedule.kind == ScheduleKind::interleaved ? std::string_view("interleaving") : schedule.name),
            nearest_multiples(batch, slice * demand.micro_batches), source_of(schedule.kind));
    }
    if (all < demand.least)
        refuse("/training/global_batch_size",
               fmt::format("{} sequences give {} micro-batches, fewer than the {} that {} needs", batch, all,
                           demand.least, schedule.name),
               fmt::format("at least {}", slice * demand.least), source_of(schedule.kind));
}

void check_schedule(const Plan& plan) {
    const Strategy& strategy = plan.strategy;
    const Schedule& schedule = schedule_of(strategy.schedule);
    const bool chunked = strategy.virtual_pipeline > 1;
    if (chunked && !schedule.chunked) {
        refuse("/strategy/virtual_pipeline",
               fmt::format("{} chunks per stage need the interleaved schedule", strategy.virtual_pipeline),
               "set schedule to \"interleaved\", or virtual_pipeline to 1", Source::megatron_schedules);
    }
    if (chunked && strategy.pipeline == 1) {
        refuse("/strategy/virtual_pipeline",
               fmt::format("{} chunks per stage, but pipeline is 1: there is nothing to interleave",
                           strategy.virtual_pipeline),
               "set virtual_pipeline to 1, or pipeline to 2 or more", Source::megatron_arguments);
    }
    if (strategy.overlap_p2p && !chunked) {
        refuse("/strategy/overlap_p2p", "true needs the interleaved schedule with two or more chunks per stage",
               "set it to false, or set schedule to \"interleaved\" and virtual_pipeline to 2 or more",
               Source::megatron_schedules);
    }
    const std::uint32_t copies = copies_of_model(schedule.order);
    if (schedule.chunks > 0 && strategy.virtual_pipeline * copies != schedule.chunks)
        refuse("/strategy/virtual_pipeline",
               fmt::format("{} chunks per stage, but {} has {}", strategy.virtual_pipeline, schedule.name,
                           schedule.chunks / copies),
               fmt::format("set it to {}, and pipeline to 2 or more", schedule.chunks / copies),
               source_of(schedule.kind));
    if (copies > 1) check_copies(plan, schedule);
    if (schedule.splits_backward()) check_split_backward(strategy, schedule);
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
               "raise training.global_batch_size, or set schedule to \"pipedream\"", Source::pipedream_2bw);
    if (strategy.sharding != Sharding::none)
        refuse("/strategy/sharding",
               fmt::format("{}, but {} {}", row_of(strategy.sharding).name, schedule.name,
                           schedule.versions == one_version ? "has no end of a step at which new weights are gathered"
                                                            : "keeps versions of whole weights"),
               "set it to \"none\"", Source::not_modelled);
    if (strategy.optimizer_cpu_offload)
        refuse("/strategy/optimizer_cpu_offload", fmt::format("true, but {} never waits for its host", schedule.name),
               "set it to false", Source::not_modelled);
    if (plan.model.tied_embeddings && strategy.pipeline > 1)
        refuse("/model/tie_word_embeddings",
               fmt::format("true, but the ends of {} come to their updates at different times", schedule.name),
               "set it to false, or schedule to \"1f1b\"", Source::not_modelled);
    if (plan.model.further_tokens > 0 && strategy.pipeline > 1 && plan.training.lora_rank == 0)
        refuse("/model/num_nextn_predict_layers",
               fmt::format("{}: both ends hold the words, and those of {} come to their updates at different times",
                           plan.model.further_tokens, schedule.name),
               "set it to 0, or schedule to \"1f1b\"", Source::not_modelled);
}

}  // namespace orrery::strategies
