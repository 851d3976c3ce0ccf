// SimGrid platforms that topology/ writes and reads, held against SimGrid itself: it loads the files, finds the same
// links between the same hosts, and takes as long for the same messages.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <numeric>
#include <set>
#include <simgrid/s4u/Actor.hpp>
#include <simgrid/s4u/Comm.hpp>
#include <simgrid/s4u/Engine.hpp>
#include <simgrid/s4u/Host.hpp>
#include <simgrid/s4u/Link.hpp>

#include "sim/simgrid/kernel.hpp"
#include "topology/catalog.hpp"
#include "topology/simgrid_xml.hpp"

namespace orrery::sim {
namespace {

namespace s4u = simgrid::s4u;

/// SimGrid with a platform out of XML text.
class Loaded {
public:
    explicit Loaded(const std::string& text) {
        const auto file = std::filesystem::temp_directory_path() / ("platform" + std::to_string(getpid()) + ".xml");
        std::ofstream(file) << text;
        s4u::Engine::get_instance()->load_platform(file.string());
        std::filesystem::remove(file);
    }

    struct Way {
        double seconds = 0;
        std::multiset<double> bytes_per_second;
    };
    [[nodiscard]] static Way way(const std::string& from, const std::string& to) {
        std::vector<s4u::Link*> links;
        Way way;
        s4u::Host::by_name(from)->route_to(s4u::Host::by_name(to), links, &way.seconds);
        for (const s4u::Link* link : links) way.bytes_per_second.insert(link->get_bandwidth());
        return way;
    }

private:
    SimgridKernel kernel_;
};

/// A platform a process (ctest's): of a second engine SimGrid 3.32 readies the first one's models, which are gone.
class SimgridPlatformOf : public testing::TestWithParam<const char*> {};

TEST_P(SimgridPlatformOf, AClusterHasItsRoutes) {
    const topology::Cluster cluster =
        topology::build({.preset = "dgx-a100", .nodes = 4, .fabric = {.kind = GetParam()}, .routing = "ecmp"});
    const Loaded simgrid(topology::to_simgrid_xml(cluster));
    for (topology::GpuId from = 0; from < cluster.gpus(); ++from) {
        for (topology::GpuId to = 0; to < cluster.gpus(); ++to) {
            if (from == to) continue;
            std::multiset<double> rates;
            for (const topology::LinkId id : cluster.route(from, to)) rates.insert(cluster.link(id).bytes_per_second);
            const Loaded::Way way = Loaded::way("gpu" + std::to_string(from), "gpu" + std::to_string(to));
            EXPECT_NEAR(way.seconds, cluster.latency_seconds(from, to), 1e-15);
            EXPECT_EQ(way.bytes_per_second, rates);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Fabrics, SimgridPlatformOf, testing::Values("", "torus", "dragonfly"),
                         [](const auto& fabric) { return *fabric.param == 0 ? "own" : fabric.param; });

/// Sends `bytes` from every host to the one 9 places on, all at once; seconds until the last arrives.
double shift(std::uint32_t gpus, std::uint64_t bytes) {
    const double start = s4u::Engine::get_clock();
    for (std::uint32_t gpu = 0; gpu < gpus; ++gpu) {
        const auto to = "gpu" + std::to_string((gpu + 9) % gpus);
        s4u::Host* const from = s4u::Host::by_name("gpu" + std::to_string(gpu));
        s4u::Actor::create("sender", from,
                           [from, to, bytes] { s4u::Comm::sendto(from, s4u::Host::by_name(to), bytes); });
    }
    s4u::Engine::get_instance()->run();
    return s4u::Engine::get_clock() - start;
}

TEST(SimgridPlatform, OfAClusterTakesAsLongAsItsBusiestLink) {
    const topology::Cluster cluster = topology::build({.preset = "ethernet",
                                                       .nodes = 8,
                                                       .gpu = "A100",
                                                       .gpus_per_node = 4,
                                                       .nics_per_node = 4,
                                                       .fabric = {.kind = "torus", .shape = "2x4", .terminals = 4}});
    const Loaded simgrid(topology::to_simgrid_xml(cluster));
    constexpr std::uint64_t bytes = 1'000'000'000;
    std::vector<double> seconds_a_byte(cluster.links(), 0);
    double latency = 0;
    for (topology::GpuId gpu = 0; gpu < cluster.gpus(); ++gpu) {
        const topology::GpuId to = (gpu + 9) % cluster.gpus();
        for (const topology::LinkId id : cluster.route(gpu, to)) {
            seconds_a_byte[id] += 1 / cluster.link(id).bytes_per_second;
        }
        latency = std::max(latency, cluster.latency_seconds(gpu, to));
    }
    const double busiest = *std::ranges::max_element(seconds_a_byte);
    EXPECT_GT(busiest, 1.5 / cluster.nic_bytes_per_second()) << "messages meet on the torus";
    const double seconds = shift(cluster.gpus(), bytes);
    EXPECT_GE(seconds, busiest * bytes * (1 - 1e-9));
    EXPECT_LE(seconds, (busiest * bytes + latency) * (1 + 1e-9));
}

/// Nested zones, a cluster with a backbone, and links of both policies.
const std::string nested = R"(<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <zone id="site" routing="Full">
    <zone id="rack" routing="Full">
      <host id="a" speed="1Gf"/><host id="b" speed="1Gf"/>
      <router id="gate"/>
      <link id="la" bandwidth="10GBps" latency="1us" sharing_policy="SPLITDUPLEX"/>
      <link id="lb" bandwidth="80Gbps" latency="2us"/>
      <route src="a" dst="b"><link_ctn id="la" direction="UP"/><link_ctn id="lb"/></route>
      <route src="a" dst="gate"><link_ctn id="la" direction="UP"/></route>
      <route src="b" dst="gate"><link_ctn id="lb"/></route>
    </zone>
    <cluster id="farm" prefix="n" suffix=".x" radical="0-2,7" speed="1Gf" bw="25GBps" lat="500ns"
             bb_bw="40GBps" bb_lat="3us"/>
    <cluster id="barn" prefix="m" suffix="" radical="1-2" speed="1Gf" bw="20GBps" lat="700ns" router_id="door"/>
    <link id="trunk" bandwidth="8GBps" latency="10us"/>
    <link id="fibre" bandwidth="9GBps" latency="20us" sharing_policy="SPLITDUPLEX"/>
    <zoneRoute src="rack" dst="farm" gw_src="gate" gw_dst="nfarm_router.x"><link_ctn id="trunk"/></zoneRoute>
    <zoneRoute src="rack" dst="barn" gw_src="gate" gw_dst="door"><link_ctn id="fibre" direction="UP"/></zoneRoute>
    <zoneRoute src="farm" dst="barn" gw_src="nfarm_router.x" gw_dst="door">
      <link_ctn id="trunk"/><link_ctn id="fibre" direction="UP"/></zoneRoute>
  </zone>
</platform>
)";

TEST(SimgridPlatform, IsReadAsSimGridReadsIt) {
    const auto fabric = topology::parse_simgrid_xml(nested, "nested.xml", {.nodes = 0, .nics_per_node = 1});
    const std::vector<std::string> hosts{"a", "b", "n0.x", "n1.x", "n2.x", "n7.x", "m1", "m2"};
    ASSERT_EQ(fabric->nodes(), hosts.size());
    const Loaded simgrid(nested);
    for (std::uint32_t from = 0; from < hosts.size(); ++from) {
        for (std::uint32_t to = 0; to < hosts.size(); ++to) {
            if (from == to) continue;
            SCOPED_TRACE(hosts[from] + " to " + hosts[to]);
            const Loaded::Way way = Loaded::way(hosts[from], hosts[to]);
            std::vector<std::uint32_t> route;
            fabric->route({from, 0}, {to, 0}, 0, route);
            double seconds = 0;
            std::multiset<double> rates;
            for (const std::uint32_t id : route) {
                const topology::Link link = fabric->link(id);
                seconds += link.latency_seconds;
                // The cable of a host without one of its own is wide enough never to matter.
                if (link.kind == topology::LinkKind::nic && link.latency_seconds == 0) continue;
                rates.insert(link.bytes_per_second);
            }
            EXPECT_NEAR(seconds, way.seconds, 1e-15);
            EXPECT_EQ(rates, way.bytes_per_second);
        }
    }
}

}  // namespace
}  // namespace orrery::sim
