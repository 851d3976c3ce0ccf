// /perturbations/background: what is read and written, the flows that come of it, what is refused and where.
#include "scenarios/background.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "scenarios/scenario.hpp"
#include "tests/scenarios/expect_error.hpp"
#include "topology/catalog.hpp"

namespace orrery::scenarios {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
using Kind = TrafficEnd::Kind;

TEST(Background, IsReadAndWritten) {
    const Background one = parse_background("node 4 nic 0 to node 9 nic 1 at 50 Gb/s from 1 s to 2 s");
    EXPECT_EQ(one, (Background{{Kind::nics, 4, 4, 0}, {Kind::nics, 9, 9, 1}, 6.25e9, {1, 2}}));
    EXPECT_EQ(parse_background(" gpus 0-7 to gpus 8-15 at 1 GB/s "),
              (Background{{Kind::gpus, 0, 7, 0}, {Kind::gpus, 8, 15, 0}, 1e9, {0, infinity}}));
    EXPECT_EQ(parse_background("node 16 to nodes 0-7 at 2 GB/s to 100 ms"),
              (Background{{Kind::nodes, 16, 16, 0}, {Kind::nodes, 0, 7, 0}, 2e9, {0, 0.1}}));
    for (const char* text :
         {"node 4 nic 0 to node 9 nic 1 at 50 Gb/s from 1 s to 2 s", "gpus 0-7 to gpus 8-15 at 8 Gb/s",
          "node 16 to nodes 0-7 at 0.1 Gb/s from 0.5 s", "gpu 3 to gpu 9 at 123.4567 Gb/s to 2 s"})
        EXPECT_EQ(to_text(parse_background(text)), text);
    const Background odd = parse_background("gpu 0 to gpu 8 at 1234567 B/s");
    EXPECT_EQ(parse_background(to_text(odd)), odd);
}

TEST(Background, NonsenseIsRefused) {
    for (const char* text :
         {"", "node 4 to node 9", "node 4 at 1 GB/s", "node 4 to node 9 at", "node 4 to node 9 at 0 GB/s",
          "node 4 to node 9 at 5", "node 4 to node 9 at fast", "node to node 9 at 1 GB/s", "4 to 9 at 1 GB/s",
          "node 4 to nodes 9-7 at 1 GB/s", "node 4 nic to node 9 nic 0 at 1 GB/s", "gpu 4 nic 0 to gpu 9 at 1 GB/s",
          "node -1 to node 2 at 1 GB/s", "node 4 to leaf 9 at 1 GB/s", "node 4 to node 9 at 1 GB/s from 2 s to 1 s"})
        EXPECT_TRUE(error_of([&] { (void)parse_background(text); })) << text;
}

topology::Cluster nodes(std::uint32_t count) {
    topology::ClusterSpec spec;
    spec.preset = "dgx-a100";
    spec.nodes = count;
    return topology::build(spec);
}

TEST(BackgroundFlows, PairRangesAndSpreadOverNics) {
    const topology::Cluster cluster = nodes(6);
    const auto flows = [&](const char* text) { return flows_of(parse_background(text), cluster); };
    const auto paired = flows("gpus 0-2 to gpus 8-10 at 1 GB/s");
    ASSERT_EQ(paired.size(), 3U);
    EXPECT_EQ(paired[2].from, 2U);
    EXPECT_EQ(paired[2].to, 10U);
    EXPECT_FALSE(paired[2].fabric_only);
    const auto many = flows("node 5 nic 3 to nodes 0-4 nic 3 at 1 GB/s");
    ASSERT_EQ(many.size(), 5U);
    EXPECT_EQ(many[4].from, 43U) << "GPU 3 of node 5 has NIC 3";
    EXPECT_EQ(many[4].to, 35U);
    EXPECT_TRUE(many[4].fabric_only);
    EXPECT_EQ(many[4].bytes_per_second, 1e9);
    const auto whole = flows("node 0 to node 1 at 8 GB/s from 1 s");
    ASSERT_EQ(whole.size(), 8U) << "one a NIC";
    EXPECT_EQ(whole[7].from, 7U);
    EXPECT_EQ(whole[7].to, 15U);
    EXPECT_EQ(whole[7].bytes_per_second, 1e9);
    EXPECT_EQ(whole[7].when.from, 1);
}

void expect_refused(const char* traffic, const char* mention) {
    SCOPED_TRACE(traffic);
    auto document = nlohmann::json::parse(R"({"model": {"name": "gpt2"}, "cluster": {"preset": "dgx-a100", "nodes": 2},
        "training": {"seq_length": 512, "global_batch_size": 16}})");
    document["perturbations"]["background"] = {"gpu 0 to gpu 8 at 1 GB/s", traffic};
    expect_error([&] { (void)from_json(document, "test.json"); }, "/perturbations/background/1", mention);
}

TEST(Background, MessagesNameThePlace) {
    expect_refused("gpu 0 to gpu 16 at 1 GB/s", "GPU 16 of 16");
    expect_refused("node 2 to node 0 at 1 GB/s", "node 2 of 2");
    expect_refused("node 0 nic 8 to node 1 nic 0 at 1 GB/s", "NIC 8 of 8");
    expect_refused("gpu 0 to gpu 7 at 1 GB/s", "both ends lie in node 0");
    expect_refused("nodes 0-1 to node 1 at 1 GB/s", "both ends lie in node 1");
    expect_refused("gpus 0-1 to gpus 8-10 at 1 GB/s", "2 senders and 3 receivers");
    expect_refused("gpu 0 to node 1 at 1 GB/s", "different kinds");
    expect_refused("gpu 0 to gpu 8", "no rate");
}

}  // namespace
}  // namespace orrery::scenarios
