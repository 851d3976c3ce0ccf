// Times of collectives: bounds, growth, continuity, and the errors that other simulators are known for.
#include "sim/collective/timer.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>

#include "base/error.hpp"
#include "hardware/compute_capability.hpp"
#include "sim/collective/chip_grid.hpp"
#include "sim/collective/nccl_tuning.hpp"
#include "sim/network.hpp"
#include "tests/sim/bench.hpp"
#include "topology/catalog.hpp"

namespace orrery::sim {
namespace {

using kernels::CollectiveKind;
using enum kernels::CollectiveKind;
using topology::GpuId;

constexpr double MiB = 1 << 20;

std::vector<GpuId> first(std::uint32_t ranks) {
    std::vector<GpuId> gpus(ranks);
    std::iota(gpus.begin(), gpus.end(), 0U);
    return gpus;
}

/// A preset with its own profile.
class Bed {
public:
    explicit Bed(const topology::ClusterSpec& spec)
        : cluster(topology::build(spec)), predictor(profiles().find(cluster.gpu().profile)) {}
    [[nodiscard]] CollectiveTimer timer(std::uint32_t ranks) const {
        return {cluster, predictor, Group(first(ranks), cluster.gpus_per_node())};
    }
    [[nodiscard]] double seconds(CollectiveKind kind, std::uint32_t ranks, double bytes,
                                 const char* algorithm = "") const {
        Insisted insisted;
        if (*algorithm != 0) insisted.algorithm = &find_algorithm(algorithm, kind);
        return timer(ranks).seconds(kind, bytes, insisted);
    }
    topology::Cluster cluster;
    const calibrate::Predictor& predictor;
};

const topology::ClusterSpec beds[] = {{.preset = "superpod-a100", .nodes = 64},
                                      {.preset = "dgx-h100", .nodes = 64},
                                      {.preset = "ethernet", .nodes = 64},
                                      {.preset = "efa", .nodes = 16}};
constexpr CollectiveKind kinds[] = {all_reduce, all_gather, reduce_scatter, all_to_all, broadcast};

TEST(Times, NeverBeatTheNicsNorALatency) {
    std::mt19937_64 random(7);
    for (const auto& spec : beds) {
        const Bed bed(spec);
        const double nics = bed.cluster.nics_per_node() * bed.cluster.nic_bytes_per_second();
        for (const Algorithm& algorithm : algorithms())
            for (const CollectiveKind kind : algorithm.kinds) {
                if (algorithm.name == "torus_ring") continue;
                const bool reduces = bed.cluster.gpu_of(0).compute_capability >= hardware::hopper;  // its NVSwitches
                if (algorithm.latencies == Latencies::in_switch && !reduces) continue;
                const double bytes = std::exp2(4 + static_cast<double>(random() % 280) / 10);
                const std::uint32_t nodes = 2U << random() % 3, ranks = nodes * bed.cluster.gpus_per_node();
                SCOPED_TRACE(testing::Message() << spec.preset << ' ' << algorithm.name << ' ' << kernels::name(kind));
                const double seconds = bed.seconds(kind, ranks, bytes, std::string(algorithm.name).c_str());
                const double node_bytes = algorithm.outline(kind, {ranks, nodes}).node_bytes * bytes;
                EXPECT_GE(seconds, node_bytes / nics);
                EXPECT_GE(seconds, bed.cluster.latency_seconds(0, ranks - 1));
            }
    }
}

TEST(Times, AreContinuousAndNeverFallWithTheSize) {
    for (const auto& spec : beds) {
        const Bed bed(spec);
        for (const CollectiveKind kind : kinds)
            for (const std::uint32_t ranks : {8U, 16U, 64U}) {
                CollectiveTimer timer = bed.timer(ranks);
                double before = 0;
                for (double bytes = 16; bytes < 2e10; bytes *= 1.09) {
                    const double now = timer.seconds(kind, bytes);
                    ASSERT_GE(now, before * (1 - 1e-12)) << spec.preset << ' ' << kernels::name(kind) << ' ' << bytes;
                    const double after = timer.seconds(kind, bytes * (1 + 1e-9));
                    ASSERT_NEAR(after, now, 1e-6 * now) << spec.preset << ' ' << kernels::name(kind) << ' ' << bytes;
                    before = now;
                }
            }
    }
}

TEST(Times, NeverFallWithMoreNodes) {
    for (const auto& spec : beds) {
        const Bed bed(spec);
        const std::uint32_t local = bed.cluster.gpus_per_node();
        for (const CollectiveKind kind : kinds)
            for (double bytes = 64; bytes < 1e10; bytes *= 8) {
                double before = 0;
                for (std::uint32_t nodes = 1; nodes <= bed.cluster.nodes(); nodes *= 2) {
                    const double now = bed.seconds(kind, nodes * local, bytes);
                    EXPECT_GE(now, before * (1 - 1e-9))
                        << spec.preset << ' ' << kernels::name(kind) << ' ' << bytes << ' ' << nodes;
                    before = now;
                }
            }
    }
}

TEST(Times, NeverFallOnSlowerNics) {
    for (const CollectiveKind kind : kinds)
        for (double bytes = 1024; bytes < 1e10; bytes *= 16) {
            double before = 0;
            for (const double gigabits : {800.0, 400.0, 200.0, 100.0, 25.0}) {
                const Bed bed({.preset = "dgx-h100", .nodes = 8, .nic_bytes_per_second = gigabits * 1e9 / 8});
                const double now = bed.seconds(kind, 64, bytes);
                EXPECT_GE(now, before * (1 - 1e-12)) << kernels::name(kind) << ' ' << bytes << ' ' << gigabits;
                before = now;
            }
        }
}

/// ASTRA-sim's "direct" takes as long on 64 GPUs as on 512; all_gather of SimAI falls from 1,024 to 2,048 GPUs, an
/// all_reduce of 1 MiB takes a third of one of 1 MiB - 1 B, and one of 512 KiB on 256 GPUs nothing.
/// NCCL's correction of trees: half of the rate is left of 512 KiB under Simple, nothing is lost of a gigabyte, and
/// between two sizes of the table the share lies between theirs. Times of trees grow with the size all the same.
TEST(Times, TreesLoseRateAtMediumSizes) {
    const Algorithm& tree = find_algorithm("tree", all_reduce);
    EXPECT_DOUBLE_EQ(tree_correction(tree, Protocol::simple, MiB / 2), 0.5);
    EXPECT_DOUBLE_EQ(tree_correction(tree, Protocol::simple, 1024 * MiB), 1);
    EXPECT_DOUBLE_EQ(tree_correction(tree, Protocol::simple, 8 * MiB), 0.8);
    EXPECT_NEAR(tree_correction(tree, Protocol::simple, 8 * MiB * std::sqrt(2)), 0.75, 1e-12);
    EXPECT_DOUBLE_EQ(tree_correction(tree, Protocol::ll128, 1), 1);
    EXPECT_DOUBLE_EQ(tree_correction(find_algorithm("ring", all_reduce), Protocol::simple, MiB), 1);
    for (const auto& spec : beds) {
        const Bed bed(spec);
        double before = 0;
        for (double bytes = 64; bytes < 4e9; bytes *= 1.07) {
            const double now = bed.seconds(all_reduce, 16, bytes, "tree");
            ASSERT_GE(now, before * (1 - 1e-12)) << spec.preset << ' ' << bytes;
            before = now;
        }
    }
}

TEST(Times, DoNotShowOtherSimulatorsErrors) {
    const Bed bed({.preset = "superpod-h100", .nodes = 256});
    EXPECT_GT(bed.seconds(all_to_all, 512, MiB, "direct"), 1.5 * bed.seconds(all_to_all, 64, MiB, "direct"));
    const double gather = bed.seconds(all_gather, 1024, 64 * MiB);
    EXPECT_GE(gather, bed.seconds(all_gather, 256, 64 * MiB));
    EXPECT_GE(bed.seconds(all_gather, 2048, 64 * MiB), gather);
    EXPECT_NEAR(bed.seconds(all_reduce, 256, MiB - 1), bed.seconds(all_reduce, 256, MiB), 1e-8);
    EXPECT_GT(bed.seconds(all_reduce, 256, MiB / 2), 20e-6);
}

TEST(Times, AutomaticIsTheFastestOfWhatNcclWeighs) {
    const Bed bed({.preset = "dgx-h100", .nodes = 8});
    for (double bytes = 256; bytes < 1e10; bytes *= 7) {
        const double fastest = bed.seconds(all_reduce, 64, bytes);
        for (const char* name : {"ring", "tree", "nvls_tree"})
            EXPECT_LE(fastest, bed.seconds(all_reduce, 64, bytes, name) * (1 + 1e-12)) << name << ' ' << bytes;
    }
}

/// Where no link beyond the NICs can bind, a step's flow alone and the algorithm's own links take equally long.
TEST(Times, AgreeWithTheNetworkOfASimulatedStep) {
    for (const char* preset : {"superpod-a100", "dgx-h100"}) {
        const Bed bed({.preset = preset, .nodes = 4});
        const Network network(bed.cluster, bed.predictor);
        const auto gpus = first(32);
        const auto path = network.path(gpus);
        const double launch = bed.predictor.constant("collective_launch_seconds");
        for (const CollectiveKind kind : kinds)
            for (const double bytes : {1e3, 1e6, 1e9}) {
                const double alone = network.alone(network.collective(kind, gpus, bytes, path), path) - launch;
                EXPECT_NEAR(bed.seconds(kind, 32, bytes), alone, 0.03 * alone) << preset << ' ' << kernels::name(kind);
            }
    }
}

TEST(Times, ReductionsInNvswitchesAreRefusedWhereTheyCannotReduce) {
    EXPECT_GT(Bed({.preset = "dgx-h100", .nodes = 2}).seconds(all_reduce, 16, MiB, "nvls_tree"), 0);
    try {
        (void)Bed({.preset = "dgx-a100", .nodes = 2}).seconds(all_reduce, 16, MiB, "nvls_tree");
        FAIL() << "an A100's NVSwitches reduced";
    } catch (const Error& error) {
        EXPECT_NE(error.hint().find("ring or tree"), std::string::npos);
    }
}

/// What a profile measured on just so many nodes is what a simulated step takes, and so it is what is printed.
TEST(Times, AreThoseThatTheProfileMeasuredBetweenNodes) {
    const auto cluster = topology::build({.preset = "superpod-a100", .nodes = 4});
    calibrate::Profile profile = profiles().find("a100").profile();
    const std::vector<calibrate::CollectivePoint> points{{1e3, 5e-5}, {1e6, 4e-4}, {1e9, 3e-1}};
    profile.collectives.push_back({CollectiveKind::all_reduce, 16, profile.collectives[0].provenance, points, 2});
    profile.collectives.push_back({CollectiveKind::send_recv, 2, profile.collectives[0].provenance, points, 2});
    const calibrate::Predictor predictor(profile), published(profiles().find("a100").profile());
    const Group sixteen(first(16), 8), all(first(32), 8), pair(std::vector<topology::GpuId>{0, 8}, 8);
    CollectiveTimer timer(cluster, predictor, sixteen), larger(cluster, predictor, all), other(cluster, published, all);
    CollectiveTimer message(cluster, predictor, pair);
    for (const auto& [bytes, seconds, half_width] : points) {
        const CollectiveTime time = timer.time(CollectiveKind::all_reduce, bytes);
        EXPECT_NEAR(time.seconds, seconds, 1e-9 * seconds);
        EXPECT_NE(time.why.find("measured so"), std::string::npos) << time.why;
        EXPECT_NEAR(message.seconds(CollectiveKind::send_recv, bytes), seconds, 1e-9 * seconds);
        EXPECT_EQ(larger.seconds(CollectiveKind::all_reduce, bytes), other.seconds(CollectiveKind::all_reduce, bytes));
    }
    const Insisted tree{&find_algorithm("tree", CollectiveKind::all_reduce), std::nullopt};
    EXPECT_NE(timer.seconds(CollectiveKind::all_reduce, 1e9, tree), 3e-1) << "who insists is not given a table";
}

/// Whatever joins the GPUs of a node.
TEST(Times, NoLinkIsBusierThanItCanBe) {
    for (const auto& [preset, profile] :
         {std::pair{"mi300x", "mi300x"}, {"frontier", "mi250x"}, {"dgx-1v", "v100"}, {"superpod-a100", "a100"}}) {
        const topology::Cluster cluster = topology::build({.preset = preset, .nodes = 4});
        CollectiveTimer timer(cluster, profiles().find(profile), Group(first(32), 8));
        for (const CollectiveKind kind : {all_reduce, CollectiveKind::all_gather}) {
            const CollectiveTime time = timer.time(kind, 256 * MiB);
            EXPECT_FALSE(time.busiest.empty()) << preset;
            for (const LinkShare& link : time.busiest) EXPECT_LE(link.utilisation, 1 + 1e-9) << preset << link.link;
        }
    }
}

/// Rings around a torus use every link: faster than one ring through all chips, in latency and in bandwidth.
TEST(Times, TorusRingsUseTheTorus) {
    const topology::Cluster cluster = topology::build({.preset = "tpu-v4", .nodes = 512});
    const auto& predictor = profiles().find("a100");
    CollectiveTimer timer(cluster, predictor, Group(first(512), 1, {{8, 8, 8}}));
    for (const double bytes : {1e4, 1e8}) {
        const double torus = timer.seconds(all_reduce, bytes, {&find_algorithm("torus_ring", all_reduce), {}});
        const double ring = timer.seconds(all_reduce, bytes, {&find_algorithm("ring", all_reduce), Protocol::simple});
        EXPECT_LT(torus, ring / 2) << bytes;
        EXPECT_GE(torus, 2.0 * 511 / 512 * bytes / (6 * 50e9)) << "six links of 50 GB/s";
    }
}

/// Chips that fill a grid of their torus, in whichever places of it.
TEST(Times, ChipsFindTheirGrid) {
    const topology::Cluster pod = topology::build({.preset = "tpu-v5p", .fabric = {.kind = "torus", .shape = "4x4x8"}});
    const auto grid = [&](std::vector<GpuId> gpus) { return grid_of(pod, gpus); };
    EXPECT_EQ(grid(first(128)), (Grid{{4, 4, 8}}));
    EXPECT_EQ(grid(first(8)), (Grid{{4, 2}}));
    EXPECT_EQ(grid({1, 5, 9, 13}), (Grid{{4}})) << "along the second dimension";
    EXPECT_EQ(grid({0, 2, 64, 66}), (Grid{{2, 2}})) << "every second place";
    EXPECT_EQ(grid(first(6)), Grid{}) << "six of two rows fill no box";
    EXPECT_EQ(grid({7}), Grid{});
    const topology::Cluster slices =
        topology::build({.preset = "tpu-v5e", .fabric = {.kind = "multislice", .shape = "4x4", .groups = 2}});
    const auto sliced = [&](std::vector<GpuId> gpus) { return grid_of(slices, gpus); };
    EXPECT_EQ(sliced({16, 17, 18, 19}), (Grid{{4}}));
    EXPECT_EQ(sliced(first(32)), (Grid{{4, 4}, 2}));
    EXPECT_EQ(sliced({4, 5, 20, 21}), (Grid{{2}, 2}));
    EXPECT_EQ(sliced({0, 16}), Grid{}) << "a chip of each";
    EXPECT_EQ(sliced({0, 1, 17, 18}), Grid{}) << "in other places of each";
    EXPECT_EQ(sliced({0, 1, 16}), Grid{}) << "fewer of the second";
    EXPECT_EQ(grid_of(topology::build({.preset = "dgx-h100", .nodes = 4, .fabric = {.kind = "torus"}}), first(32)),
              Grid{})
        << "nodes with NCCL";
}

/// What a gather brings from another slice is a chip's share of its slice: it takes as long as the longer of that over
/// the hosts' network and of a gather inside a slice, not what one ring through all chips takes.
TEST(Times, SlicesGatherAmongThemselvesFirst) {
    const topology::ClusterSpec spec{.preset = "tpu-v6e",
                                     .fabric = {.kind = "multislice", .shape = "16x16", .groups = 2}};
    const Bed pods(spec);
    const auto seconds = [&](std::uint32_t ranks, double bytes) {
        const auto gpus = first(ranks);
        return CollectiveTimer(pods.cluster, pods.predictor, Group(gpus, 1, grid_of(pods.cluster, gpus)))
            .seconds(all_gather, bytes);
    };
    const double both = seconds(512, 1e9), one = seconds(256, 1e9);
    EXPECT_GE(both, one * 0.999);
    EXPECT_LE(both, one * 1.1);
    const auto gpus = first(512);
    EXPECT_GT(CollectiveTimer(pods.cluster, pods.predictor, Group(gpus, 1)).seconds(all_gather, 1e9), 3 * both);
}

/// "How to Scale Your Model", part 3, case 2: 680 us for an all-gather of 33.6 MB along four TPU v5e in a row, 8 us for
/// one of 32 KB a chip. Payload and hop of hardware/datasheets.hpp come from these two; that a row without a way round
/// its end takes 3/4 of the bytes across its links is the torus's doing.
TEST(Times, OfARowOfChipsAreThoseRead) {
    const Bed pod({.preset = "tpu-v5e"});
    const auto of = [&](double bytes) {
        CollectiveTimer timer(pod.cluster, pod.predictor, Group(first(4), 1, grid_of(pod.cluster, first(4))));
        return timer.time(all_gather, bytes);
    };
    EXPECT_NEAR(of(33.6e6).seconds, 680e-6, 1e-6);
    EXPECT_NEAR(of(4 * 32e3).seconds, 8e-6 + 2.6e-6, 0.2e-6);
    EXPECT_EQ(of(33.6e6).algorithm, "torus_ring");
}

/// What a step is charged is what is printed of the collective by itself.
TEST(Times, OfChipsAreTheSimulatedOnes) {
    const topology::FabricSpec slices{.kind = "multislice", .shape = "4x4", .groups = 4};
    for (const Bed& pod : {Bed({.preset = "tpu-v4", .nodes = 64}), Bed({.preset = "tpu-v6e", .fabric = slices})}) {
        const Network network(pod.cluster, pod.predictor);
        for (const std::uint32_t ranks : {4u, 16u, 64u}) {
            const auto gpus = first(ranks);
            const auto path = network.path(gpus);
            CollectiveTimer timer(pod.cluster, pod.predictor, Group(gpus, 1, grid_of(pod.cluster, gpus)));
            for (const CollectiveKind kind : {all_reduce, all_gather, reduce_scatter})
                for (const double bytes : {1e4, 1e7, 1e9}) {
                    const double alone = network.alone(network.collective(kind, gpus, bytes, path), path);
                    EXPECT_NEAR(timer.seconds(kind, bytes), alone, 1e-6 * alone)
                        << pod.cluster.name() << ' ' << ranks << ' ' << kernels::name(kind);
                }
        }
    }
}

TEST(Times, SayWhatTheyAreMadeOf) {
    const Bed bed({.preset = "dgx-h100", .nodes = 4});
    CollectiveTimer timer = bed.timer(32);
    const CollectiveTime large = timer.time(all_reduce, 1024 * MiB);
    EXPECT_EQ(large.algorithm, "nvls_tree");
    EXPECT_NE(large.why.find("next "), std::string::npos);
    ASSERT_FALSE(large.busiest.empty());
    EXPECT_LE(large.busiest.front().utilisation, 1);
    EXPECT_GT(large.busiest.front().utilisation, 0.5);
    EXPECT_EQ(timer.time(all_reduce, 1024).algorithm, "tree");
    EXPECT_EQ(bed.timer(8).time(all_reduce, MiB).algorithm, "measured");
    EXPECT_EQ(timer.time(all_to_all, MiB).algorithm, "pxn");
    EXPECT_THROW((void)timer.seconds(all_to_all, MiB, {nullptr, Protocol::ll}), Error);
}

}  // namespace
}  // namespace orrery::sim
