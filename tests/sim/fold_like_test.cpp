// Foldings of steps whose traffic is nearly that of another, against foldings of their own.
#include "sim/fold_like.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "sim/replay.hpp"
#include "strategies/build.hpp"
#include "tests/sim/bench.hpp"
#include "topology/catalog.hpp"

namespace orrery::sim {
namespace {

scenarios::Scenario on_nodes(std::uint32_t nodes, const std::string& preset, const std::string& strategy) {
    return small_scenario(fmt::format(R"({{"cluster": {{"preset": "{}", "nodes": {}}}, "strategy": {{{}}},
                                           "training": {{"global_batch_size": 96}}}})",
                                      preset, nodes, strategy));
}

struct Folded {
    explicit Folded(const scenarios::Scenario& scenario)
        : plan(scenario.plan),
          cluster(topology::build(scenario.cluster)),
          of_gpus(profiles().find(scenario.profile)),
          network(cluster, of_gpus),
          step(strategies::build(plan)),
          traffic(step, plan.placement),
          folding(fold_ranks(traffic, cluster, network, true)) {}

    [[nodiscard]] Replayed replayed(const Folding& by) const {
        const KindCosts costs(step, plan, network, BesideCollectives::slowed, &by);
        const auto engine = make_fluid_engine(by.capacities);
        return replay(step, costs, network, by, *engine);
    }

    strategies::Plan plan;
    topology::Cluster cluster;
    Profiles of_gpus;
    Network network;
    strategies::StepProgram step;
    Traffic traffic;
    std::shared_ptr<const Folding> folding;
};

/// The step of one scenario by the classes of another's, rank for rank.
void expect_same_step(const Folded& one, const Folded& other) {
    const auto alike = fold_like(*other.folding, one.traffic, one.network);
    ASSERT_NE(alike, nullptr);
    EXPECT_EQ(alike->traffic, one.traffic);
    const Replayed by_own = one.replayed(*one.folding), by_other = one.replayed(*alike);
    EXPECT_NEAR(by_other.end, by_own.end, 1e-12 * by_own.end);
    for (std::uint32_t rank = 0; rank < one.step.mesh.ranks(); ++rank) {
        const RankClass &mine = by_own.classes[one.folding->class_of[rank]],
                        &theirs = by_other.classes[alike->class_of[rank]];
        ASSERT_EQ(mine.role, theirs.role);
        ASSERT_EQ(mine.spans.size(), theirs.spans.size());
        for (std::size_t op = 0; op < mine.spans.size(); ++op) {
            ASSERT_NEAR(mine.spans[op].begin, theirs.spans[op].begin, 1e-12 * by_own.end) << rank << " " << op;
            ASSERT_NEAR(mine.spans[op].end, theirs.spans[op].end, 1e-12 * by_own.end) << rank << " " << op;
        }
    }
}

TEST(FoldLike, GroupsOfAllRanksTellNoneApart) {
    for (const char* preset : {"superpod-a100", "dgx-a100", "hgx-h100"})
        for (const char* shape :
             {R"("tensor": 8, "pipeline": 4, "data": 12)", R"("tensor": 2, "pipeline": 2, "data": 6)",
              R"("tensor": 8, "pipeline": 4, "data": 12, "schedule": "interleaved", "virtual_pipeline": 2)"}) {
            SCOPED_TRACE(fmt::format("{} on {}", shape, preset));
            const Folded plain(on_nodes(48, preset, shape));
            const Folded sharded(on_nodes(48, preset, std::string(shape) + R"(, "sharding": "zero1")"));
            EXPECT_NE(plain.traffic, sharded.traffic);
            expect_same_step(sharded, plain);
        }
}

TEST(FoldLike, OtherTrafficIsFoldedByItself) {
    const std::string shape = R"("tensor": 8, "pipeline": 4, "data": 12)";
    const Folded plain(on_nodes(48, "superpod-a100", shape));
    // A group of a replica's stages tells replicas apart.
    const Folded sharded(on_nodes(48, "superpod-a100", shape + R"(, "sharding": "zero1")"));
    EXPECT_EQ(fold_like(*sharded.folding, plain.traffic, plain.network), nullptr);
    const Folded longer(on_nodes(48, "superpod-a100", R"("tensor": 8, "pipeline": 2, "data": 24)"));
    EXPECT_EQ(fold_like(*longer.folding, plain.traffic, plain.network), nullptr);
    const auto nics = fold_ranks(plain.traffic, plain.cluster, plain.network, true, Binding::nics);
    EXPECT_EQ(fold_like(*nics, sharded.traffic, sharded.network), nullptr);
    const auto each = fold_ranks(plain.traffic, plain.cluster, plain.network, false);
    EXPECT_EQ(fold_like(*each, sharded.traffic, sharded.network), nullptr);
}

}  // namespace
}  // namespace orrery::sim
