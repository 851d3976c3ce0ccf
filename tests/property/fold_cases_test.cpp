// Folded equals unfolded, fabric by fabric: where ranks fold well, where classes must split, and where nothing folds.
#include <gtest/gtest.h>

#include <ostream>

#include "sim/agreement.hpp"
#include "tests/sim/bench.hpp"
#include "topology/catalog.hpp"

namespace orrery::sim {
namespace {

struct Case {
    const char* name;
    topology::ClusterSpec cluster;
    std::uint32_t tensor, pipeline, data;
    std::size_t classes;      ///< of ranks that behave alike: all of them where nothing folds
    const char* more = "{}";  ///< merged into the scenario
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

/// Presets with overrides.
topology::ClusterSpec preset(const char* name, std::uint32_t nodes, double oversubscription = 0) {
    return {.preset = name, .nodes = nodes, .oversubscription = oversubscription};
}
/// Nodes of one A100 and one NIC on top-of-rack switches.
topology::ClusterSpec singles(std::uint32_t nodes, double oversubscription = 0) {
    return {.preset = "ethernet",
            .nodes = nodes,
            .gpu = "A100-80GB",
            .gpus_per_node = 1,
            .nics_per_node = 1,
            .oversubscription = oversubscription};
}
topology::ClusterSpec fabric(const char* kind, std::uint32_t nodes, const char* shape = "") {
    topology::ClusterSpec spec = preset("dgx-a100", nodes);
    spec.fabric.kind = kind;
    spec.fabric.shape = shape;
    return spec;
}
topology::ClusterSpec chips(std::uint32_t count, const char* shape, std::uint32_t slices = 0) {
    topology::ClusterSpec spec{.preset = "tpu-v4", .nodes = count};
    spec.fabric = {.kind = slices > 0 ? "multislice" : "torus", .shape = shape, .groups = slices};
    return spec;
}
topology::ClusterSpec small_switches(topology::ClusterSpec spec) {
    spec.switch_ports = 16;
    return spec;
}

topology::ClusterSpec routed(topology::ClusterSpec spec, const char* policy) {
    spec.routing = policy;
    return spec;
}
topology::ClusterSpec failed(topology::ClusterSpec spec, const char* what) {
    spec.failed = {what};
    return spec;
}

constexpr const char* zero3 = R"({"strategy": {"sharding": "zero3"}})";
constexpr const char* zero1 = R"({"strategy": {"sharding": "zero1"}})";
constexpr const char* overlap = R"({"strategy": {"overlap_grad_reduce": true}})";
constexpr const char* ring = R"({"strategy": {"data": 2, "context": 2, "sharding": "zero1"}})";
constexpr const char* heads = R"({"strategy": {"data": 2, "context": 2, "cp_comm_type": "a2a", "sharding": "zero3"}})";
constexpr const char* instances =
    R"({"strategy": {"sharding": "zero1", "num_distributed_optimizer_instances": 2, "overlap_grad_reduce": true}})";
constexpr const char* hybrid = R"({"strategy": {"sharding": "zero3", "num_distributed_optimizer_instances": 4}})";
constexpr const char* by_reduces = R"({"strategy": {"sharding": "zero2", "grad_reduce_collective": "reduce"}})";
constexpr const char* by_all_reduces =
    R"({"strategy": {"sharding": "zero1", "overlap_grad_reduce": true, "grad_reduce_collective": "all_reduce"}})";
constexpr const char* slices = R"({"strategy": {"sharding": "zero3", "num_distributed_optimizer_instances": 2}})";
constexpr const char* plus_plus =
    R"({"strategy": {"tensor": 1, "pipeline": 1, "data": 8, "sharding": "zero3", "zero_quantized_weights": true,
        "zero_hpz_partition_size": 2,
        "zero_quantized_gradients": true, "zero_ranks_per_node": 2}, "training": {"grad_reduce_precision": "bf16"}})";
constexpr const char* infinity =
    R"({"strategy": {"tensor": 1, "pipeline": 1, "data": 8, "sharding": "zero3", "overlap_grad_reduce": true,
        "optimizer_cpu_offload": true, "overlap_cpu_optimizer_d2h_h2d": true, "offload_optimizer_device": "nvme",
        "offload_optimizer_pipeline_read": true, "offload_param_device": "nvme"}})";
constexpr const char* unequal =
    R"({"strategy": {"pipeline": 4, "data": 2, "pipeline_layers": "2,3,2,1", "overlap_grad_reduce": true}})";
constexpr const char* interleaved =
    R"({"model": {"num_hidden_layers": 8}, "strategy": {"schedule": "interleaved", "virtual_pipeline": 2}})";

constexpr const char* two_ways =
    R"({"strategy": {"schedule": "chimera", "sharding": "zero1", "overlap_grad_reduce": true}})";
constexpr const char* in_pairs = R"({"strategy": {"schedule": "dualpipe"}})";

