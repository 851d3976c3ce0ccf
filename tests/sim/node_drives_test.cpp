// Weights and states on a node's drives: what a faster drive is worth, and that an endless one is host memory.
#include "sim/node_drives.hpp"

#include <gtest/gtest.h>

#include <string>

#include "hardware/operations.hpp"
#include "sim/host_copies.hpp"
#include "strategies/build.hpp"
#include "tests/sim/bench.hpp"
#include "topology/catalog.hpp"

namespace orrery::sim {
namespace {

using strategies::Copy;

topology::ClusterSpec dgx(std::uint32_t nodes) {
    topology::ClusterSpec spec;
    spec.preset = "dgx-a100";
    spec.nodes = nodes;
    return spec;
}

/// Eight ranks of a node share its drives, whatever other nodes do.
TEST(NodeDrives, RanksOfANodeShareThem) {
    strategies::Plan plan;
    const auto seconds = [&](std::uint32_t ranks, Copy::To to) {
        return NodeDrives(topology::build(dgx(2)), 0, plan, ranks).seconds({to, 1'000'000'000});
    };
    EXPECT_DOUBLE_EQ(seconds(1, Copy::To::host_from_storage), 1e9 / hardware::nvme_read);
    EXPECT_DOUBLE_EQ(seconds(4, Copy::To::storage), 4e9 / hardware::nvme_write);
    EXPECT_DOUBLE_EQ(seconds(16, Copy::To::storage), 8e9 / hardware::nvme_write);
    plan.drives = {.read = 2e9, .write = 1e9};
    EXPECT_DOUBLE_EQ(seconds(1, Copy::To::host_from_storage), 0.5);
    EXPECT_DOUBLE_EQ(seconds(1, Copy::To::storage), 1);
}

scenarios::Scenario scenario_with(const std::string& strategy, const std::string& rate = "") {
    const std::string storage =
        rate.empty() ? "" : R"(, "storage": {"nvme_read_rate": ")" + rate + R"(", "nvme_write_rate": ")" + rate + "\"}";
    return small_scenario(R"({"cluster": {"nodes": 1}, "training": {"cuda_graph": true},
        "strategy": {"tensor": 1, "pipeline": 1, "data": 8, "sharding": "zero3", "overlap_grad_reduce": true,
                     "bucket_size": "20 MB")" +
                          strategy + "}" + storage + "}");
}
Prediction predicted(const std::string& strategy, const std::string& rate = "") {
    return quick(scenario_with(strategy, rate));
}

const std::string host = R"(, "optimizer_cpu_offload": true, "overlap_cpu_optimizer_d2h_h2d": true)";
const std::string states = host + R"(, "offload_optimizer_device": "nvme")";

const std::string weights = R"(, "offload_param_device": "nvme")";

TEST(NodeDrives, FasterOnesAreNeverSlower) {
    for (const std::string& strategy :
         {states, states + R"(, "offload_optimizer_pipeline_read": true, "offload_optimizer_pipeline_write": true)",
          states + weights, weights}) {
        double before = 1e9;
        for (const char* rate : {"0.1 GB/s", "1 GB/s", "10 GB/s", "100 GB/s", "10000 GB/s"}) {
            const double now = predicted(strategy, rate).step_time_s;
            EXPECT_LE(now, before) << strategy << rate;
            before = now;
        }
    }
}

TEST(NodeDrives, EndlessOnesAreHostMemory) {
    const std::string endless = "10000 TB/s";
    const topology::Cluster cluster = topology::build(dgx(1));
    const HostCopies copies(cluster, profiles().find("a100"), 0, {}, 8);
    const auto near = [&](const std::string& on, const std::string& in) {
        const Prediction drives = predicted(on, endless), memory = predicted(in);
        // The first update waits until all gradients are written, not its own alone.
        double gradients = 0;
        const strategies::StepProgram step = strategies::build(scenario_with(on).plan);
        for (const strategies::Op& op : step.programs[0].ops)
            if (const auto* copy = std::get_if<Copy>(&op.what);
                copy != nullptr && step.names[op.label.name] == "gradients to host" && on != weights)
                gradients += copies.seconds(kernels::CopyKind::device_to_host, static_cast<double>(copy->bytes));
        EXPECT_GE(drives.step_time_s, (1 - 1e-6) * memory.step_time_s) << on;
        EXPECT_LE(drives.step_time_s, (1 + 1e-6) * memory.step_time_s + gradients) << on;
        EXPECT_EQ(drives.memory[0].peak, memory.memory[0].peak);
    };
    near(states, host);
    near(weights, R"(, "offload_param_device": "cpu")");
    near(states + weights, host + R"(, "offload_param_device": "cpu")");
}

/// Reads, updates and writes of a bucket follow each other; what is pipelined goes beside the next bucket's.
TEST(NodeDrives, PipelinedStatesHideBehindEachOther) {
    const std::string rate = "70 GB/s";  // at which an update takes as long as its writes
    const Prediction none = predicted(states, rate);
    const Prediction reads = predicted(states + R"(, "offload_optimizer_pipeline_read": true)", rate);
    const Prediction both = predicted(
        states + R"(, "offload_optimizer_pipeline_read": true, "offload_optimizer_pipeline_write": true)", rate);
    EXPECT_LT(reads.step_time_s, none.step_time_s);
    EXPECT_LT(both.step_time_s, reads.step_time_s);
    EXPECT_LT(none.host_memory, reads.host_memory);
    EXPECT_LT(reads.host_memory, both.host_memory);
    for (const Prediction* p : {&none, &reads, &both}) EXPECT_NEAR(p->stages[0].total(), p->step_time_s, 1e-9);
    bool said = false;
    for (const std::string& warning : none.warnings)
        said = said || warning.find("drives read at 8.75 and write at 8.75 GB/s a GPU") < warning.size();
    EXPECT_TRUE(said) << testing::PrintToString(none.warnings);
}

/// Copies hide beside products where these take longer, and are waited for where not.
TEST(NodeDrives, WeightsComeBesideProducts) {
    const Prediction none = predicted(""), cpu = predicted(R"(, "offload_param_device": "cpu")");
    EXPECT_LT(cpu.memory[0].peak, none.memory[0].peak);
    EXPECT_EQ(cpu.host_memory, 8 * cpu.memory[0].host);
    EXPECT_GT(cpu.step_time_s, none.step_time_s) << "weights that are back on the host, and the first to come";
    const Prediction slow = predicted(weights, "0.2 GB/s");
    EXPECT_GT(slow.stages[0].offload, cpu.stages[0].offload);
    EXPECT_NEAR(slow.stages[0].total(), slow.step_time_s, 1e-9);
    const double longer = slow.step_time_s - cpu.step_time_s;
    EXPECT_GT(slow.stages[0].offload - cpu.stages[0].offload, 0.9 * longer) << "drives are waited for, not launches";
}

}  // namespace
}  // namespace orrery::sim
