// Adam on the cores of a host.
#include "sim/host_cores.hpp"

#include <gtest/gtest.h>

#include <string>

#include "base/error.hpp"
#include "hardware/datasheets.hpp"
#include "tests/sim/bench.hpp"
#include "topology/catalog.hpp"

namespace orrery::sim {
namespace {

constexpr double parameters = 1e9;
const kernels::Kernel adam =
    kernels::Pointwise{kernels::PointwiseKind::adam, kernels::Dtype::bf16, 1, std::uint64_t{1'000'000'000}};

double seconds(const topology::ClusterSpec& cluster, const std::string& profile, std::uint32_t ranks) {
    return HostCores(topology::build(cluster), profiles().find(profile), 0, {}, ranks).seconds(adam);
}

/// Ren et al. 2021, table 4: 2.57 s for 10 billion parameters on a DGX-2, 0.51 s for 2 billion.
TEST(HostCores, TakeWhatWasMeasured) {
    EXPECT_NEAR(seconds({.preset = "dgx-2"}, "v100", 1), 0.257, 1e-3);
    EXPECT_NEAR(2 * seconds({.preset = "dgx-2"}, "v100", 1), 0.51, 0.01);
}

TEST(HostCores, RanksOfANodeShareItsMemory) {
    const double alone = seconds({.preset = "dgx-a100"}, "a100", 1);
    EXPECT_DOUBLE_EQ(seconds({.preset = "dgx-a100"}, "a100", 8), 8 * alone);
    EXPECT_DOUBLE_EQ(seconds({.preset = "dgx-a100", .nodes = 2}, "a100", 16), 8 * alone)
        << "another node's have theirs";
    EXPECT_NEAR(alone, 30 * parameters / (hardware::host_adam_share * 16 * 3.2e9 * 8), 1e-6);
}

/// DeepSpeed's: 44 bytes where one pass moves 30.
TEST(HostCores, OperatorsAroundAnUpdatePassOverItsParametersAgain) {
    const topology::Cluster cluster = topology::build({.preset = "dgx-a100"});
    const auto of = [&](hardware::Software software) {
        return HostCores(cluster, profiles().find("a100"), 0, {}, 8, software).seconds(adam);
    };
    EXPECT_NEAR(of(hardware::Software::megatron_lm) / of(hardware::Software::orrery), 44.0 / 30, 1e-12);
    EXPECT_DOUBLE_EQ(of(hardware::Software::pytorch), of(hardware::Software::megatron_lm));
}

TEST(HostCores, AHostOfUnknownMemoryIsRefused) {
    const topology::Cluster cluster = topology::build({.preset = "tpu-v4"});
    try {
        (void)HostCores(cluster, profiles().find("a100"), 0, {}, 1).seconds(adam);
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.pointer(), "/strategy/optimizer_cpu_offload");
    }
}

Prediction predicted(const std::string& strategy) {
    return quick(small_scenario(R"({"cluster": {"nodes": 1}, "training": {"cuda_graph": true},
        "strategy": {"tensor": 1, "pipeline": 1, "data": 8, "sharding": "zero2", "overlap_grad_reduce": true)" +
                                strategy + "}}"));
}

/// The host's update is exposed, copies beside it are hidden; half of it takes half as long.
TEST(HostCores, UpdatesAreWaitedForAndSaid) {
    const Prediction none = predicted(""), serial = predicted(R"(, "optimizer_cpu_offload": true)");
    const Prediction beside =
        predicted(R"(, "optimizer_cpu_offload": true, "overlap_cpu_optimizer_d2h_h2d": true, "bucket_size": "20 MB")");
    const Prediction half = predicted(R"(, "optimizer_cpu_offload": true, "optimizer_offload_fraction": 0.5)");
    EXPECT_EQ(none.stages[0].offload, 0);
    EXPECT_EQ(none.host_memory, 0U);
    EXPECT_GT(serial.stages[0].offload, beside.stages[0].offload);
    EXPECT_GT(beside.step_time_s, none.step_time_s);
    EXPECT_NEAR(half.stages[0].offload, serial.stages[0].offload / 2, 0.02 * serial.stages[0].offload);
    EXPECT_LT(serial.memory[0].peak, half.memory[0].peak);
    EXPECT_LT(half.memory[0].peak, none.memory[0].peak);
    EXPECT_EQ(serial.host_memory, 8 * serial.memory[0].host);
    for (const Prediction* p : {&none, &serial, &beside, &half})
        EXPECT_NEAR(p->stages[0].total(), p->step_time_s, 1e-9);
    bool said = false;
    for (const std::string& warning : serial.warnings) said = said || warning.find("cores update at") < warning.size();
    EXPECT_TRUE(said);
}

}  // namespace
}  // namespace orrery::sim