const Case cases[] = {
    {"SingleNode", preset("dgx-a100", 1), 2, 2, 2, 2},
    {"SingleNodeOfOneTensorGroup", preset("dgx-h100", 1), 8, 1, 1, 1},
    {"RailsOneClassAStage", preset("dgx-a100", 16), 8, 4, 4, 4},
    {"RailsInterleaved", preset("dgx-a100", 16), 8, 4, 4, 4, interleaved},
    {"RailsHalfATensorGroup", preset("dgx-a100", 8), 4, 2, 8, 2},
    {"RailsTensorOfTwo", preset("dgx-a100", 6), 2, 3, 8, 3, R"({"model": {"num_hidden_layers": 6}})"},
    {"RailsNoTensor", preset("dgx-h100", 4), 1, 2, 16, 2},
    {"RailsOddNodes", preset("dgx-a100", 7), 8, 1, 7, 1},
    {"RailsPrimeOfNodesAndStages", preset("dgx-a100", 21), 8, 3, 7, 3, R"({"model": {"num_hidden_layers": 6}})"},
    {"RailsZero1", preset("dgx-a100", 16), 8, 2, 8, 2, zero1},
    {"RailsOverlap", preset("dgx-a100", 16), 8, 2, 8, 2, overlap},
    {"RailsTwoTiersOversubscribed", preset("dgx-a100", 64, 4), 8, 4, 16, 4},
    {"RailsOversubscribedOdd", preset("dgx-a100", 63, 3), 8, 3, 21, 9, R"({"model": {"num_hidden_layers": 6}})"},
    {"RailsOversubscribedOddOneWay", routed(preset("dgx-a100", 63, 3), "minimal"), 8, 3, 21, 63,
     R"({"model": {"num_hidden_layers": 6}})"},
    {"RailsTensorAcrossNodes", preset("dgx-a100", 4), 16, 1, 2, 1},
    {"RailsContextRing", preset("dgx-a100", 16), 4, 2, 8, 2, ring},
    {"RailsContextRingOverNodes", preset("dgx-a100", 16), 8, 2, 4, 2, ring},
    {"RailsHeadsExchanged", preset("dgx-a100", 4), 1, 1, 16, 1, heads},
    {"RailsInstances", preset("dgx-a100", 16), 8, 2, 8, 2, instances},
    {"RailsHybridSharding", preset("dgx-a100", 4), 1, 1, 32, 1, hybrid},
    {"RailsByReduces", preset("dgx-a100", 4), 2, 2, 8, 2, by_reduces},
    {"RailsByAllReduces", preset("dgx-a100", 4), 2, 2, 8, 2, by_all_reduces},
    {"RailsZeroInfinity", preset("dgx-a100", 4), 1, 1, 32, 1, infinity},
    {"RailsZeroPlusPlus", preset("dgx-a100", 4), 1, 1, 32, 1, plus_plus},
    {"RailsUnequalStages", preset("dgx-a100", 16), 8, 4, 4, 4, unequal},
    {"RailsTwoWays", preset("dgx-a100", 16), 8, 4, 4, 4, two_ways},
    {"RailsTwoWaysInPairs", preset("dgx-a100", 4), 8, 2, 2, 2, in_pairs},
    {"SuperPodOneUnit", preset("superpod-a100", 16), 8, 4, 4, 4},
    {"SuperPodStageStraddlesUnits", preset("superpod-a100", 48), 8, 4, 12, 4},
    {"SuperPodStageStraddlesUnitsOneWay", routed(preset("superpod-a100", 48), "minimal"), 8, 4, 12, 24},
    {"SuperPodTwoUnitsZero1", preset("superpod-a100", 40), 8, 2, 20, 2, zero1},
    {"SuperPodH100OddNodes", preset("superpod-h100", 33), 8, 3, 11, 3, R"({"model": {"num_hidden_layers": 6}})"},
    {"EthernetOneNic", preset("ethernet", 4), 2, 2, 8, 2, R"({"training": {"fused_attention": false}})"},
    {"EthernetOneSwitchPipeline", singles(16), 1, 4, 4, 4},
    {"EthernetTwoTiers", singles(128), 1, 4, 32, 4},
    {"EthernetOversubscribed", singles(128, 8), 1, 4, 32, 12},
    {"EthernetOversubscribedDataOnly", singles(96, 4), 1, 1, 96, 1},
    {"EthernetOversubscribedOdd", singles(99, 2), 1, 3, 33, 9, R"({"model": {"num_hidden_layers": 6}})"},
    {"EthernetHashed", routed(singles(128, 2), "ecmp"), 1, 4, 32, 128},
    {"RailsHashed", routed(preset("dgx-a100", 64, 2), "ecmp"), 8, 4, 16, 512},
    {"RailsSprayed", routed(preset("dgx-a100", 64, 2), "spray"), 8, 4, 16, 12},
    {"RailsSprayedThreeTiers", small_switches(preset("dgx-a100", 40, 2)), 8, 4, 10, 4},
    {"EthernetSprayed", routed(singles(128, 2), "spray"), 1, 4, 32, 16},
    {"RailsAFailedLeafUplink", failed(preset("dgx-a100", 64, 2), "leaf 0 - spine 0"), 8, 4, 16, 128},
    {"NicsSharedByTwo", {.preset = "dgx-a100", .nodes = 8, .nics_per_node = 4}, 2, 2, 16, 2},
    {"Volta", preset("dgx-1v", 8), 4, 2, 8, 2, R"({"training": {"precision": "fp16", "fused_attention": false}})"},
    {"VoltaOfSixteen", preset("dgx-2", 4), 8, 2, 4, 2,
     R"({"training": {"precision": "fp16", "fused_attention": false}})"},
    {"FourGpuNodes", preset("hgx-a100-4", 8), 4, 2, 4, 2},
    {"Torus", fabric("torus", 8, "2x2x2"), 8, 2, 4, 2},
    {"Chips", chips(64, "4x4x4"), 4, 1, 16, 1, zero3},
    {"ChipsInStages", chips(32, "4x4x2"), 4, 2, 4, 2},
    {"ChipsOfPartsOfADimension", chips(32, "8x4"), 2, 2, 8, 2, overlap},
    {"Slices", chips(32, "4x4", 2), 1, 1, 32, 1, slices},
    {"SlicesInStages", chips(32, "4x4", 2), 4, 2, 4, 2},
    {"Dragonfly", fabric("dragonfly", 16), 8, 2, 8, 2},
    {"RailOnly", fabric("rail-only", 16), 8, 2, 8, 2},
};

