// How many nodes make so many GPUs.
#include "scenarios/cluster_size.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "scenarios/scenario.hpp"

namespace orrery::scenarios {
namespace {

TEST(ClusterSize, CountsNodesThatAreBegun) {
    const ClusterSize alike{.gpus_per_node = 8};
    for (const auto& [gpus, nodes] : {std::pair(1U, 1U), {8U, 1U}, {9U, 2U}, {64U, 8U}})
        EXPECT_EQ(alike.nodes_for(gpus), nodes) << gpus;
}

TEST(ClusterSize, NodesOfOtherGpusAreAmongThem) {
    const ClusterSize mixed{.gpus_per_node = 8, .more_nodes = 2};
    EXPECT_EQ(mixed.nodes_for(32), 2U);
    EXPECT_EQ(mixed.nodes_for(24), 1U);
    EXPECT_THROW((void)mixed.nodes_for(16), Error);
}

TEST(ClusterSize, IsThatOfACluster) {
    const ClusterSize size = size_of(load_cluster("scenarios/gpt-1.3b-a100-h100.json"));
    EXPECT_EQ(size.gpus_per_node, 8U);
    EXPECT_EQ(size.more_nodes, 2U);
}

}  // namespace
}  // namespace orrery::scenarios
