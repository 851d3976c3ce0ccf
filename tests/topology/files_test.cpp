// Clusters out of files: a node from NCCL's XML, a fabric from a list of cables.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "base/error.hpp"
#include "tests/topology/damage.hpp"
#include "tests/topology/walk.hpp"
#include "topology/cable_list.hpp"
#include "topology/catalog.hpp"
#include "topology/dgx.hpp"
#include "topology/nccl_xml.hpp"

namespace orrery::topology {
namespace {

constexpr const char* two_gpus = R"(<system version="1">
  <cpu numaid="0" arch="x86_64">
    <pci busid="0000:01:00.0" class="0x060400" link_speed="16.0 GT/s PCIe" link_width="16">
      <pci busid="0000:02:00.0" class="0x030200" link_speed="16.0 GT/s PCIe" link_width="16">
        <gpu dev="1" sm="80" rank="1"><nvlink target="0000:03:00.0" count="4" tclass="0x030200"/></gpu>
      </pci>
      <pci busid="0000:03:00.0" class="0x030200" link_speed="16.0 GT/s PCIe" link_width="16">
        <gpu dev="0" sm="80" rank="0"><nvlink target="0000:02:00.0" count="4" tclass="0x030200"/></gpu>
      </pci>
      <pci busid="0000:04:00.0" class="0x020000" link_speed="16.0 GT/s PCIe" link_width="8">
        <nic><net name="mlx5_0" dev="0" speed="100000" gdr="1"/></nic>
      </pci>
    </pci>
  </cpu>
</system>
)";

TEST(NcclXml, IsReadWithRatesOfTheLinks) {
    const NcclNode node = parse_nccl_xml(two_gpus, "topo.xml");
    EXPECT_EQ(node.plan.gpus(), 2u);
    EXPECT_EQ(node.plan.nics(), 1u);
    EXPECT_DOUBLE_EQ(node.nic_bytes_per_second, 12.5e9);
    ASSERT_EQ(node.plan.gpu_to_gpu(0, 1).size(), 1u) << "over NVLink";
    EXPECT_DOUBLE_EQ(node.plan.links()[node.plan.gpu_to_gpu(0, 1)[0]].link.bytes_per_second, 4 * 25e9);
    ASSERT_EQ(node.plan.gpu_to_nic(0).size(), 2u) << "over the PCIe switch";
    EXPECT_DOUBLE_EQ(node.plan.links()[node.plan.gpu_to_nic(0)[0]].link.bytes_per_second,
                     hardware::pcie4_bytes_per_second);
    EXPECT_DOUBLE_EQ(node.plan.links()[node.plan.gpu_to_nic(0)[1]].link.bytes_per_second,
                     hardware::pcie4_bytes_per_second / 2);
}

/// The same node as RCCL writes it.
std::string two_of_amd(const char* gcn) {
    std::string text = two_gpus;
    for (const auto& [from, to] : std::map<std::string, std::string>{
             {"sm=\"80\"", fmt::format("sm=\"104\" gcn=\"{}\"", gcn)}, {"<nvlink", "<xgmi"}})
        for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
            text.replace(at, from.size(), to);
    return text;
}

TEST(NcclXml, OfRcclHasXgmiLinks) {
    for (const auto& [gcn, rate] : std::map<const char*, double>{{"910", 50e9}, {"gfx942", 64e9}, {"gfx950", 76.8e9}}) {
        const NodePlan node = parse_nccl_xml(two_of_amd(gcn), "topo.xml").plan;
        ASSERT_EQ(node.gpu_to_gpu(0, 1).size(), 1u) << gcn;
        const Link& link = node.links()[node.gpu_to_gpu(0, 1)[0]].link;
        EXPECT_EQ(link.kind, LinkKind::xgmi);
        EXPECT_DOUBLE_EQ(link.bytes_per_second, 4 * rate);
    }
    try {
        (void)parse_nccl_xml(two_of_amd("908"), "topo.xml");
        ADD_FAILURE() << "accepted";
    } catch (const Error& e) {
        EXPECT_NE(e.hint().find("gfx942"), std::string::npos) << e.what();
    }
}

/// Number of links between kinds of device, by rate in MB/s.
std::map<std::string, int> census(const NodePlan& plan) {
    std::map<std::string, int> links;
    for (const auto& [from, to, link] : plan.links()) {
        ++links[std::string(name(plan.vertices()[from])) + "-" + std::string(name(plan.vertices()[to])) + " " +
                std::to_string(std::lround(link.bytes_per_second / 1e6)) + " x" + std::to_string(link.cables)];
    }
    return links;
}

/// Links of every generation and width, and slower than any, keep their rate when they are written.
TEST(NcclXml, LinksKeepTheirRate) {
    for (const char* speed : {"0.1", "2.5", "4.5", "5", "5.1", "8.0", "16.0", "32.0", "64.0"})
        for (const int width : {1, 2, 4, 8, 16}) {
            const std::string link = fmt::format(R"(link_speed="{} GT/s PCIe" link_width="{}")", speed, width);
            const std::string text = fmt::format(
                R"(<system version="1"><cpu numaid="0">
                <pci busid="0000:01:00.0" class="0x030200" {}><gpu dev="0" sm="80" rank="0"/></pci>
                <pci busid="0000:02:00.0" class="0x020000" {}><nic><net dev="0" speed="1"/></nic></pci>
                </cpu></system>)",
                link, link);
            const NcclNode node = parse_nccl_xml(text, "topo.xml");
            const NcclNode again = parse_nccl_xml(to_nccl_xml(node.plan, node.nic_bytes_per_second, 80), "again.xml");
            const auto rates = [](const NcclNode& of) {
                std::vector<double> list;
                for (const auto& [from, to, wire] : of.plan.links()) list.push_back(wire.bytes_per_second);
                return list;
            };
            const std::vector<double> read = rates(again), wired = rates(node);
            ASSERT_EQ(read.size(), wired.size());
            for (std::size_t i = 0; i < read.size(); ++i) EXPECT_NEAR(read[i], wired[i], 1e-8 * wired[i]) << link;
        }
}

