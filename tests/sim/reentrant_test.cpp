// Predictions beside each other in one process: no state of one reaches another.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "sim/network.hpp"
#include "tests/sim/bench.hpp"
#include "topology/catalog.hpp"

namespace orrery::sim {
namespace {

constexpr std::uint64_t first_seed = 30'000;

/// Small and varied: other policies of routing, slow and jittery ranks, slow links.
scenarios::Scenario scenario_of_seed(std::uint64_t seed) {
    nlohmann::json document = random_document(seed);
    if (seed % 2 == 0 && document["cluster"]["nodes"].get<std::uint32_t>() > 1)
        document["cluster"]["routing"] = seed % 4 == 0 ? "adaptive" : "ecmp";
    if (seed % 3 == 0) document["perturbations"]["stragglers"] = {"rank 0 x 1.5"};
    if (seed % 7 == 0) document["perturbations"]["jitter"] = 0.02;
    return scenario_of(document);
}

void append(std::string& bytes, const Breakdown& b) {
    for (const double part : {b.gemm, b.attention, b.memory_bound, b.tensor_comm, b.expert_comm, b.pipeline_comm,
                              b.data_comm, b.offload, b.optimizer, b.launch, b.bubble})
        bytes += fmt::format("{:a} ", part);
}

/// All that a prediction says, numbers to the last bit.
std::string bytes_of(const Prediction& p) {
    std::string bytes;
    for (const double value : {p.step_time_s, p.planned_step_time_s, p.tokens_per_s, p.model_flops_per_gpu,
                               p.hardware_flops_per_gpu, p.mfu, p.hfu, p.scale_factor, p.training_time_s})
        bytes += fmt::format("{:a} ", value);
    for (const Breakdown& stage : p.stages) append(bytes, stage);
    for (const GpuUse& use : p.gpu_kinds) append(bytes, use.mean);
    for (const StageMemory& stage : p.memory) bytes += fmt::format("{} ", stage.peak);
    for (const auto& lines : {p.advice, p.warnings})
        for (const std::string& line : lines) bytes += line + '\n';
    return bytes + fmt::format("{} {} {} {} {}", p.bottleneck, p.profile, p.classes, p.ops, p.fits);
}

std::string predicted(std::uint64_t seed, EngineKind engine) {
    return bytes_of(predict(scenario_of_seed(seed), profiles(), {.engine = engine}));
}

TEST(Reentrant, AThousandOnEightThreadsAsOneAfterTheOther) {
    constexpr std::size_t count = 1000, threads = 8;
    std::vector<std::string> beside(count);
    std::atomic<std::size_t> next{0};
    std::vector<std::thread> workers;
    for (std::size_t t = 0; t < threads; ++t)
        workers.emplace_back([&] {
            for (std::size_t i = next++; i < count; i = next++) beside[i] = predicted(first_seed + i, EngineKind::fast);
        });
    for (std::thread& worker : workers) worker.join();
    for (std::size_t i = 0; i < count; ++i)
        ASSERT_EQ(beside[i], predicted(first_seed + i, EngineKind::fast)) << "seed " << first_seed + i;
}

TEST(Reentrant, OurLoopAndSimGridsAreEqualToTheBit) {
    for (std::uint64_t seed = first_seed; seed < first_seed + 100; ++seed)
        ASSERT_EQ(predicted(seed, EngineKind::fast), predicted(seed, EngineKind::fast_in_simgrid)) << "seed " << seed;
}

/// What one simulation has sent does not turn another's adaptive routes: placements, and both sides of a comparison,
/// each see a fabric that nobody has used.
TEST(Reentrant, AdaptiveRoutesAreASimulationsOwn) {
    const topology::ClusterSpec spec =
        small_scenario(R"({"cluster": {"preset": "superpod-a100", "nodes": 64, "routing": "adaptive"}})").cluster;
    const auto& predictor = profiles().find("a100");
    const topology::Cluster fresh = topology::build(spec), used = topology::build(spec);
    const auto links = [](const Network& network, std::uint32_t stride) {
        std::vector<std::uint32_t> all;
        const std::uint32_t gpus = network.cluster().gpus();
        for (std::uint32_t gpu = 0; gpu < gpus; ++gpu)
            for (const LinkUse& use : network.path(gpu, (gpu * stride + gpus / 2) % gpus)) all.push_back(use.link);
        return all;
    };
    const Network before(used, predictor), after(used, predictor);
    (void)links(before, 3);
    EXPECT_EQ(links(after, 5), links(Network(fresh, predictor), 5));
}

}  // namespace
}  // namespace orrery::sim