class FoldCases : public testing::TestWithParam<Case> {};

TEST_P(FoldCases, EveryRankEndsWhenItsClassDoes) {
    const Case& c = GetParam();
    scenarios::Scenario scenario = small_scenario(c.more);
    scenario.cluster = c.cluster;
    scenario.plan.strategy.tensor = c.tensor;
    scenario.plan.strategy.pipeline = c.pipeline;
    scenario.plan.strategy.data = c.data;
    scenario.plan.training.global_batch = 8 * c.data;
    const topology::Cluster cluster = topology::build(scenario.cluster);
    const calibrate::Predictor& predictor = profiles().find(cluster.gpu().profile);
    const RanStep folded(scenario.plan, cluster, predictor);
    const RanStep unfolded(scenario.plan, cluster, predictor, {.fold = false, .all_spans = true});
    const Agreement agreement = compare(folded, unfolded);
    EXPECT_TRUE(agreement.agrees()) << agreement.text();
    EXPECT_EQ(folded.folding->classes.size(), c.classes);
    EXPECT_EQ(unfolded.folding->classes.size(), scenario.plan.ranks());
}

INSTANTIATE_TEST_SUITE_P(Property, FoldCases, testing::ValuesIn(cases),
                         [](const auto& test) { return std::string(test.param.name); });

/// Two runs of different steps do not agree: the comparison can fail.
TEST(Agreement, SeesADifference) {
    const scenarios::Scenario one = small_scenario(), other = small_scenario(R"({"training": {"seq_length": 528}})");
    const topology::Cluster cluster = topology::build(one.cluster);
    const calibrate::Predictor& predictor = profiles().find(one.profile);
    const RanStep a(one.plan, cluster, predictor), b(other.plan, cluster, predictor);
    EXPECT_FALSE(compare(a, b).agrees());
    EXPECT_NE(compare(a, b).text().find("DISAGREE"), std::string::npos);
    EXPECT_TRUE(compare(a, a).agrees());
}

/// Phases in step: our engine and SimGrid's CM02 come to the same times.
TEST(Agreement, FastEngineEqualsSimGrid) {
    for (const char* patch :
         {"{}", R"({"cluster": {"nodes": 4}, "strategy": {"tensor": 8, "pipeline": 1, "data": 4}})",
          R"({"cluster": {"nodes": 4}, "strategy": {"tensor": 8, "pipeline": 4, "data": 1}})",
          R"({"cluster": {"nodes": 8}, "strategy": {"tensor": 4, "pipeline": 2, "data": 8, "sharding": "zero1"}})",
          R"({"cluster": {"preset": "tpu-v4", "nodes": 16, "fabric": "torus", "shape": "4x4"}, "profile": "tpu-v4",
              "strategy": {"tensor": 4, "pipeline": 1, "data": 4, "sharding": "zero3"}})"}) {
        SCOPED_TRACE(patch);
        for (const bool fold : {true, false}) {
            const Agreement agreement = check_engine(small_scenario(patch), profiles(), fold);
            EXPECT_TRUE(agreement.agrees()) << agreement.text();
        }
    }
}

}  // namespace
}  // namespace orrery::sim