TEST(NcclXml, NodesComeBackAsTheyWereWritten) {
    for (const auto& [kind, sm] : {std::pair{"dgx-1v", 70},
                                   {"dgx-a100", 80},
                                   {"dgx-h100", 90},
                                   {"hgx-a100-4", 80},
                                   {"hgx-h100-4", 90},
                                   {"gh200-4", 90},
                                   {"hgx-b200", 100},
                                   {"pcie-8", 89}}) {
        SCOPED_TRACE(kind);
        const NodeSpec& spec = find_node(kind);
        const NodePlan node = build_node(spec, spec.gpus, spec.nics);
        const NcclNode again = parse_nccl_xml(to_nccl_xml(node, spec.nic_bytes_per_second, sm), "again.xml");
        EXPECT_EQ(again.plan.gpus(), node.gpus());
        EXPECT_EQ(again.plan.nics(), node.nics());
        EXPECT_DOUBLE_EQ(again.nic_bytes_per_second, spec.nic_bytes_per_second);
        auto wired = census(node), read = census(again.plan);
        // Sockets are joined by what the format does not say.
        std::erase_if(wired, [](const auto& entry) { return entry.first.starts_with("cpu-cpu"); });
        std::erase_if(read, [](const auto& entry) { return entry.first.starts_with("cpu-cpu"); });
        EXPECT_EQ(read, wired);
        for (std::uint32_t a = 0; a < node.gpus(); ++a) {
            EXPECT_EQ(again.plan.gpu_to_nic(a).size(), node.gpu_to_nic(a).size());
            for (std::uint32_t b = 0; b < node.gpus(); ++b) {
                EXPECT_EQ(again.plan.gpu_to_gpu(a, b).size(), node.gpu_to_gpu(a, b).size());
            }
        }
    }
}

struct Bad {
    std::string from, to;  ///< replaced in the sound text
    const char *place, *hint;
};

template <class Parse>
void expect_refused(const std::string& sound, const std::vector<Bad>& bads, Parse parse) {
    for (const Bad& bad : bads) {
        SCOPED_TRACE(bad.from + " -> " + bad.to);
        std::string text = sound;
        ASSERT_NE(text.find(bad.from), std::string::npos);
        text.replace(text.find(bad.from), bad.from.size(), bad.to);
        try {
            parse(text);
            ADD_FAILURE() << "accepted";
        } catch (const Error& e) {
            EXPECT_EQ(e.file(), "bad");
            EXPECT_EQ(e.pointer(), bad.place) << e.what();
            EXPECT_NE(e.hint().find(bad.hint), std::string::npos) << e.what();
        }
    }
}

