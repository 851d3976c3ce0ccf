// A million GPUs cost next to nothing to build, and under a microsecond to route between.
#include <gtest/gtest.h>
#include <malloc.h>
#include <time.h>

#include "tests/topology/walk.hpp"
#include "topology/catalog.hpp"

namespace orrery::topology {
namespace {

/// CPU time of this thread: other programs on the machine do not count.
double cpu_seconds() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Bytes that the program holds from the heap.
double heap_bytes() { return static_cast<double>(mallinfo2().uordblks) + static_cast<double>(mallinfo2().hblkhd); }

TEST(Scale, AMillionGpus) {
    const double start = cpu_seconds(), empty = heap_bytes();
    const Cluster cluster = build({.preset = "dgx-a100", .nodes = 131072, .switch_ports = 256});
    const double built = cpu_seconds() - start, held = heap_bytes() - empty;
    ASSERT_EQ(cluster.gpus(), 1'048'576u);

    const double before = cpu_seconds();
    std::size_t links = 0;
    constexpr std::uint32_t routes = 200'000;
    std::vector<LinkId> route;
    for (std::uint32_t i = 0; i < routes; ++i) {
        cluster.route(i * 7919U % cluster.gpus(), i * 104729U % cluster.gpus(), route);
        links += route.size();
        for (const LinkId id : route) ASSERT_GT(cluster.link(id).bytes_per_second, 0);
    }
    const double each = (cpu_seconds() - before) / routes;
    RecordProperty("build_seconds", std::to_string(built));
    RecordProperty("route_seconds", std::to_string(each * 1e6) + " us");
    EXPECT_GT(links, routes);
    // Generous, for builds without optimisation and with sanitizers; a table of links or a search would be far beyond.
    EXPECT_LT(built, 0.5);
    EXPECT_LT(each, 50e-6);
    EXPECT_LT(held, 1e6) << "bytes";
}

TEST(Scale, AMillionGpusKnowTheirFabric) {
    const Properties p = properties(build({.preset = "dgx-a100", .nodes = 131072, .switch_ports = 256}));
    EXPECT_EQ(p.cables_by_tier, std::vector<std::uint32_t>(3, 1'048'576)) << "non-blocking: as many cables up as down";
    for (const std::uint32_t used : p.max_ports_by_tier) EXPECT_LE(used, 256u);
    EXPECT_DOUBLE_EQ(p.bisection_bytes_per_second, 131072 / 2 * 8 * 25e9);
}

TEST(Scale, RoutesOfAHundredThousandGpusAreConnected) {
    const Cluster cluster = build({.preset = "hgx-b200", .nodes = 12500});
    const Walker walker(cluster);
    for (std::uint32_t i = 0; i < 2000; ++i) {
        walker.expect_connected(i * 7919U % cluster.gpus(), i * 104729U % cluster.gpus());
    }
}

}  // namespace
}  // namespace orrery::topology
