// Copies between GPUs and their hosts: measured, or derived from what the node's links carry.
#include "sim/host_copies.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "calibrate/profile_store.hpp"
#include "hardware/datasheets.hpp"
#include "sim/breakdown.hpp"
#include "sim/run_step.hpp"
#include "tests/sim/bench.hpp"
#include "topology/catalog.hpp"

namespace orrery::sim {
namespace {

using hardware::pcie4_bytes_per_second;
using kernels::CopyKind;

constexpr double bytes = 1e9;

double seconds(const topology::ClusterSpec& cluster, const std::string& profile, std::uint32_t ranks) {
    return HostCopies(topology::build(cluster), profiles().find(profile), 0, {}, ranks)
        .seconds(CopyKind::device_to_host, bytes);
}

TEST(HostCopies, AloneAGpuHasItsLink) {
    const double line = pcie4_bytes_per_second;
    EXPECT_NEAR(seconds({.preset = "dgx-a100"}, "a100", 1), bytes / (line * hardware::host_copy_share(line)), 2e-6);
}

/// A DGX A100 has two GPUs on each PCIe switch; the second one of a pair joins with the second rank.
TEST(HostCopies, GpusOfOneSwitchShareItsLinkToTheHost) {
    const double alone = seconds({.preset = "dgx-a100"}, "a100", 1), pair = seconds({.preset = "dgx-a100"}, "a100", 2);
    EXPECT_NEAR(pair / alone, 2, 1e-3);
    EXPECT_DOUBLE_EQ(seconds({.preset = "dgx-a100"}, "a100", 8), pair);
}

/// A GB200 has a link of 450 GB/s to its Grace; memory of 18.4 TB/s in a rack gives 72 of them 256 GB/s each.
TEST(HostCopies, TheHostsMemoryIsSharedByAll) {
    const topology::Cluster cluster = topology::build({.preset = "gb200-nvl72"});
    const HostCopies copies(cluster, profiles().find("gb200"), 0, {}, 72);
    EXPECT_NEAR(copies.seconds(CopyKind::host_to_device, bytes), bytes * 72 / 18.4e12, 2e-6);
    EXPECT_NE(copies.origin().find("GB/s a GPU"), std::string::npos) << copies.origin();
}

TEST(HostCopies, AMeasuredTableIsTaken) {
    calibrate::Profile profile = profiles().find("a100").profile();
    profile.copies = {{CopyKind::device_to_host, {}, {{1e6, 1e-3}, {1e8, 2e-3}}}};
    const calibrate::Predictor predictor(profile);
    const topology::Cluster cluster = topology::build({.preset = "dgx-a100"});
    const HostCopies alone(cluster, predictor, 0, {}, 1), pair(cluster, predictor, 0, {}, 2);
    EXPECT_DOUBLE_EQ(alone.seconds(CopyKind::device_to_host, 1e6), 1e-3);
    EXPECT_DOUBLE_EQ(alone.seconds(CopyKind::device_to_host, 1e3), 1e-3) << "latency";
    EXPECT_DOUBLE_EQ(alone.seconds(CopyKind::device_to_host, 2e8), 4e-3) << "bandwidth";
    EXPECT_EQ(alone.origin(), "");
    const double line = pcie4_bytes_per_second;
    EXPECT_DOUBLE_EQ(pair.seconds(CopyKind::device_to_host, 1e8), 1e8 / (line * hardware::host_copy_share(line) / 2));
    EXPECT_NE(pair.origin(), "");
}

TEST(HostCopies, ACoreCopiesWithinItsMemory) {
    const double rate = profiles().find("cpu").constant("memory_bytes_per_second");
    EXPECT_DOUBLE_EQ(seconds({.preset = "cpu-hosts"}, "cpu", 1), 2 * bytes / rate);
}

/// How to Scale Your Model, part 2: 15 GB/s a chip, 32 of a TPU v6e, of which copies reach what they do elsewhere.
TEST(HostCopies, AChipHasAWayOfItsOwn) {
    EXPECT_NEAR(seconds({.preset = "tpu-v5p", .nodes = 8}, "tpu-v5p", 8), bytes / (0.786 * 15e9), 1e-9);
    EXPECT_NEAR(seconds({.preset = "tpu-v6e", .nodes = 16}, "tpu-v6e", 16), bytes / (0.786 * 32e9), 1e-9);
}

/// One layer's copies are hidden by the layers above it; those of all layers, each as long as its layer or longer, are
/// what the step waits for.
TEST(HostCopies, HiddenOrExposed) {
    const auto predicted = [](int layers) {
        return quick(small_scenario(
            R"({"cluster": {"nodes": 1}, "training": {"cuda_graph": true, "seq_length": 2048},
            "model": {"hidden_size": 8192, "num_attention_heads": 64},
            "strategy": {"tensor": 1, "pipeline": 1, "data": 8, "cpu_offloading_num_layers": )" +
            std::to_string(layers) + "}}"));
    };
    const Prediction none = predicted(0), one = predicted(1), all = predicted(8);
    EXPECT_EQ(none.stages[0].offload, 0);
    EXPECT_EQ(none.host_memory, 0U);
    EXPECT_NEAR(one.step_time_s, none.step_time_s, 1e-9);
    EXPECT_NEAR(one.stages[0].offload, 0, 1e-9);
    EXPECT_LT(one.memory[0].peak, none.memory[0].peak);
    EXPECT_NEAR(all.step_time_s, none.step_time_s + all.stages[0].offload, 1e-3 * none.step_time_s);
    EXPECT_GT(all.stages[0].offload, 0);
    EXPECT_EQ(all.host_memory, 8 * all.memory[0].host) << "eight GPUs of a node";
    EXPECT_EQ(all.host_capacity, std::uint64_t{2} << 40U);
    for (const Prediction* p : {&none, &one, &all}) EXPECT_NEAR(p->stages[0].total(), p->step_time_s, 1e-9);
}

TEST(HostCopies, AHostThatIsTooSmallIsSaid) {
    const Prediction p = quick(small_scenario(R"({"cluster": {"nodes": 1}, "model": {"num_hidden_layers": 64},
        "strategy": {"tensor": 1, "pipeline": 8, "data": 1, "schedule": "gpipe", "cpu_offloading_num_layers": 8},
        "training": {"micro_batch_size": 16, "seq_length": 4096, "global_batch_size": 512}})"));
    ASSERT_GT(p.host_memory, p.host_capacity);
    EXPECT_NE(p.warnings.front().find("node 0 has 2"), std::string::npos) << p.warnings.front();
}

TEST(HostCopies, WhatCopiesToAHostThatIsNotThereIsNamed) {
    const auto pointer = [](const char* strategy) {
        try {
            (void)quick(small_scenario(fmt::format(
                R"({{"cluster": {{"preset": "tpu-v4", "nodes": 8}}, "profile": "tpu-v4",
                    "strategy": {{"tensor": 1, "pipeline": 1, "data": 8, {}}}}})",
                strategy)));
        } catch (const Error& error) {
            EXPECT_NE(error.message().find("TPU-v4 has none here"), std::string::npos) << error.message();
            return error.pointer();
        }
        return std::string("accepted");
    };
    EXPECT_EQ(pointer(R"("cpu_offloading_num_layers": 1)"), "accepted");
    EXPECT_EQ(pointer(R"("optimizer_cpu_offload": true)"), "/strategy/optimizer_cpu_offload");
    EXPECT_EQ(pointer(R"("sharding": "zero3", "overlap_grad_reduce": true, "offload_param_device": "cpu")"),
              "/strategy/offload_param_device");
    EXPECT_FALSE(has_host(topology::build({.preset = "tpu-v4", .nodes = 8}), 0));
    EXPECT_TRUE(has_host(topology::build({.preset = "dgx-a100", .nodes = 1}), 0));
}

