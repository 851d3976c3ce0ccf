#include "topology/cluster_key.hpp"

#include <gtest/gtest.h>

namespace orrery::topology {
namespace {

TEST(ClusterKey, IsOfEqualClustersAlone) {
    ClusterSpec one, other;
    EXPECT_EQ(cluster_key(one), cluster_key(other));
    one.failed = {"leaf0"};
    other.more_nodes = {"leaf0"};
    EXPECT_NE(cluster_key(one), cluster_key(other));
}

/// Callers put more behind it.
TEST(ClusterKey, EndsBeforeWhatFollows) {
    ClusterSpec one, other;
    one.aws_ofi_nccl_version = "1.7.3";
    other.aws_ofi_nccl_version = "1.7.36";
    EXPECT_NE(cluster_key(one) + "64", cluster_key(other) + "4");
}

}  // namespace
}  // namespace orrery::topology
