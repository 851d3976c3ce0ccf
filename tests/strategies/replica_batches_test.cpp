// Data ranks that take unequal numbers of micro-batches.
#include "strategies/replica_batches.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "strategies/build.hpp"
#include "strategies/memory.hpp"
#include "tests/strategies/tiny_plan.hpp"

namespace orrery::strategies {
namespace {

using Counts = std::vector<std::uint32_t>;

/// Two data ranks with a list, whose step has `all` micro-batches.
Plan plan_of(const std::string& list, std::uint32_t all, std::uint32_t data = 2, std::uint32_t pipeline = 1,
             std::uint32_t tensor = 1) {
    Plan plan = tiny_plan(tensor, pipeline, data);
    plan.training.global_batch = all * plan.training.micro_batch;
    plan.strategy.replica_micro_batches = list;
    return plan;
}

Counts each(const Plan& plan) {
    validate(plan);
    const ReplicaCounts counts = replica_counts(plan);
    Counts list;
    for (std::uint32_t rank = 0; rank < plan.strategy.data; ++rank) list.push_back(counts.of(rank));
    return list;
}

TEST(ReplicaBatches, ListsAndRunsSayTheSame) {
    EXPECT_EQ(each(plan_of("3,3,1,1", 8, 4)), (Counts{3, 3, 1, 1}));
    EXPECT_EQ(each(plan_of("2x3,2x1", 8, 4)), (Counts{3, 3, 1, 1}));
    EXPECT_EQ(each(plan_of("1,2x3,1", 8, 4)), (Counts{1, 3, 3, 1}));
    EXPECT_EQ(each(plan_of("", 8, 4)), (Counts{2, 2, 2, 2}));
    EXPECT_EQ(replica_counts(plan_of("1,2x3,1", 8, 4)).distinct, (Counts{1, 3}));
    EXPECT_EQ(plan_of("1,2x3,1", 8, 4).micro_batches(), 3U) << "those of the ranks that take most";
    EXPECT_EQ(plan_of("1,2x3,1", 8, 4).all_micro_batches(), 8U);
}

std::string refusal(const Plan& plan) {
    try {
        validate(plan);
        return "";
    } catch (const Error& error) {
        EXPECT_FALSE(error.hint().empty()) << error.message();
        return std::string(error.pointer()) + ": " + error.message();
    }
}

TEST(ReplicaBatches, WhatIsNoListIsRefused) {
    const std::string key = "/strategy/replica_micro_batches: ";
    const std::string whale = " (Jia et al., USENIX ATC'22, section 3.3 (Whale))";
    for (const char* text : {"two", "3,", ",3", "3,3,1,1,", "2x", "x3", "2x3x1", "0x5,2x4", "-1,9", "3;5", "3, 5",
                             "1e1", "4294967296x1", "99999999999999999999"})
        EXPECT_NE(refusal(plan_of(text, 8)).find(key + '"' + text + "\" is no list of numbers"), std::string::npos)
            << text << ": " << refusal(plan_of(text, 8));
    EXPECT_EQ(refusal(plan_of("3,3,2", 8)), key + "3 numbers for 2 data ranks" + whale);
    EXPECT_EQ(refusal(plan_of("4294967295x1", 8)), key + "4294967295 numbers for 2 data ranks" + whale);
    EXPECT_EQ(refusal(plan_of("4294967295x4294967295", 8)), key + "numbers out of range (a limit of this simulator)");
    EXPECT_EQ(refusal(plan_of("8,0", 8)), key + "a data rank takes no micro-batch" + whale);
    EXPECT_EQ(refusal(plan_of("5,4", 8)), key + "9 micro-batches of 2 are not the 16 sequences of a step" + whale);
    Plan odd = plan_of("5,3", 8);
    ++odd.training.global_batch;
    EXPECT_EQ(refusal(odd), key + "8 micro-batches of 2 are not the 17 sequences of a step" + whale);
}

/// Each by its own key; the same plans with equal numbers are accepted.
TEST(ReplicaBatches, WhatLetsDataRanksMeetInEachMicroBatchIsRefused) {
    const std::vector<std::pair<const char*, void (*)(Plan&)>> changes{
        {"/strategy/sharding", [](Plan& p) { p.strategy.sharding = Sharding::zero2; }},
        {"/strategy/sharding", [](Plan& p) { p.strategy.sharding = Sharding::zero3; }},
        {"/strategy/sharding",
         [](Plan& p) {  // reduced once, its weights are gathered again and again
             p.strategy.sharding = Sharding::zero3;
             p.strategy.gradient_syncs = GradientSyncs::step;
         }},
        {"/strategy/compression", [](Plan& p) { p.strategy.compression = Compression::onebit_adam; }},
        {"/training/broadcast_data", [](Plan& p) { p.training.broadcast_data = true; }},
        {"/strategy/expert",
         [](Plan& p) {
             const Plan experts = moe_plan(1, 1, 2, 2);
             p.model = experts.model;
             p.strategy.expert = 2;
         }},
        {"/strategy/schedule",
         [](Plan& p) {
             p.strategy.schedule = ScheduleKind::pipedream;
             p.model.tied_embeddings = false;
         }},
    };
    for (const auto& [pointer, change] : changes) {
        Plan plan = plan_of("4,4", 8);
        change(plan);
        EXPECT_EQ(refused_at(plan), "accepted") << pointer;
        plan.strategy.replica_micro_batches = "5,3";
        EXPECT_EQ(refused_at(plan), pointer);
    }
}

TEST(ReplicaBatches, EachNumberMeetsTheSchedulesDemand) {
    Plan plan = plan_of("6,2", 8, 2, 2);
    plan.strategy.schedule = ScheduleKind::interleaved;
    plan.strategy.virtual_pipeline = 2;
    EXPECT_EQ(refused_at(plan), "accepted");
    plan.strategy.replica_micro_batches = "5,3";
    EXPECT_EQ(refusal(plan),
              "/strategy/replica_micro_batches: 5 micro-batches are not divisible by 2, as interleaved needs "
              "(Megatron-LM, megatron/core/pipeline_parallel/schedules.py)");
    plan = plan_of("6,2", 8, 2, 2);
    plan.strategy.schedule = ScheduleKind::dual_pipe;
    EXPECT_EQ(refusal(plan),
              "/strategy/replica_micro_batches: 2 micro-batches, fewer than the 4 that dualpipe needs "
              "(deepseek-ai/DualPipe, dualpipe.py and dualpipev.py)");
}

TEST(ReplicaBatches, TooManyProgramsAreRefused) {
    std::string list;
    std::uint32_t sum = 0;
    for (std::uint32_t count = 1; count <= 800; ++count) {
        list += (list.empty() ? "" : ",") + std::to_string(count);
        sum += count;
    }
    EXPECT_NE(refusal(plan_of(list, sum, 800)).find("800 different numbers make too many programs"), std::string::npos);
}

/// Programs, role by role, as text.
std::vector<std::string> texts(const StepProgram& step) {
    std::vector<std::string> all;
    for (std::uint32_t role = 0; role < step.programs.size(); ++role) all.push_back(to_text(step, role));
    return all;
}

TEST(ReplicaBatches, EqualNumbersAreThePlanWithoutThem) {
    for (const std::uint32_t pipeline : {1U, 4U}) {
        const Plan listed = plan_of("16,16", 32, 2, pipeline), plain = plan_of("", 32, 2, pipeline);
        validate(listed);
        EXPECT_FALSE(unequal_replicas(listed));
        EXPECT_EQ(texts(build(listed)), texts(build(plain)));
        EXPECT_EQ(build(listed).role, build(plain).role);
        const auto shorter = build_shortened(listed, 10), plainly = build_shortened(plain, 10);
        ASSERT_TRUE(shorter && plainly);
        EXPECT_EQ(texts(*shorter), texts(*plainly));
    }
}

/// The programs of a pipeline's stages are those of a plan whose ranks all take as many.
TEST(ReplicaBatches, ARankRunsTheProgramOfItsOwnNumber) {
    const StepProgram step = build(plan_of("1,2x5,1", 12, 4, 2, 2));
    ASSERT_EQ(step.programs.size(), 4U);
    EXPECT_EQ(step.programs_of_stage(), 2U);
    EXPECT_EQ(step.programs[0].name, "stage 0, 1 micro-batches");
    EXPECT_EQ(step.programs[3].name, "stage 1, 5 micro-batches");
    for (std::uint32_t rank = 0; rank < step.role.size(); ++rank) {
        const std::uint32_t stage = step.mesh.coordinate(rank, Axis::pipeline), data = step.mesh.data_rank(rank);
        EXPECT_EQ(step.role[rank], 2 * stage + (data == 1 || data == 2 ? 1 : 0)) << rank;
    }
    for (const std::uint32_t count : {1U, 5U}) {
        const StepProgram alike = build(plan_of("", 4 * count, 4, 2, 2));
        for (std::uint32_t stage = 0; stage < 2; ++stage)
            EXPECT_EQ(step.programs[2 * stage + (count == 5 ? 1 : 0)].ops.size(), alike.programs[stage].ops.size());
    }
    EXPECT_FALSE(build_shortened(plan_of("60,68", 128, 2, 2), 10)) << "no round that all ranks have in common";
}

/// FLOPs of the kernels of all ranks.
double flops_of_all_ranks(const StepProgram& step) {
    const StepProgram flat = unrolled(step);
    std::vector<double> of_role;
    for (const Program& program : flat.programs) {
        double sum = 0;
        for (const Op& op : program.ops)
            if (const auto* compute = std::get_if<Compute>(&op.what))
                sum += kernels::flops(flat.kernels[compute->kernel]);
        of_role.push_back(sum);
    }
    double all = 0;
    for (const std::uint16_t role : flat.role) all += of_role[role];
    return all;
}

/// Bytes of each reduction of gradients over data ranks, by role.
std::vector<std::multiset<std::uint64_t>> reductions(const StepProgram& step) {
    std::vector<std::multiset<std::uint64_t>> all;
    for (const Program& program : step.programs) {
        std::multiset<std::uint64_t> sizes;
        for (const Op& op : program.ops)
            if (const auto* collective = std::get_if<Collective>(&op.what))
                if (op.label.phase == Phase::gradient && collective->group.has(Axis::data))
                    sizes.insert(collective->bytes);
        all.push_back(std::move(sizes));
    }
    return all;
}

/// What sums of gradients are multiplied by, in any role.
std::set<double> scales(const StepProgram& step) {
    std::set<double> all;
    for (const Program& program : step.programs)
        for (const StateDetail& detail : program.state_details)
            if (detail.settings.scale_factor) all.insert(*detail.settings.scale_factor);
    return all;
}

struct Shape {
    ScheduleKind schedule;
    std::uint32_t pipeline, chunks, fewer, more;
};
constexpr Shape shapes[] = {
    {ScheduleKind::one_f_one_b, 1, 1, 1, 5},  {ScheduleKind::one_f_one_b, 2, 1, 1, 4},
    {ScheduleKind::gpipe, 2, 1, 2, 5},        {ScheduleKind::interleaved, 2, 2, 2, 6},
    {ScheduleKind::zb_h1, 4, 1, 3, 9},        {ScheduleKind::zb_v, 2, 2, 1, 5},
    {ScheduleKind::v_half, 2, 2, 3, 5},       {ScheduleKind::v_min, 2, 2, 3, 5},
    {ScheduleKind::chimera, 4, 1, 4, 12},     {ScheduleKind::dual_pipe, 4, 1, 8, 14},
    {ScheduleKind::dual_pipe_v, 4, 2, 8, 13},
};

/// Sound programs, in which the same work is done as in equal shares, each gradient is summed once over data ranks, and
/// all are scaled by the whole step's micro-batches.
TEST(ReplicaBatches, TheStepComputesAndSumsTheSame) {
    for (const Shape& shape : shapes)
        for (const bool zero1 : {false, true})
            for (const bool beside : {false, true}) {
                SCOPED_TRACE(std::string(schedule_of(shape.schedule).name) + (zero1 ? " zero1" : "") +
                             (beside ? " beside" : ""));
                const std::uint32_t all = 2 * (shape.fewer + shape.more);
                Plan plan = plan_of("", all, 4, shape.pipeline, 2);
                plan.model.layers = 8;
                plan.strategy.schedule = shape.schedule;
                plan.strategy.virtual_pipeline = shape.chunks;
                plan.strategy.sharding = zero1 ? Sharding::zero1 : Sharding::none;
                plan.strategy.overlap_grad_reduce = beside;
                plan.strategy.overlap_param_gather = zero1 && beside;
                plan.strategy.bucket_bytes = 200'000;
                Plan equal = plan;
                plan.strategy.replica_micro_batches = std::to_string(shape.fewer) + ",2x" + std::to_string(shape.more) +
                                                      "," + std::to_string(shape.fewer);
                if (refused_at(equal) != "accepted") equal.training.global_batch = 4 * shape.fewer * 2;
                validate(plan);
                validate(equal);
                const StepProgram step = build(plan), alike = build(equal);
                EXPECT_EQ(verify(step), std::vector<std::string>{});
                if (equal.training.global_batch == plan.training.global_batch) {
                    const double flops = flops_of_all_ranks(alike);
                    EXPECT_NEAR(flops_of_all_ranks(step), flops, 1e-9 * flops);
                }
                const auto mine = reductions(step), theirs = reductions(alike);
                for (std::uint32_t role = 0; role < mine.size(); ++role)
                    EXPECT_EQ(mine[role], theirs[role / step.programs_of_stage()]) << role;
                EXPECT_EQ(scales(step), std::set<double>{1.0 / all});
            }
}

/// What a rank keeps for its backwards grows with what it takes until the pipeline is full.
TEST(ReplicaBatches, MemoryIsThatOfARanksOwnNumber) {
    const StepProgram step = build(plan_of("1,7", 8, 2, 4));
    EXPECT_LT(memory(step, 0).peak, memory(step, 1).peak);
    EXPECT_EQ(memory(step, 1).role, 1U);
    EXPECT_EQ(memory(step, 0).peak, memory(build(plan_of("", 2, 2, 4)), 0).peak);
    EXPECT_EQ(memory(step, 1).peak, memory(build(plan_of("", 14, 2, 4)), 0).peak);
}

TEST(ReplicaBatches, FirstReplicasKeepTheirShares) {
    const Plan fewer = first_replicas(plan_of("2x3,1,5", 12, 4), 3);
    validate(fewer);
    EXPECT_EQ(each(fewer), (Counts{3, 3, 1}));
    EXPECT_EQ(fewer.training.global_batch, 14U);
    EXPECT_EQ(each(first_replicas(plan_of("2x3,1,5", 12, 4), 2)), (Counts{3, 3}));
    EXPECT_EQ(each(replicas(plan_of("2x3,1,5", 12, 4), 1, 3)), (Counts{3, 1, 5}));
    EXPECT_EQ(replicas(plan_of("2x3,1,5", 12, 4), 3, 1).training.global_batch, 10U);
    EXPECT_EQ(first_replicas(plan_of("4x3", 12, 4), 1).training.global_batch, 6U);
    EXPECT_EQ(mean_share(plan_of("2x3,1,5", 12, 4)), 6);
}

/// A rank's group of those that keep the same shares is of ranks that take as many as it does, or of others.
TEST(ReplicaBatches, MeetInGroupsOfRanksThatTakeDifferentNumbers) {
    for (const char* const list : {"3,1,1,3", "3,3,1,1", "3,1,2,2", "2x1,4,2"})
        for (const Sharding sharding : {Sharding::none, Sharding::zero1}) {
            Plan plan = plan_of(list, 8, 4, 2);
            plan.strategy.sharding = sharding;
            plan.strategy.optimizer_instances = sharding == Sharding::none ? 1 : 2;
            EXPECT_EQ(refusal(plan), "");
            EXPECT_EQ(verify(build(plan)), std::vector<std::string>{}) << list;
        }
}

}  // namespace
}  // namespace orrery::strategies
