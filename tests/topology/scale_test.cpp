// A hundred thousand GPUs are built in about a second, and routed in about a microsecond.
#include <gtest/gtest.h>
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

TEST(Scale, AHundredThousandGpus) {
    const double start = cpu_seconds();
    const Cluster cluster = build({.preset = "hgx-h100", .nodes = 12500});
    const double built = cpu_seconds() - start;
    ASSERT_EQ(cluster.gpus(), 100'000u);

    const double before = cpu_seconds();
    std::size_t links = 0;
    constexpr std::uint32_t routes = 200'000;
    for (std::uint32_t i = 0; i < routes; ++i) {
        links += cluster.route(i * 7919U % cluster.gpus(), i * 104729U % cluster.gpus()).size();
    }
    const double each = (cpu_seconds() - before) / routes;
    RecordProperty("build_seconds", std::to_string(built));
    RecordProperty("route_seconds", std::to_string(each * 1e6) + " us");
    EXPECT_GT(links, routes);
    // Generous, for builds without optimisation and with sanitizers; a search per route would be far beyond.
    EXPECT_LT(built, 20);
    EXPECT_LT(each, 50e-6);
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
