// When shares of weights are there (FSDP's settings), and when gradients are reduced.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string>

#include "strategies/build.hpp"
#include "strategies/memory.hpp"
#include "strategies/stage.hpp"
#include "tests/strategies/tiny_plan.hpp"

namespace orrery::strategies {
namespace {

using kernels::CollectiveKind;

Plan fully_sharded(const FullSharding& full = {}, std::uint32_t pipeline = 1) {
    Plan plan = tiny_plan(1, pipeline, 4);
    plan.model.tied_embeddings = false;
    plan.model.vocab = 64;  // layers are larger than the words
    plan.strategy.sharding = Sharding::zero3;
    plan.strategy.overlap_grad_reduce = true;
    plan.strategy.bucket_bytes = 1;  // a bucket for each layer
    plan.strategy.full_sharding = full;
    return plan;
}

struct Exchanged {
    std::map<CollectiveKind, std::uint64_t> bytes, number;
};
Exchanged exchanged(const Plan& plan, std::uint32_t stage = 0) {
    Exchanged result;
    const StepProgram step = build(plan);
    for (const Op& op : step.programs[stage].ops)
        if (const auto* c = std::get_if<Collective>(&op.what); c != nullptr && op.lane == Lane::data) {
            result.bytes[c->kind] += c->bytes;
            ++result.number[c->kind];
        }
    return result;
}

/// Of a stage's parameters in 16 bits.
std::uint64_t weights(const Plan& plan, std::uint32_t stage = 0) {
    StepProgram step;
    Intern intern(step);
    return place_layers(add_model_blocks(step, intern, plan), plan, stage).counts.trained * 2;
}

std::uint64_t weights_at_peak(const Plan& plan) {
    return memory(build(plan), 0).at_peak[static_cast<std::size_t>(Keep::weight)];
}

TEST(FullSharding, WhatIsNotGivenBackIsGatheredOnceAMicroBatch) {
    const Plan plan = fully_sharded({.reshard_after_forward = false});
    EXPECT_EQ(exchanged(plan).bytes[CollectiveKind::all_gather], plan.micro_batches() * weights(plan));
    EXPECT_EQ(exchanged(fully_sharded()).bytes[CollectiveKind::all_gather], 2 * plan.micro_batches() * weights(plan));
}

/// torch/distributed/pipelining/stage.py: FSDP gives weights back behind the last backward of a step.
TEST(FullSharding, InAPipelineOnceAStep) {
    for (const std::uint32_t stage : {0U, 1U}) {
        const Plan plan = fully_sharded({.reshard_after_forward = false}, 2);
        EXPECT_EQ(exchanged(plan, stage).bytes[CollectiveKind::all_gather], weights(plan, stage)) << stage;
    }
}

TEST(FullSharding, UnitsGatherTheSameInFewerMessages) {
    const Plan one = fully_sharded(), three = fully_sharded({.unit_layers = 3});
    const Exchanged by_one = exchanged(one), by_three = exchanged(three);
    EXPECT_EQ(by_one.bytes, by_three.bytes);
    const std::uint64_t layers = one.model.layers, visits = 2 * one.micro_batches();
    EXPECT_EQ(by_one.number.at(CollectiveKind::all_gather), visits * (layers + 2));
    EXPECT_EQ(by_three.number.at(CollectiveKind::all_gather), visits * ((layers + 2) / 3 + 2)) << "embedding and head";
    EXPECT_GT(weights_at_peak(three), weights_at_peak(one));
}

/// For each gathering the numbers of calls: before it in the program, and of those the last that it waits for.
struct Asked {
    std::size_t calls_before = 0;
    std::ptrdiff_t waits_for = -1;
};
std::vector<Asked> asked(const Plan& plan) {
    const StepProgram step = build(plan);
    const Program& program = step.programs.front();
    std::vector<Asked> list;
    std::map<BufferId, std::ptrdiff_t> written;
    std::ptrdiff_t calls = 0;
    for (const Op& op : program.ops) {
        const auto* c = std::get_if<Collective>(&op.what);
        if (c != nullptr && c->kind == CollectiveKind::all_gather) {
            list.push_back({static_cast<std::size_t>(calls)});
            for (const BufferId id : program.reads(op))
                if (const auto found = written.find(id); found != written.end())
                    list.back().waits_for = std::max(list.back().waits_for, found->second);
        }
        if (!std::holds_alternative<Call>(op.what)) continue;
        for (const BufferId id : program.writes(op)) written[id] = calls;
        ++calls;
    }
    return list;
}

TEST(FullSharding, PrefetchSaysWhenTheHostAsks) {
    for (const std::uint32_t prefetch : {0U, 1U, 3U}) {
        const std::vector<Asked> list = asked(fully_sharded({.prefetch = prefetch}));
        const std::ptrdiff_t at_once = std::max(prefetch + 1, 2U);
        for (std::size_t k = 0; k < list.size(); ++k) {
            EXPECT_EQ(list[k].calls_before, k > prefetch ? k - prefetch : 0) << prefetch << ' ' << k;
            EXPECT_EQ(list[k].waits_for, std::max<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(k) - at_once, -1))
                << prefetch << ' ' << k;
        }
    }
}

TEST(FullSharding, WithoutALimitAForwardAsksForAll) {
    const Plan plan = fully_sharded({.limit_all_gathers = false});
    const std::vector<Asked> list = asked(plan);
    const std::size_t calls = plan.model.layers + 2;
    for (std::size_t k = 0; k < list.size(); ++k) {
        EXPECT_EQ(list[k].waits_for, -1);
        const std::size_t slot = k / calls * calls;
        EXPECT_LE(list[k].calls_before, k / calls % 2 == 0 ? slot : k) << k;
    }
    EXPECT_GE(memory(build(plan), 0).peak, memory(build(fully_sharded()), 0).peak);
}

TEST(FullSharding, WhatStaysIsAllThere) {
    const Plan plan = fully_sharded({.reshard_after_forward = false});
    EXPECT_GT(weights_at_peak(plan), weights(plan));
    EXPECT_LT(weights_at_peak(fully_sharded()), weights(plan));
    EXPECT_LE(weights_at_peak(fully_sharded({.prefetch = 0})), weights_at_peak(fully_sharded()));
    EXPECT_LE(weights_at_peak(fully_sharded()), weights_at_peak(fully_sharded({.prefetch = 2})));
}

TEST(FullSharding, EveryScheduleVerifies) {
    for (const Schedule& schedule : schedules)
        for (const bool given_back : {true, false})
            for (const std::uint32_t prefetch : {0U, 2U})
                for (const GradientSyncs syncs : {GradientSyncs::by_sharding, GradientSyncs::step}) {
                    if (schedule.asynchronous) continue;
                    if (schedule.order == ChunkOrder::opposes && syncs != GradientSyncs::step) continue;
                    Plan plan =
                        fully_sharded({.reshard_after_forward = given_back, .unit_layers = 2, .prefetch = prefetch}, 2);
                    plan.strategy.gradient_syncs = syncs;
                    plan.strategy.schedule = schedule.kind;
                    plan.strategy.virtual_pipeline = schedule.chunked ? 2 : 1;
                    validate(plan);
                    EXPECT_EQ(verify(build(plan)), std::vector<std::string>{}) << schedule.name << ' ' << prefetch;
                }
}

/// PyTorch's no_sync: sums of all micro-batches are scattered once, and whole sums are kept for it.
TEST(GradientSync, SharesOnceAStep) {
    Plan plan = fully_sharded();
    const std::uint64_t each = exchanged(plan).bytes[CollectiveKind::reduce_scatter];
    const StageMemory shares = memory(build(plan), 0);
    plan.strategy.gradient_syncs = GradientSyncs::step;
    EXPECT_EQ(exchanged(plan).bytes[CollectiveKind::reduce_scatter], weights(plan));
    EXPECT_EQ(each, plan.micro_batches() * weights(plan));
    const StageMemory sums = memory(build(plan), 0);
    const auto gradient = static_cast<std::size_t>(Keep::gradient);
    EXPECT_EQ(sums.at_peak[gradient], weights(plan));
    EXPECT_LT(shares.at_peak[gradient], weights(plan));
}

/// Li et al. 2020, section 3.2.4: without no_sync every backward of DDP reduces.
TEST(GradientSync, WholeSumsEachMicroBatch) {
    Plan plan = tiny_plan(1, 1, 4);
    plan.strategy.sharding = Sharding::none;
    EXPECT_EQ(exchanged(plan).bytes[CollectiveKind::all_reduce], weights(plan));
    plan.strategy.gradient_syncs = GradientSyncs::micro_batch;
    validate(plan);
    EXPECT_EQ(exchanged(plan).bytes[CollectiveKind::all_reduce], plan.micro_batches() * weights(plan));
    EXPECT_EQ(verify(build(plan)), std::vector<std::string>{});
}

TEST(FullSharding, WhatDoesNotGoTogetherIsRefusedByKey) {
    const auto refused = [](Plan plan, const std::function<void(Plan&)>& change) {
        change(plan);
        return refused_at(plan);
    };
    const std::string given_back = "/strategy/fsdp_reshard_after_forward", syncs = "/strategy/gradient_sync";
    const auto zero2 = [](Plan& p) { p.strategy.sharding = Sharding::zero2; };
    EXPECT_EQ(refused(fully_sharded({.reshard_after_forward = false}), zero2), given_back);
    EXPECT_EQ(refused(fully_sharded({.unit_layers = 2}), zero2), "/strategy/fsdp_layers_per_unit");
    EXPECT_EQ(refused(fully_sharded({.prefetch = 0}), zero2), "/strategy/fsdp_prefetch");
    EXPECT_EQ(refused(fully_sharded({.limit_all_gathers = false}), zero2), "/strategy/fsdp_limit_all_gathers");
    EXPECT_EQ(refused(fully_sharded({.prefetch = 2}), [](Plan& p) { p.strategy.quantized_weights = true; }),
              "/strategy/fsdp_prefetch");
    const auto quantized = [](Plan& p) { p.strategy.quantized_weights = true; };
    EXPECT_EQ(refused(fully_sharded({.implementation = FsdpImplementation::deepspeed}), quantized), "accepted");
    EXPECT_EQ(refused(fully_sharded({.implementation = FsdpImplementation::deepspeed, .prefetch = 2}), quantized),
              "/strategy/fsdp_prefetch");
    EXPECT_EQ(refused(fully_sharded({.implementation = FsdpImplementation::fsdp1}), quantized),
              "/strategy/fsdp_implementation");
    EXPECT_EQ(refused(fully_sharded({.prefetch = 2}), [](Plan& p) { p.strategy.param_device = OffloadDevice::cpu; }),
              "/strategy/fsdp_prefetch");
    const auto when = [](Sharding sharding, GradientSyncs syncs_of) {
        return [=](Plan& p) {
            p.strategy.sharding = sharding;
            p.strategy.gradient_syncs = syncs_of;
        };
    };
    EXPECT_EQ(refused(fully_sharded(), when(Sharding::zero1, GradientSyncs::micro_batch)), syncs);
    EXPECT_EQ(refused(fully_sharded(), when(Sharding::zero2, GradientSyncs::step)), syncs);
    EXPECT_EQ(refused(fully_sharded(), when(Sharding::zero3, GradientSyncs::micro_batch)), "accepted");
    EXPECT_EQ(refused(fully_sharded({}, 2),
                      [](Plan& p) {
                          p.strategy.sharding = Sharding::none;
                          p.strategy.schedule = ScheduleKind::pipedream;
                          p.strategy.gradient_syncs = GradientSyncs::micro_batch;
                      }),
              syncs);
    EXPECT_EQ(refused(fully_sharded({}, 2),
                      [](Plan& p) {
                          p.strategy.sharding = Sharding::none;
                          p.strategy.schedule = ScheduleKind::dual_pipe;
                          p.strategy.gradient_syncs = GradientSyncs::micro_batch;
                      }),
              syncs);
}

}  // namespace
}  // namespace orrery::strategies
