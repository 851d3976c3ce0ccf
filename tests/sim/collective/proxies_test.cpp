// Chunks of NVLSTree by version, and what Amazon's plugin takes of them.
#include "sim/collective/proxies.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "sim/collective/timer.hpp"
#include "tests/sim/bench.hpp"
#include "topology/catalog.hpp"

namespace orrery::sim {
namespace {

constexpr double KiB = 1024, MiB = 1024 * KiB, GiB = 1024 * MiB;
constexpr auto all_reduce = kernels::CollectiveKind::all_reduce;

Machine with(Version nccl, Version aws_ofi_nccl) {
    Machine machine;
    machine.libraries = {nccl, aws_ofi_nccl};
    return machine;
}

/// p5 nodes: eight H100 and as many NICs of 400 Gb/s.
double seconds(std::uint32_t nodes, double bytes, const std::string& nccl, const std::string& aws_ofi_nccl,
               const char* algorithm = "nvls_tree") {
    const topology::Cluster cluster = topology::build(
        {.preset = "efa", .nodes = nodes, .gpu = "H100", .nccl_version = nccl, .aws_ofi_nccl_version = aws_ofi_nccl});
    std::vector<topology::GpuId> gpus(cluster.gpus());
    std::iota(gpus.begin(), gpus.end(), 0U);
    CollectiveTimer timer(cluster, profiles().find("h100"), Group(gpus, 8));
    Insisted insisted;
    if (*algorithm != 0) insisted.algorithm = &find_algorithm(algorithm, all_reduce);
    return timer.seconds(all_reduce, bytes, insisted);
}

/// NCCL, src/enqueue.cc: 16 channels of eight GPUs are 128 chunks at once.
TEST(Proxies, ChunksAreThoseOfTheVersion) {
    struct Case {
        Version nccl;
        std::uint32_t nodes;
        double bytes, chunk;
    };
    const Case cases[] = {
        {{2, 18, 5}, 2, 4 * MiB, 32 * KiB},    {{2, 18, 5}, 2, 32 * MiB, 64 * KiB},
        {{2, 18, 5}, 2, 64 * MiB, 128 * KiB},  {{2, 18, 5}, 2, 256 * MiB, 128 * KiB},
        {{2, 18, 5}, 2, 512 * MiB, 256 * KiB}, {{2, 18, 5}, 8, 2 * GiB, 512 * KiB},
        {{2, 19, 3}, 2, 2 * GiB, 512 * KiB},   {{2, 19, 3}, 4, 2 * GiB, 64 * KiB},
        {{2, 21, 5}, 2, 2 * GiB, 128 * KiB},   {{2, 21, 5}, 8, 2 * GiB, 64 * KiB},
        {{2, 21, 5}, 8, 4 * MiB, 32 * KiB},
    };
    for (const Case& c : cases)
        EXPECT_EQ(nvls_tree_chunk(c.bytes, 8, c.nodes, with(c.nccl, {1, 7, 4})), c.chunk)
            << c.nccl.minor << ' ' << c.nodes << ' ' << c.bytes;
}

/// Four writes where the plugin cuts a chunk for four adapters, and a flush where NCCL asks for one.
TEST(Proxies, RequestsAreThoseOfTheVersions) {
    EXPECT_EQ(requests_per_chunk(64 * KiB, with({2, 19, 3}, {1, 7, 4})), hardware::aws_ofi_chunk_requests);
    EXPECT_EQ(requests_per_chunk(128 * KiB, with({2, 18, 5}, {1, 7, 3})), 18);
    EXPECT_EQ(requests_per_chunk(128 * KiB, with({2, 18, 5}, {1, 7, 4})), 9);
    EXPECT_EQ(requests_per_chunk(512 * KiB, with({2, 19, 3}, {1, 7, 4})), 16);
    EXPECT_EQ(requests_per_chunk(8 * KiB, with({2, 19, 3}, {1, 7, 3})), 7);
}

/// NVIDIA/nccl, pull request 1112: 4 GiB among 8 p5 nodes, from which the price of a request comes, in 81.1 ms with
/// chunks of 64 KiB (2.19.3) and in 30.2 with those of 512 (2.19.1), which the network bounds.
TEST(Proxies, MakeSmallChunksSlowOnAmazons) {
    EXPECT_NEAR(seconds(8, 4 * GiB, "2.19.3", "1.7.4"), 81.146e-3, 0.01 * 81.146e-3);
    const double large = seconds(8, 4 * GiB, "2.19.1", "1.7.4");
    EXPECT_EQ(large, seconds(8, 4 * GiB, "", "")) << "nothing but the network";
    EXPECT_NEAR(large, 30.2e-3, 0.25 * 30.2e-3);
    EXPECT_EQ(seconds(8, 4 * GiB, "2.21.5", "1.8.0"), large) << "the plugin asks for large chunks since then";
    EXPECT_EQ(seconds(8, 4 * GiB, "2.19.3", ""), seconds(8, 4 * GiB, "2.19.3", "1.7.4")) << "which NCCL did not heed";
    EXPECT_EQ(seconds(2, 4 * GiB, "2.19.3", ""), seconds(2, 4 * GiB, "", "")) << "and has anyway on few nodes";
}

/// NCCL does not reckon with its proxies: it takes the algorithm that would be the fastest without them.
TEST(Proxies, DoNotChangeWhatIsChosen) {
    for (const double bytes : {64 * MiB, 512 * MiB})
        EXPECT_EQ(seconds(2, bytes, "2.18.5", "1.7.3", ""), seconds(2, bytes, "2.18.5", "1.7.3"));
    EXPECT_GT(seconds(2, 256 * MiB, "2.18.5", "1.7.3"), 2 * seconds(2, 256 * MiB, "", ""));
}

}  // namespace
}  // namespace orrery::sim
