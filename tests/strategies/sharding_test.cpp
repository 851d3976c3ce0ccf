// Programs whose ranks keep shares of gradients and weights (ZeRO-2, ZeRO-3).
#include "strategies/sharding.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "strategies/build.hpp"
#include "strategies/hazards.hpp"
#include "strategies/memory.hpp"
#include "strategies/stage.hpp"
#include "tests/strategies/tiny_plan.hpp"

namespace orrery::strategies {
namespace {

using kernels::CollectiveKind;

Plan sharded(Sharding sharding, std::uint32_t pipeline = 1, bool overlap = true) {
    Plan plan = tiny_plan(1, pipeline, 4);
    plan.strategy.sharding = sharding;
    plan.strategy.overlap_grad_reduce = overlap;
    plan.strategy.bucket_bytes = 1;  // a bucket for each layer
    return plan;
}

/// Bytes of a stage's collectives over its replicas.
std::map<CollectiveKind, std::uint64_t> moved(const Program& program) {
    std::map<CollectiveKind, std::uint64_t> bytes;
    for (const Op& op : program.ops)
        if (const auto* c = std::get_if<Collective>(&op.what); c != nullptr && op.lane == Lane::data)
            bytes[c->kind] += c->bytes;
    return bytes;
}

std::uint64_t parameters(const Plan& plan, std::uint32_t stage) {
    StepProgram step;
    Intern intern(step);
    return place_layers(add_model_blocks(step, intern, plan), plan, stage).counts.trained;
}

using Problems = std::vector<std::string>;

TEST(Sharding, EveryScheduleVerifies) {
    for (const Schedule& schedule : schedules)
        for (const ShardingRow& row : shardings)
            for (const bool overlap : {false, true})
                for (const std::uint64_t bucket : {std::uint64_t{1}, std::uint64_t{100'000}, std::uint64_t{1} << 40}) {
                    if (schedule.asynchronous && row.kind != Sharding::none) continue;
                    if (schedule.order == ChunkOrder::opposes && row.kind > Sharding::zero1) continue;
                    Plan plan = sharded(row.kind, 2, overlap);
                    plan.model.tied_embeddings = !schedule.asynchronous;
                    plan.strategy.schedule = schedule.kind;
                    plan.strategy.virtual_pipeline = schedule.chunked ? 2 : 1;
                    plan.strategy.bucket_bytes = bucket;
                    validate(plan);
                    EXPECT_EQ(verify(build(plan)), Problems{}) << schedule.name << ' ' << row.name << ' ' << bucket;
                }
}

/// Rajbhandari et al. 2020, section 5.2 with gradient accumulation (DeepSpeed): gradients are scattered behind every
/// micro-batch, new weights gathered once.
TEST(Sharding, ZeRO2ScattersEveryMicroBatch) {
    for (const bool overlap : {false, true}) {
        const Plan plan = sharded(Sharding::zero2, 2, overlap);
        const std::uint64_t bytes = parameters(plan, 1) * 2;
        EXPECT_EQ(moved(build(plan).programs[1]), (std::map<CollectiveKind, std::uint64_t>{
                                                      {CollectiveKind::reduce_scatter, plan.micro_batches() * bytes},
                                                      {CollectiveKind::all_gather, bytes}}));
    }
}

/// DeepSpeed without overlap_comm (runtime/zero/stage_1_and_2.py, average_tensor) reduces on the stream of the layers.
TEST(Sharding, WithoutOverlapLayersWaitForEachBucket) {
    for (const Sharding sharding : {Sharding::zero2, Sharding::zero3})
        for (const bool overlap : {false, true}) {
            const StepProgram step = build(sharded(sharding, 1, overlap));
            const Program& program = step.programs.front();
            const Hazards hazards(program);
            std::uint32_t behind = 0, waited = 0, reduction = 0;
            for (std::uint32_t i = 0; i < program.ops.size(); ++i) {
                const auto* c = std::get_if<Collective>(&program.ops[i].what);
                if (c != nullptr && c->kind == CollectiveKind::reduce_scatter) reduction = i;
                if (!std::holds_alternative<Call>(program.ops[i].what) || reduction == 0) continue;
                ++behind;
                waited += std::ranges::count(hazards.of(i), reduction) > 0 ? 1 : 0;
                reduction = 0;
            }
            ASSERT_GT(behind, 0U);
            EXPECT_EQ(waited, overlap ? 0 : behind) << (sharding == Sharding::zero2 ? "zero2" : "zero3");
        }
}

/// No gradient stays whole until the end of the step.
TEST(Sharding, WithoutOverlapNoMoreIsKept) {
    for (const std::uint32_t pipeline : {1U, 2U})
        for (const Sharding sharding : {Sharding::zero2, Sharding::zero3}) {
            const StepProgram turns = build(sharded(sharding, pipeline, false)),
                              beside = build(sharded(sharding, pipeline, true));
            for (std::uint32_t role = 0; role < turns.programs.size(); ++role)
                EXPECT_LE(memory(turns, role).peak, memory(beside, role).peak);
        }
}

/// Section 5.3, and Zhao et al. 2023, section 3.2.1: weights are gathered for every forward and every backward.
TEST(Sharding, ZeRO3GathersForEveryUse) {
    const Plan plan = sharded(Sharding::zero3, 2);
    const std::uint64_t bytes = parameters(plan, 0) * 2;
    EXPECT_EQ(moved(build(plan).programs[0]), (std::map<CollectiveKind, std::uint64_t>{
                                                  {CollectiveKind::reduce_scatter, plan.micro_batches() * bytes},
                                                  {CollectiveKind::all_gather, 2 * plan.micro_batches() * bytes}}));
}

/// Gradients of weights alone need no weights.
TEST(Sharding, WeightGradientsGatherNothing) {
    Plan plan = sharded(Sharding::zero3, 2);
    const auto usual = moved(build(plan).programs[0]);
    plan.strategy.schedule = ScheduleKind::zb_h1;
    EXPECT_EQ(moved(build(plan).programs[0]), usual);
}

/// Call k reads weights whose gathering waited for call k - 2: beside call k - 1, and no sooner.
TEST(Sharding, GatheringsRunOneCallAhead) {
    Plan plan = sharded(Sharding::zero3);
    plan.model.tied_embeddings = false;
    const StepProgram step = build(plan);
    const Program& program = step.programs.front();
    std::vector<const Op*> calls, gathers;
    for (const Op& op : program.ops) {
        if (std::holds_alternative<Call>(op.what)) calls.push_back(&op);
        if (const auto* c = std::get_if<Collective>(&op.what); c != nullptr && c->kind == CollectiveKind::all_gather)
            gathers.push_back(&op);
    }
    ASSERT_EQ(calls.size(), gathers.size());
    const auto shares = [](std::span<const BufferId> a, std::span<const BufferId> b) {
        return std::ranges::find_first_of(a, b) != a.end();
    };
    for (std::size_t k = 0; k < calls.size(); ++k) {
        EXPECT_TRUE(shares(program.writes(*gathers[k]), program.reads(*calls[k]))) << k;
        if (k >= 2) {
            EXPECT_TRUE(shares(program.writes(*calls[k - 2]), program.reads(*gathers[k]))) << k;
        }
        if (k >= 1) {
            EXPECT_FALSE(shares(program.writes(*calls[k - 1]), program.reads(*gathers[k]))) << k;
            EXPECT_LT(gathers[k], calls[k - 1]) << "the host begins it first";
        }
    }
}

/// The layer of words that logits read too is gathered once a micro-batch, and there until its backward.
TEST(Sharding, LogitsReadTheWordsThatTheEmbeddingGathered) {
    const Plan plan = sharded(Sharding::zero3);
    const StepProgram step = build(plan);
    const Program& program = step.programs.front();
    std::map<std::int32_t, std::size_t> gathers;  // by layer
    std::map<BufferId, std::vector<std::int32_t>> readers;
    for (const Op& op : program.ops) {
        const auto* c = std::get_if<Collective>(&op.what);
        if (c != nullptr && c->kind == CollectiveKind::all_gather) {
            ++gathers[op.label.layer];
            if (op.label.layer == -1) readers[program.writes(op).front()];
        }
        if (!std::holds_alternative<Call>(op.what)) continue;
        for (const BufferId id : program.reads(op))
            if (const auto words = readers.find(id); words != readers.end()) words->second.push_back(op.label.layer);
    }
    EXPECT_EQ(gathers.at(-1), plan.micro_batches());
    EXPECT_EQ(gathers.at(0), 2 * plan.micro_batches());
    const auto head = static_cast<std::int32_t>(plan.model.layers);
    for (const auto& [id, layers] : readers) EXPECT_EQ(layers, (std::vector<std::int32_t>{-1, head, head, -1}));
}

TEST(Sharding, MemoryIsSharesAndWhatIsUsed) {
    const Plan plan = sharded(Sharding::zero3);
    StepProgram blocks_step;
    Intern intern(blocks_step);
    const ModelBlocks blocks = add_model_blocks(blocks_step, intern, plan);
    const std::uint64_t all = parameters(plan, 0), layer = blocks.of("block").plain.counts.trained,
                        embedding = blocks.of("embedding").plain.counts.trained;
    const auto peak = [](const Plan& of) { return memory(build(of), 0); };
    const StageMemory whole = peak(sharded(Sharding::none)), shares = peak(plan);
    const auto at = [](const StageMemory& memory, Keep keep) { return memory.at_peak[static_cast<std::size_t>(keep)]; };
    EXPECT_EQ(at(whole, Keep::weight), 2 * all);
    EXPECT_GE(at(shares, Keep::weight), 2 * all / 4 + 2 * layer);
    EXPECT_LE(at(shares, Keep::weight), 2 * all / 4 + 2 * (2 * layer + embedding))
        << "two layers at a time, beside the words";
    EXPECT_LE(at(shares, Keep::gradient), 2 * all / 4 + 2 * (layer + embedding));
    EXPECT_EQ(at(shares, Keep::optimizer), at(whole, Keep::optimizer) / 4);
    EXPECT_LT(peak(sharded(Sharding::zero2)).peak, peak(sharded(Sharding::zero1)).peak);
    EXPECT_LT(shares.peak, peak(sharded(Sharding::zero2)).peak);
}

}  // namespace
}  // namespace orrery::strategies
