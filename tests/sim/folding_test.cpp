#include "sim/folding.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "sim/link_pressure.hpp"
#include "sim/run_step.hpp"
#include "strategies/build.hpp"
#include "strategies/messages.hpp"
#include "tests/sim/bench.hpp"
#include "topology/catalog.hpp"

namespace orrery::sim {
namespace {

/// The folding of a scenario, and what it was made from.
struct Folded {
    explicit Folded(const scenarios::Scenario& scenario, bool fold = true)
        : cluster(topology::build(scenario.cluster)),
          network(cluster, profiles().find(scenario.profile)),
          step(strategies::build(scenario.plan)),
          shared(fold_ranks(step, cluster, network, fold)),
          folding(*shared) {}
    topology::Cluster cluster;
    Network network;
    strategies::StepProgram step;
    std::shared_ptr<const Folding> shared;
    const Folding& folding;
};

constexpr const char* sixteen_nodes =
    R"({"cluster": {"nodes": 16}, "strategy": {"tensor": 8, "pipeline": 4, "data": 4}})";

TEST(Folding, EveryRankIsInOneClassOfItsRole) {
    const Folded f(small_scenario(sixteen_nodes));
    std::vector<std::uint32_t> size(f.folding.classes.size());
    for (std::uint32_t rank = 0; rank < f.step.mesh.ranks(); ++rank) {
        const std::uint32_t number = f.folding.class_of[rank];
        ++size[number];
        EXPECT_EQ(f.folding.classes[number].role, f.step.role[rank]);
        EXPECT_LE(f.folding.classes[number].representative, rank);
    }
    for (std::size_t i = 0; i < size.size(); ++i) EXPECT_EQ(f.folding.classes[i].size, size[i]);
    EXPECT_EQ(std::accumulate(size.begin(), size.end(), 0U), 128U);
}

/// On a rail fabric without oversubscription the ranks of a stage are all alike.
TEST(Folding, ARailFabricFoldsEveryStageIntoOneClass) {
    EXPECT_EQ(Folded(small_scenario(sixteen_nodes)).folding.classes.size(), 4U);
}

TEST(Folding, UnfoldedEveryRankIsItsOwnClass) {
    const Folded f(small_scenario(), false);
    ASSERT_EQ(f.folding.classes.size(), 16U);
    for (std::uint32_t rank = 0; rank < 16; ++rank) {
        EXPECT_EQ(f.folding.class_of[rank], rank);
        EXPECT_EQ(f.folding.classes[rank].representative, rank);
    }
    for (const std::uint32_t members : f.folding.link_members) EXPECT_EQ(members, 1U);
}

TEST(Folding, AnEngineLinkHasTheCapacityOfOneOfItsLinks) {
    const Folded folded(small_scenario(sixteen_nodes)), unfolded(small_scenario(sixteen_nodes), false);
    const auto& links = folded.folding;
    ASSERT_EQ(links.capacities.size(), links.link_members.size());
    for (std::size_t i = 0; i < links.capacities.size(); ++i)
        EXPECT_EQ(links.capacities[i], folded.network.capacity(links.link_example[i]));
    EXPECT_EQ(std::accumulate(links.link_members.begin(), links.link_members.end(), std::size_t{0}),
              unfolded.folding.capacities.size());
    EXPECT_LT(links.capacities.size(), unfolded.folding.capacities.size());
}

/// Flow by flow, a class of links carries in all what its members carry unfolded.
TEST(Folding, FoldedFlowsLoadTheirLinksAsBefore) {
    const scenarios::Scenario scenario = small_scenario(sixteen_nodes);
    const topology::Cluster cluster = topology::build(scenario.cluster);
    const calibrate::Predictor& predictor = profiles().find(scenario.profile);
    const RanStep folded(scenario.plan, cluster, predictor),
        unfolded(scenario.plan, cluster, predictor, {.fold = false});
    double one = 0, other = 0;
    for (std::size_t i = 0; i < folded.link_bytes.size(); ++i)
        one += folded.link_bytes[i] * folded.folding->link_members[i];
    for (const double bytes : unfolded.link_bytes) other += bytes;
    EXPECT_GT(one, 0);
    EXPECT_NEAR(one, other, 1e-9 * other);
}

TEST(Folding, EveryChannelAndGroupHasARoute) {
    const Folded f(small_scenario());
    for (std::uint32_t number = 0; number < f.folding.classes.size(); ++number) {
        const auto& program = f.step.programs[f.folding.classes[number].role];
        for (const strategies::Op& op : program.ops) {
            const auto* send = std::get_if<strategies::Send>(&op.what);
            const auto* collective = std::get_if<strategies::Collective>(&op.what);
            const Traffic& traffic = f.folding.traffic;
            if (send != nullptr) {
                const Channel channel{send->axis, send->delta, strategies::carries_gradients(op.lane)};
                EXPECT_NE(f.folding.message(number, traffic.number(channel)), Folding::none);
            }
            if (collective != nullptr) {
                EXPECT_NE(f.folding.group(number, traffic.number(collective->group)), Folding::none);
            }
        }
    }
}

/// 128 nodes of one GPU on 64-port switches, whose uplinks are `ratio` times thinner than what comes from below.
topology::Cluster two_tiers(double ratio) {
    return topology::build({.preset = "ethernet",
                            .nodes = 128,
                            .gpu = "A100-80GB",
                            .gpus_per_node = 1,
                            .nics_per_node = 1,
                            .nic_bytes_per_second = 12.5e9,
                            .oversubscription = ratio});
}

/// Tiers of the links that stay when GPUs 0 .. senders - 1 send half way around the cluster.
std::set<std::uint32_t> tiers_kept(const topology::Cluster& cluster, std::uint32_t senders, bool contends = true) {
    const Network network(cluster, profiles().find("a100"));
    HopTable hops(cluster);
    for (std::uint32_t gpu = 0; gpu < senders; ++gpu) hops.add(gpu, (gpu + 64) % 128, contends);
    hops.drop_links(slack_links(hops, cluster, network));
    std::set<std::uint32_t> kept;
    for (std::uint32_t hop = 0; hop < hops.size(); ++hop)
        for (const std::uint32_t link : hops.links(hop)) kept.insert(cluster.link(hops.link(link)).tier);
    return kept;
}

TEST(LinkPressure, AFabricWithoutOversubscriptionIsSlack) {
    const std::set<std::uint32_t> kept = tiers_kept(two_tiers(1), 128);
    EXPECT_FALSE(kept.contains(2));
    EXPECT_TRUE(kept.contains(1)) << "NICs always bind";
}

TEST(LinkPressure, AnOversubscribedUplinkIsKept) { EXPECT_TRUE(tiers_kept(two_tiers(4), 128).contains(2)); }

TEST(LinkPressure, OneNicCannotFillAnUplink) { EXPECT_FALSE(tiers_kept(two_tiers(4), 1).contains(2)); }

TEST(LinkPressure, LinksThatNobodyContendsForStay) {
    EXPECT_TRUE(tiers_kept(two_tiers(1), 1, false).contains(2));
    EXPECT_FALSE(tiers_kept(two_tiers(1), 1).contains(2));
}

}  // namespace
}  // namespace orrery::sim
