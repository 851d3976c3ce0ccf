// SimGrid platforms read and written; tests/sim compares them with SimGrid itself.
#include <gtest/gtest.h>

#include <random>

#include "base/error.hpp"
#include "topology/catalog.hpp"
#include "topology/simgrid_xml.hpp"

namespace orrery::topology {
namespace {

/// Three hosts with full-duplex cables on one switch, and a router that leads to a cluster of four.
const std::string sound = R"(<?xml version='1.0'?>
<platform version="4.1">
  <zone id="site" routing="Full">
    <zone id="rack" routing="Full">
      <host id="a" speed="1Gf"/><host id="b" speed="1Gf"/><host id="c" speed="1Gf"/>
      <router id="gate"/>
      <link id="la" bandwidth="10GBps" latency="1us" sharing_policy="SPLITDUPLEX"/>
      <link id="lb" bandwidth="80Gbps" latency="1us" sharing_policy="SPLITDUPLEX"/>
      <link id="lc" bandwidth="5GBps" latency="1us" sharing_policy="SPLITDUPLEX"/>
      <route src="a" dst="b"><link_ctn id="la" direction="UP"/><link_ctn id="lb" direction="DOWN"/></route>
      <route src="a" dst="c"><link_ctn id="la" direction="UP"/><link_ctn id="lc" direction="DOWN"/></route>
      <route src="b" dst="c"><link_ctn id="lb" direction="UP"/><link_ctn id="lc" direction="DOWN"/></route>
      <route src="a" dst="gate"><link_ctn id="la" direction="UP"/></route>
      <route src="b" dst="gate"><link_ctn id="lb" direction="UP"/></route>
      <route src="c" dst="gate"><link_ctn id="lc" direction="UP"/></route>
    </zone>
    <cluster id="farm" prefix="n" suffix=".x" radical="0-2,7" speed="1Gf" bw="25GBps" lat="500ns"
             sharing_policy="FULLDUPLEX"/>
    <link id="trunk" bandwidth="8GBps" latency="10us"/>
    <link id="unused" bandwidth="8GBps" latency="0"/>
    <zoneRoute src="rack" dst="farm" gw_src="gate" gw_dst="nfarm_router.x"><link_ctn id="trunk"/></zoneRoute>
  </zone>
</platform>
)";

std::shared_ptr<const Fabric> parse(const std::string& text) {
    return parse_simgrid_xml(text, "bad", {.nodes = 0, .nics_per_node = 1});
}

double seconds_of(const Fabric& fabric, std::uint32_t from, std::uint32_t to) {
    std::vector<std::uint32_t> route;
    fabric.route({from, 0}, {to, 0}, 0, route);
    double seconds = 0;
    for (const std::uint32_t id : route) seconds += fabric.link(id).latency_seconds;
    return seconds;
}

TEST(SimgridXml, IsReadAsAFabric) {
    const auto fabric = parse(sound);
    EXPECT_EQ(fabric->nodes(), 7u);
    EXPECT_DOUBLE_EQ(fabric->parts().nic_bytes_per_second, 5e9) << "the slowest";
    EXPECT_EQ(fabric->routers(), 1u) << "the shared trunk joins both switches";
    EXPECT_EQ(fabric->trunks(), 1u);
    EXPECT_DOUBLE_EQ(fabric->link(1).bytes_per_second, 10e9) << "80 Gb/s";
    EXPECT_DOUBLE_EQ(seconds_of(*fabric, 0, 1), 2e-6);
    EXPECT_DOUBLE_EQ(seconds_of(*fabric, 3, 6), 1e-6);
    EXPECT_DOUBLE_EQ(seconds_of(*fabric, 6, 2), 11.5e-6);
    // a, b, c send to the four: 8 GB/s of the trunk carry all of the 12 pairs.
    EXPECT_NEAR(fabric->bisection_bytes_per_second(), 8e9, 1);
}

TEST(SimgridXml, AHostWithoutACableOfItsOwnGetsARouter) {
    // A ring of three links that both directions share: every host begins routes with two of them.
    const auto fabric = parse(R"(<platform version="4.1"><zone id="z" routing="Full">
      <host id="a" speed="1f"/><host id="b" speed="1f"/><host id="c" speed="1f"/>
      <link id="ab" bandwidth="1GBps"/><link id="bc" bandwidth="2GBps"/><link id="ca" bandwidth="3GBps"/>
      <route src="a" dst="b"><link_ctn id="ab"/></route>
      <route src="b" dst="c"><link_ctn id="bc"/></route>
      <route src="c" dst="a"><link_ctn id="ca"/></route></zone></platform>)");
    EXPECT_EQ(fabric->trunks(), 3u);
    EXPECT_DOUBLE_EQ(fabric->link(0).bytes_per_second, 4e9) << "a's cable takes what ab and ca can";
    std::vector<std::uint32_t> there, back;
    fabric->route({0, 0}, {1, 0}, 0, there);
    fabric->route({1, 0}, {0, 0}, 0, back);
    ASSERT_EQ(there.size(), 3u);
    ASSERT_EQ(back.size(), 3u);
    EXPECT_EQ(there[1], back[1]) << "one capacity for both directions";
}

TEST(SimgridXml, RoutesHoldTogether) {
    const auto fabric = parse(sound);
    for (std::uint32_t from = 0; from < fabric->nodes(); ++from) {
        for (std::uint32_t to = 0; to < fabric->nodes(); ++to) {
            if (from == to) continue;
            std::vector<std::uint32_t> route;
            fabric->route({from, 0}, {to, 0}, 0, route);
            std::uint32_t at = from;
            for (const std::uint32_t id : route) {
                EXPECT_EQ(fabric->ends(id).from, at) << from << " to " << to;
                at = fabric->ends(id).to;
            }
            EXPECT_EQ(at, to);
        }
    }
}

TEST(SimgridXml, OurOwnIsReadAgainWithTheSameRoutes) {
    for (const char* kind : {"", "torus", "dragonfly", "rail-only"}) {
        SCOPED_TRACE(kind);
        const Cluster cluster = build({.preset = "dgx-a100", .nodes = 6, .gpus_per_node = 4, .fabric = {.kind = kind}});
        const auto again = parse(to_simgrid_xml(cluster));
        ASSERT_EQ(again->nodes(), cluster.gpus());
        for (GpuId from = 0; from < cluster.gpus(); ++from) {
            for (GpuId to = 0; to < cluster.gpus(); ++to) {
                if (from == to) continue;
                EXPECT_NEAR(seconds_of(*again, from, to), cluster.latency_seconds(from, to), 1e-15);
            }
        }
    }
}

TEST(SimgridXml, RefusesToWriteWhatSimGridCannotSay) {
    EXPECT_THROW((void)to_simgrid_xml(build({.preset = "dgx-a100", .nodes = 33})), Error);
    EXPECT_THROW((void)to_simgrid_xml(build({.preset = "dgx-a100", .nodes = 2, .routing = "spray"})), Error);
    EXPECT_NO_THROW((void)to_simgrid_xml(build({.preset = "dgx-a100", .nodes = 2, .routing = "ecmp"})));
}

struct Bad {
    std::string from, to;  ///< replaced in the sound text
    const char *line, *hint;
};

TEST(SimgridXml, RefusesBadFilesWithLineAndRemedy) {
    const Bad bads[] = {
        {"</platform>", "", "line 23", "well-formed"},
        {"platform version=\"4.1\">\n", "system>\n", "line 23", "well-formed"},
        {"<zone id=\"rack\" routing=\"Full\"", "<zone id=\"rack\" routing=\"Floyd\"", "line 4", "Full"},
        {"<router id=\"gate\"/>", "<peer id=\"gate\"/>", "line 6", "zoneRoute and cluster"},
        {"<router id=\"gate\"/>", "<router id=\"a\"/>", "line 6", "another"},
        {"<router id=\"gate\"/>", "<router/>", "line 6", "add id"},
        {"10GBps", "10GB", "line 7", "25GBps"},
        {"10GBps", "-10GBps", "line 7", "25GBps"},
        {"10GBps", "nanGBps", "line 7", "25GBps"},
        {"latency=\"1us\"", "latency=\"1\"", "line 7", "1.5us"},
        {"latency=\"1us\"", "latency=\"-1us\"", "line 7", "1.5us"},
        {"id=\"lb\" bandwidth", "id=\"la\" bandwidth", "line 8", "another"},
        {"sharing_policy=\"SPLITDUPLEX\"", "sharing_policy=\"WIFI\"", "line 7", "SPLITDUPLEX"},
        {"sharing_policy=\"SPLITDUPLEX\"", "sharing_policy=\"FATPIPE\"", "line 10", "leave it out"},
        {"latency=\"1us\"", "bandwidth_file=\"x\"", "line 7", "leave it out"},
        {"id=\"la\" direction=\"UP\"", "id=\"la\"", "line 10", "UP or DOWN"},
        {"<link_ctn id=\"trunk\"/>", "<link_ctn id=\"trunk\" direction=\"UP\"/>", "line 21", "SHARED"},
        {"<link_ctn id=\"trunk\"/>", "<link_ctn id=\"trunks\"/>", "line 21", "name a <link>"},
        {"dst=\"b\"", "dst=\"d\"", "line 10", "host, router or zone"},
        {"dst=\"b\"", "dst=\"rack\"", "line 10", "host or router (route)"},
        {"src=\"a\" dst=\"c\"", "src=\"a\" dst=\"b\"", "line 11", "symmetrical"},
        {"gw_src=\"gate\"", "gw_src=\"n0.x\"", "line 21", "in rack"},
        {"dst=\"farm\" gw", "dst=\"n0.x\" gw", "line 21", "zone (zoneRoute)"},
        {"radical=\"0-2,7\"", "radical=\"2-0\"", "line 17", "0-3,5"},
        {"radical=\"0-2,7\"", "radical=\"0-4000000000\"", "line 17", "0-3,5"},
        {"radical=\"0-2,7\"", "radical=\"0-2,\"", "line 17", "0-3,5"},
        {"lat=\"500ns\"", "lat=\"500ns\" topology=\"TORUS\"", "line 17", "torus"},
        {"lat=\"500ns\"", "lat=\"500ns\" limiter_link=\"1GBps\"", "line 17", "leave it out"},
    };
    for (const Bad& bad : bads) {
        SCOPED_TRACE(bad.from + " -> " + bad.to);
        std::string text = sound;
        ASSERT_NE(text.find(bad.from), std::string::npos);
        text.replace(text.find(bad.from), bad.from.size(), bad.to);
        try {
            (void)parse(text);
            ADD_FAILURE() << "accepted";
        } catch (const Error& e) {
            EXPECT_EQ(e.file(), "bad");
            EXPECT_EQ(e.pointer(), bad.line) << e.what();
            EXPECT_NE((e.message() + e.hint()).find(bad.hint), std::string::npos) << e.what() << ' ' << e.hint();
        }
    }
}

TEST(SimgridXml, RefusesHostsWithoutARouteAndOtherSizes) {
    std::string text = sound;
    text.erase(text.find("<zoneRoute"), text.find("</zoneRoute>") + 12 - text.find("<zoneRoute"));
    EXPECT_THROW((void)parse(text), Error);
    EXPECT_THROW((void)parse("<platform version=\"4.1\"/>"), Error);
    EXPECT_THROW((void)parse(""), Error);
    EXPECT_THROW((void)parse_simgrid_xml(sound, "bad", {.nodes = 6, .nics_per_node = 1}), Error);
    EXPECT_THROW((void)parse_simgrid_xml(sound, "bad", {.nodes = 0, .nics_per_node = 2}), Error);
    EXPECT_THROW((void)read_simgrid_xml("/no/such/file.xml", {}), Error);
}

TEST(SimgridXml, SurvivesDamage) {
    std::mt19937_64 random(6);
    int read = 0;
    for (int i = 0; i < 2000; ++i) {
        SCOPED_TRACE("seed 6, round " + std::to_string(i));
        std::string text = sound;
        for (int k = 0; k < 1 + i % 3; ++k) {
            const std::size_t at = random() % text.size();
            if (random() % 2 == 0) {
                text[at] = static_cast<char>(random() % 256);
            } else {
                text.erase(at, random() % 20);
            }
        }
        try {
            read += parse(text)->nodes() >= 2 ? 1 : 0;
        } catch (const Error& e) {
            EXPECT_EQ(e.file(), "bad");
        }
    }
    EXPECT_GT(read, 0) << "damage to white space does no harm";
}

}  // namespace
}  // namespace orrery::topology