/// A slow GPU computes slower; its copies take what they take.
TEST(HostCopies, StragglersCopyAtTheLinksRate) {
    const auto ran = [](const char* perturbations) {
        return predict(small_scenario(std::string(R"({"cluster": {"nodes": 1}, "strategy": {"tensor": 1, "pipeline": 1,
            "data": 1, "cpu_offloading_num_layers": 2}, "training": {"global_batch_size": 2, "cuda_graph": true})") +
                                      perturbations + "}"),
                       profiles(), {.keep_trace = true, .scale_factor = false, .advice = false});
    };
    const auto copy_seconds = [](const Prediction& p) {
        double sum = 0;
        for (std::size_t i = 0; i < p.trace[0].spans.size(); ++i)
            if (std::holds_alternative<strategies::Copy>(p.program.programs[0].ops[i].what))
                sum += p.trace[0].spans[i].end - p.trace[0].spans[i].begin;
        return sum;
    };
    const Prediction planned = ran(""), slow = ran(R"(, "perturbations": {"stragglers": ["rank 0 x 2"]})");
    EXPECT_GT(slow.step_time_s, 1.5 * planned.step_time_s);
    EXPECT_NEAR(copy_seconds(slow), copy_seconds(planned), 1e-9);
}

}  // namespace
}  // namespace orrery::sim