TEST(NcclXml, TakesWhatVirtualMachinesDoNotKnowAsNcclDoes) {
    const NcclNode node = parse_nccl_xml(R"(<system version="1"><cpu numaid="0">
        <pci busid="0000:02:00.0" class="0x030200" link_speed="" link_width="0"><gpu dev="0" sm="70"/></pci>
        <nic><net name="eth0" dev="0" speed="10000"/></nic></cpu></system>)",
                                         "vm.xml");
    EXPECT_EQ(node.plan.gpus(), 1u);
    EXPECT_EQ(node.plan.nics(), 1u);
    const NodePlan::Path& out = node.plan.gpu_to_nic(0);
    ASSERT_EQ(out.size(), 2u);
    EXPECT_NEAR(node.plan.links()[out[0]].link.bytes_per_second, 15.75e9, 1e7) << "PCIe 3.0 x16";
    EXPECT_DOUBLE_EQ(node.plan.links()[out[1]].link.bytes_per_second, 1.25e9);
}

TEST(NcclXml, RefusesBadFilesWithLineAndRemedy) {
    const auto parse = [](const std::string& text) { (void)parse_nccl_xml(text, "bad"); };
    expect_refused(
        two_gpus,
        {{"</system>", "", "line 15", "write it again"},
         {"<system version=\"1\">", "<graphs>", "line 15", "write it again"},
         {"sm=\"80\" rank=\"1\"", "rank=\"1\"", "line 5", "compute capability"},
         {"count=\"4\"", "count=\"-4\"", "line 5", "number of links"},
         {"target=\"0000:03:00.0\"", "target=\"0000:99:00.0\"", "line 5", "busid"},
         {"16.0 GT/s PCIe", "fast", "line 3", "16.0 GT/s"},
         {"speed=\"100000\"", "speed=\"0\"", "line 11", "Mb/s"},
         {"<nic><net name=\"mlx5_0\" dev=\"0\" speed=\"100000\" gdr=\"1\"/></nic>", "<nic></nic>", "line 1", "<net"}},
        parse);
    EXPECT_THROW(parse(""), Error);
    EXPECT_THROW((void)read_nccl_xml("/no/such/file"), Error);
}

TEST(NcclXml, SurvivesDamage) {
    std::mt19937_64 random(5);
    for (int i = 0; i < 3000; ++i) {
        SCOPED_TRACE("seed 5, round " + std::to_string(i));
        const std::string text = damaged(two_gpus, 1 + i % 4, random);
        try {
            const NcclNode node = parse_nccl_xml(text, "bad");
            EXPECT_GT(node.plan.gpus(), 0u);
        } catch (const Error& e) {
            EXPECT_EQ(e.file(), "bad");
        }
    }
}

constexpr const char* four_nodes = R"(# two leaves, two spines
node0, leaf0, 200 Gb/s, 155 ns
node1, leaf0, 200 Gb/s, 155 ns
node2, leaf1, 200 Gb/s
node3, leaf1, 200 Gb/s
leaf0, spine0, 200 Gb/s, 1 us
leaf1, spine0, 200 Gb/s, 1 us
leaf0, spine1, 100 Gb/s, 1 us
leaf1, spine1, 100 Gb/s, 1 us
)";

TEST(CableList, IsReadAsAFabric) {
    const auto fabric = parse_cable_list(four_nodes, "cables.csv", {.nodes = 0, .nics_per_node = 1});
    EXPECT_EQ(fabric->nodes(), 4u);
    EXPECT_EQ(fabric->routers(), 4u);
    EXPECT_EQ(fabric->links(), 8u + 8u);
    EXPECT_DOUBLE_EQ(fabric->parts().nic_bytes_per_second, 25e9);
    std::vector<std::uint32_t> route;
    fabric->route({0, 0}, {3, 0}, 0, route);
    ASSERT_EQ(route.size(), 4u);
    EXPECT_DOUBLE_EQ(fabric->link(route[1]).bytes_per_second, 25e9) << "the faster spine";
    EXPECT_DOUBLE_EQ(fabric->link(route[1]).latency_seconds, 1e-6);
    // 2 x 200 Gb/s of nodes, 200 + 100 Gb/s over the spines.
    EXPECT_NEAR(fabric->bisection_bytes_per_second(), 37.5e9, 1e4);
}

