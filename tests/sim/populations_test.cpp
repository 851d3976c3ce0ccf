// Ranks counted by role and kind of GPU, against one by one.
#include "sim/populations.hpp"

#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <random>

#include "tests/sim/bench.hpp"
#include "topology/catalog.hpp"

namespace orrery::sim {
namespace {

TEST(Populations, AreThoseOfEveryRankCounted) {
    const topology::Cluster cluster =
        topology::build({.preset = "dgx-a100", .nodes = 2, .more_nodes = {"2 x H100", "1 x A100-80GB"}});
    const Kinds kinds(cluster, Profiles({{"A100-SXM4-80GB", &profiles().find("a100")},
                                         {"H100-SXM5-80GB", &profiles().find("h100")}}));
    std::mt19937 random(1);
    std::vector<std::uint32_t> gpus(cluster.gpus());
    std::iota(gpus.begin(), gpus.end(), 0U);
    for (int i = 0; i < 8; ++i) {
        strategies::StepProgram step;
        for (const std::uint32_t gpu : gpus) step.role.push_back(static_cast<std::uint16_t>(gpu * 3 / cluster.gpus()));
        const strategies::RankPlacement placement(gpus);
        std::map<std::pair<std::uint32_t, std::uint32_t>, Population> counted;
        for (std::uint32_t rank = 0; rank < gpus.size(); ++rank) {
            const std::uint32_t role = step.role[rank], kind = kinds.of(placement.gpu(rank));
            ++counted.try_emplace({role, kind}, Population{role, kind, rank, 0}).first->second.ranks;
        }
        const std::vector<Population> found = populations(step, placement, kinds);
        ASSERT_EQ(found.size(), counted.size());
        std::uint32_t first = 0;
        for (const Population& each : found) {
            const Population& same = counted.at({each.role, each.kind});
            EXPECT_EQ(each.ranks, same.ranks);
            EXPECT_EQ(each.first, same.first);
            EXPECT_GE(each.first, std::exchange(first, each.first));
        }
        std::shuffle(gpus.begin(), gpus.end(), random);
    }
}

}  // namespace
}  // namespace orrery::sim
