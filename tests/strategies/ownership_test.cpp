// The table of ownership and the collectives that follow from it, against what papers and Megatron-LM say.
#include "strategies/ownership.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "strategies/build.hpp"
#include "tests/strategies/tiny_plan.hpp"

namespace orrery::strategies {
namespace {

using kernels::CollectiveKind;
using enum ParameterClass;
using enum Placement;

/// 2 tensor ranks, 2 stages, 8 data ranks of which 4 divide the experts: a mesh of 2 x 4 x 2 x 2.
Plan with_experts(Sharding sharding) {
    Plan plan = tiny_plan(2, 2, 8);
    plan.model.experts = 8;
    plan.model.experts_per_token = 2;
    plan.model.expert_ffn = 256;
    plan.model.moe_layer_freq = 1;
    plan.strategy.expert = 4;
    plan.strategy.sequence_parallel = true;
    plan.strategy.sharding = sharding;
    return plan;
}

/// "reduce_scatter over expert+data", one after the other; with what is split already.
std::string text(const std::vector<Move>& list) {
    std::string text;
    for (const Move& move : list) {
        text += (text.empty() ? "" : ", ") + std::string(kernels::name(move.kind)) + " over " + to_text(move.group);
        if (move.split != AxisSet{}) text += " of parts along " + to_text(move.split);
    }
    return text;
}

struct Conversions {
    std::string behind_backward, before_update, behind_update, before_use;
    bool operator==(const Conversions&) const = default;
    friend void PrintTo(const Conversions& c, std::ostream* out) {
        *out << "{\"" << c.behind_backward << "\", \"" << c.before_update << "\", \"" << c.behind_update << "\", \""
             << c.before_use << "\"}";
    }
};

Conversions conversions(const Plan& plan, ParameterClass of) {
    const Ownership o = ownership(plan, of);
    const auto along = [&](const Along& from, const Along& to) {
        return text(moves(plan.mesh(), from, to, o.replicas));
    };
    return {along(o.formed, o.gradients), along(o.gradients, o.states), along(o.states, o.weights),
            along(o.weights, o.used)};
}

/// Li et al. 2020 (DDP); Rajbhandari et al. 2020, section 5 and figure 1; Zhao et al. 2023 (FSDP), section 3.2.
TEST(Ownership, ShardingsMoveWhatTheirPapersSay) {
    const auto of = [](Sharding sharding) {
        Plan plan = tiny_plan(1, 1, 4);
        plan.strategy.sharding = sharding;
        return conversions(plan, dense);
    };
    EXPECT_EQ(of(Sharding::none), (Conversions{"", "all_reduce over data", "", ""}));
    EXPECT_EQ(of(Sharding::zero1), (Conversions{"", "reduce_scatter over data", "all_gather over data", ""}));
    EXPECT_EQ(of(Sharding::zero2), (Conversions{"reduce_scatter over data", "", "all_gather over data", ""}));
    EXPECT_EQ(of(Sharding::zero3), (Conversions{"reduce_scatter over data", "", "", "all_gather over data"}));
}

/// Dense parameters have the ranks of an expert group as replicas too, experts have not.
TEST(Ownership, ExpertsHaveFewerReplicas) {
    EXPECT_EQ(conversions(with_experts(Sharding::zero1), dense),
              (Conversions{"", "reduce_scatter over expert+data", "all_gather over expert+data", ""}));
    EXPECT_EQ(conversions(with_experts(Sharding::zero1), expert),
              (Conversions{"", "reduce_scatter over data", "all_gather over data", ""}));
    EXPECT_EQ(conversions(with_experts(Sharding::none), expert), (Conversions{"", "all_reduce over data", "", ""}));
    Plan alone = with_experts(Sharding::zero1);
    alone.strategy.expert = 8;
    EXPECT_EQ(conversions(alone, expert), (Conversions{})) << "each expert has one rank";
}

/// FSDP's HYBRID_SHARD (Zhao et al. 2023, section 3.2.2): scatter in the near group, then sum each part over the
/// others.
TEST(Ownership, HybridShardingReducesPartsOverTheRest) {
    Plan plan = tiny_plan(1, 1, 8);
    plan.strategy.sharding = Sharding::zero3;
    plan.strategy.optimizer_instances = 2;
    EXPECT_EQ(conversions(plan, dense),
              (Conversions{"reduce_scatter over data, all_reduce over replica of parts along data", "", "",
                           "all_gather over data"}));
    const Ownership o = ownership(plan, dense);
    const auto scatter = moves(plan.mesh(), o.formed, o.gradients, o.replicas);
    EXPECT_EQ(scatter.back().size(plan.mesh(), 4000), 1000U);
    EXPECT_EQ(share(plan.mesh(), o, o.states, 4000), 1000U);
}

/// MiCS (Zhang et al. 2022, section 3.4), FSDP's set_requires_all_reduce(False): the second hop is once a step.
TEST(Ownership, TwoHopsSumPartsOverGroupsOnceAStep) {
    Plan plan = tiny_plan(1, 1, 8);
    plan.strategy.optimizer_instances = 2;
    plan.strategy.gradient_syncs = GradientSyncs::two_hop;
    for (const Sharding sharding : {Sharding::zero2, Sharding::zero3}) {
        plan.strategy.sharding = sharding;
        const Conversions found = conversions(plan, dense);
        EXPECT_EQ(found.behind_backward, "reduce_scatter over data");
        EXPECT_EQ(found.before_update, "all_reduce over replica of parts along data");
        EXPECT_NO_THROW(validate(plan));
    }
    plan.strategy.optimizer_instances = 1;
    EXPECT_THROW(validate(plan), Error);
    plan.strategy.optimizer_instances = 2;
    plan.strategy.sharding = Sharding::zero1;
    EXPECT_THROW(validate(plan), Error);
}

/// Megatron-LM's num_distributed_optimizer_instances (distributed_data_parallel.py): scattered inside an instance, then
/// summed over instances.
TEST(Ownership, InstancesOfTheOptimizerScatterAndThenReduce) {
    Plan plan = with_experts(Sharding::zero1);
    plan.strategy.optimizer_instances = 2;
    EXPECT_EQ(conversions(plan, dense),
              (Conversions{"", "reduce_scatter over expert+data, all_reduce over replica of parts along expert+data",
                           "all_gather over expert+data", ""}));
    EXPECT_EQ(conversions(plan, expert), (Conversions{"", "all_reduce over replica", "", ""}));
    plan.strategy.data = 16;
    EXPECT_EQ(conversions(plan, expert),
              (Conversions{"", "reduce_scatter over data, all_reduce over replica of parts along data",
                           "all_gather over data", ""}));
}

/// Ranks that share sequences hold the same parameters (Megatron-LM's dp-cp group); experts are divided among them
/// first.
TEST(Ownership, ContextRanksAreReplicas) {
    Plan plan = tiny_plan(2, 2, 4);
    plan.strategy.context = 2;
    plan.strategy.sharding = Sharding::zero1;
    EXPECT_EQ(conversions(plan, dense),
              (Conversions{"", "reduce_scatter over context+data", "all_gather over context+data", ""}));
    EXPECT_EQ(plan.ranks(), 32U);
    Plan experts = with_experts(Sharding::zero1);
    experts.strategy.context = 2;
    EXPECT_EQ(to_text(experts.expert_group()), "context+expert");
    EXPECT_EQ(experts.mesh().along(Axis::expert), 2U);
    EXPECT_EQ(conversions(experts, dense),
              (Conversions{"", "reduce_scatter over context+expert+data", "all_gather over context+expert+data", ""}));
    EXPECT_EQ(conversions(experts, expert), (Conversions{"", "reduce_scatter over data", "all_gather over data", ""}));
    experts.strategy.expert = 1;
    EXPECT_EQ(conversions(experts, expert),
              (Conversions{"", "reduce_scatter over context+data", "all_gather over context+data", ""}));
}

/// Bytes on the wire: ZeRO-1 and 2 as an all-reduce, ZeRO-3 half as much again (Rajbhandari et al. 2020, section 7).
TEST(Ownership, WireBytesAreThoseOfZeRO) {
    const auto wire = [](Sharding sharding) {
        Plan plan = tiny_plan(1, 1, 4);
        plan.strategy.sharding = sharding;
        const Ownership o = ownership(plan, dense);
        double sum = 0;
        const auto add = [&](const Along& from, const Along& to, double times) {
            for (const Move& move : moves(plan.mesh(), from, to, o.replicas))
                sum += times * kernels::bus_factor(move.kind, plan.mesh().group_size(move.group));
        };
        add(o.formed, o.gradients, 1);
        add(o.gradients, o.states, 1);
        add(o.states, o.weights, 1);
        add(o.weights, o.used, 2);  // forward and backward
        return sum;
    };
    const double all_reduce = kernels::bus_factor(CollectiveKind::all_reduce, 4);
    EXPECT_DOUBLE_EQ(wire(Sharding::none), all_reduce);
    EXPECT_DOUBLE_EQ(wire(Sharding::zero1), all_reduce);
    EXPECT_DOUBLE_EQ(wire(Sharding::zero2), all_reduce);
    EXPECT_DOUBLE_EQ(wire(Sharding::zero3), 1.5 * all_reduce);
}

/// Rajbhandari et al. 2020, figure 1: of 2 + 2 + 12 bytes a parameter, 64 ranks keep 16, 4.2, 2.2 and 0.25 (at 7.5 B
/// parameters 120, 31.4, 16.6 and 1.9 GB).
TEST(Ownership, MemoryIsThatOfZeRO) {
    constexpr std::uint64_t parameters = 7'500'000'000;
    const auto gigabytes = [](Sharding sharding) {
        Plan plan = tiny_plan(1, 1, 64);
        plan.strategy.sharding = sharding;
        const Ownership o = ownership(plan, dense);
        const auto bytes = [&](const Along& column, std::uint64_t each) {
            return share(plan.mesh(), o, column, each * parameters);
        };
        return static_cast<double>(bytes(o.weights, 2) + bytes(o.gradients, 2) + bytes(o.states, 12)) / 1e9;
    };
    EXPECT_NEAR(gigabytes(Sharding::none), 120, 0.05);
    EXPECT_NEAR(gigabytes(Sharding::zero1), 31.4, 0.05);
    EXPECT_NEAR(gigabytes(Sharding::zero2), 16.6, 0.05);
    EXPECT_NEAR(gigabytes(Sharding::zero3), 1.9, 0.05);
}

/// Megatron-LM's allreduce_layernorm_grads: each tensor rank has seen only its part of the sequence.
TEST(Ownership, NormsAreSummedOverTensorRanksUnderSequenceParallelism) {
    Plan plan = tiny_plan(4, 1, 2);
    const auto over_tensor = [&](ParameterClass of) {
        const Ownership o = ownership(plan, of);
        return text(moves(plan.mesh(), o.gradients, o.states, {Axis::tensor}));
    };
    EXPECT_EQ(over_tensor(norm), "");
    plan.strategy.sequence_parallel = true;
    EXPECT_EQ(over_tensor(norm), "all_reduce over tensor");
    EXPECT_EQ(over_tensor(dense), "");
    EXPECT_EQ(over_tensor(embedding), "");
}

TEST(Ownership, TiedEmbeddingsAreSummedAlongThePipeline) {
    Plan plan = tiny_plan(1, 4, 2);
    const auto along_pipeline = [&](ParameterClass of) {
        const Ownership o = ownership(plan, of);
        return text(moves(plan.mesh(), o.gradients, o.states, {Axis::pipeline}));
    };
    EXPECT_EQ(along_pipeline(embedding), "all_reduce over pipeline");
    EXPECT_EQ(along_pipeline(dense), "");
    plan.model.tied_embeddings = false;
    EXPECT_EQ(along_pipeline(embedding), "");
}

TEST(Ownership, OneReplicaShardsNothing) {
    for (const ShardingRow& row : shardings) {
        Plan plan = tiny_plan(2, 2, 1);
        plan.strategy.sharding = row.kind;
        for (const ParameterClass of : parameter_classes) {
            EXPECT_EQ(conversions(plan, of), Conversions{}) << row.name;
            const Ownership o = ownership(plan, of);
            EXPECT_EQ(share(plan.mesh(), o, o.states, 1000), 1000U);
        }
        EXPECT_EQ(updates_differ(plan), (AxisSet{Axis::tensor, Axis::pipeline}));
    }
}

TEST(Ownership, NumbersAboutAllGradientsAreSummedWhereUpdatesDiffer) {
    using enum Axis;
    const auto differ = [](Sharding sharding) { return updates_differ(with_experts(sharding)); };
    EXPECT_EQ(differ(Sharding::none), (AxisSet{tensor, Axis::expert, pipeline}));
    EXPECT_EQ(differ(Sharding::zero1), (AxisSet{tensor, Axis::expert, data, pipeline}));
    Plan plan = tiny_plan(1, 1, 4);
    plan.strategy.sharding = Sharding::zero1;
    EXPECT_EQ(updates_differ(plan), (AxisSet{tensor, data, pipeline}));
}

}  // namespace
}  // namespace orrery::strategies