/// A fabric written as a list of cables.
std::string listed(const Cluster& cluster) {
    const Fabric& fabric = cluster.fabric();
    std::string text;
    for (std::uint32_t id = 0; id < fabric.links(); ++id) {
        const auto [from, to] = fabric.ends(id);
        if (from > to) continue;
        const Link link = fabric.link(id);
        const auto name = [&](std::uint32_t end) {
            const std::uint32_t nics = fabric.parts().nics_per_node;
            if (end >= fabric.ports()) return "switch" + std::to_string(end - fabric.ports());
            return "node" + std::to_string(end / nics) + "." + std::to_string(end % nics);
        };
        text += name(from) + "," + name(to) + "," + std::to_string(link.bytes_per_second / 1e9) + " GB/s\n";
    }
    return text;
}

TEST(CableList, AgreesWithTheFormulasOfTheKinds) {
    const FabricSpec kinds[] = {
        {.kind = "torus", .shape = "4x6"},
        {.kind = "hyperx", .shape = "4x4", .terminals = 1},
        {.kind = "dragonfly-plus", .terminals = 2, .routers = 2, .spines = 3, .global_links = 1},
        {.kind = "xgft", .shape = "6x4", .parents = "1x2"},
        {.kind = "full-mesh", .shape = "8"}};
    for (const FabricSpec& kind : kinds) {
        SCOPED_TRACE(kind.kind);
        // NICs ten times as fast as cables, so that the cables decide.
        FabricSpec fabric = kind;
        fabric.link_bytes_per_second = 1e9;
        const Cluster cluster = build({.preset = "ethernet",
                                       .gpu = "A100",
                                       .gpus_per_node = 1,
                                       .nics_per_node = 1,
                                       .nic_bytes_per_second = 1e12,
                                       .fabric = fabric});
        const auto again = parse_cable_list(listed(cluster), "listed.csv", {.nodes = 0, .nics_per_node = 1});
        EXPECT_EQ(again->nodes(), cluster.nodes());
        EXPECT_EQ(again->node_pairs_by_hops(), cluster.fabric().node_pairs_by_hops());
        // The first half of the nodes is the half that the formula means; max-flow min-cut.
        EXPECT_NEAR(again->bisection_bytes_per_second(), cluster.fabric().bisection_bytes_per_second(), 1e4);
    }
}

TEST(CableList, RefusesBadListsWithLineAndRemedy) {
    expect_refused(
        four_nodes,
        {{"node1, leaf0, 200 Gb/s, 155 ns", "node1, leaf0", "line 3", "write it like"},
         {"node1, leaf0, 200 Gb/s", "node1, leaf0, 200", "line 3", "write it like"},
         {"node1, leaf0, 200 Gb/s, 155 ns", "node1, leaf0, 200 Gb/s, 155", "line 3", "write it like"},
         {"node1, leaf0", "node0, leaf0", "line 3", "node0.0"},
         {"node1, leaf0", "node1, node0", "line 3", "joins a node and a switch"},
         {"leaf0, spine0", "leaf0, leaf0", "line 6", "joins a node and a switch"},
         {"node1, leaf0", "node1.1, leaf0", "line 3", "nics_per_node"},
         {"node1, leaf0", "node9, leaf0", "", "nics_per_node"},
         {"node3, leaf1", "node3, leaf7", "", "between the switches"},
         {"node1, leaf0", "node4000000000, leaf0", "line 3", "at most"}},
        [](const std::string& text) { (void)parse_cable_list(text, "bad", {.nodes = 0, .nics_per_node = 1}); });
    EXPECT_THROW((void)parse_cable_list("", "bad", {.nodes = 0, .nics_per_node = 1}), Error);
    EXPECT_THROW((void)parse_cable_list(four_nodes, "bad", {.nodes = 5, .nics_per_node = 1}), Error);
    EXPECT_THROW((void)read_cable_list("/no/such/file", {}), Error);
}

}  // namespace
}  // namespace orrery::topology
