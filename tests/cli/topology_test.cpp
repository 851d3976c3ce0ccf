// orrery topology and orrery list fabrics.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/process.hpp"
#include "topology/fabric_spec.hpp"

namespace orrery::cli {
namespace {

using Json = nlohmann::json;

constexpr const char* shipped = "scenarios/gpt3-175b-superpod-a100.json";

/// Runs `orrery topology` on a scenario that has only a cluster.
Result topology_of(const std::string& cluster, std::vector<std::string> more = {}) {
    const Folder folder;
    std::vector<std::string> arguments{"topology", folder.file("s.json", "{\"cluster\": " + cluster + "}")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return orrery(arguments);
}

TEST(Topology, PrintsWhatPlannersAskFor) {
    const Result result = orrery({"topology", shipped});
    EXPECT_EQ(result.exit, 0) << result.err;
    for (const char* word : {"superpod-a100: 1,024 GPUs", "fat-tree of 3 tiers, 8 rails", "leaf ", "spine - core",
                             "bisection         102.4 Tb/s", "oversubscription  1.00 : 1", "switches apart",
                             "ok       a leaf uses 40 of 40 ports"})
        EXPECT_NE(result.out.find(word), std::string::npos) << word << " is missing from\n" << result.out;
}

TEST(Topology, WritesJsonAloneToStandardOutput) {
    const Result result = topology_of(R"({"preset": "tpu-v4", "nodes": 64})", {"--json", "-"});
    ASSERT_EQ(result.exit, 0) << result.err;
    const Json report = Json::parse(result.out);
    EXPECT_EQ(report.at("gpus"), 64);
    EXPECT_EQ(report.at("diameter"), 6);
    EXPECT_EQ(report.at("bisection_bytes_per_second"), 2 * 16 * 50e9);
    EXPECT_EQ(report.at("cables").at(0).at("count"), 64 * 3);
    EXPECT_EQ(report.at("checks").at(0).at("ok"), true);
}

TEST(Topology, DrawsEveryKindOfFabric) {
    for (const topology::FabricKind& kind : topology::fabric_kinds()) {
        const std::string name(kind.name);
        const std::string keys = name == "xgft"             ? R"(, "shape": "4x4", "parents": "1x2")"
                                 : name == "k-ary-fat-tree" ? R"(, "switch_ports": 8)"
                                                            : "";
        const Folder folder;
        const std::string preset = name == "multislice" ? "tpu-v5e" : "dgx-a100";
        const std::string scenario = folder.file(
            "s.json", R"({"cluster": {"preset": ")" + preset + R"(", "fabric": ")" + name + "\"" + keys + "}}");
        const Result result =
            orrery({"topology", scenario, "--svg", folder / "a.svg", "--dot", folder / "a.dot", "--quiet"});
        ASSERT_EQ(result.exit, 0) << name << ": " << result.err;
        EXPECT_EQ(result.out, "");
        const std::string svg = content_of(folder / "a.svg"), dot = content_of(folder / "a.dot");
        EXPECT_TRUE(svg.starts_with("<svg ") && svg.ends_with("</svg>\n")) << name;
        EXPECT_NE(svg.find("<line "), std::string::npos) << name;
        EXPECT_TRUE(dot.starts_with("graph \"" + preset + "\" {") && dot.ends_with("}\n")) << name;
        EXPECT_NE(dot.find(" -- "), std::string::npos) << name;
    }
}

TEST(Topology, DrawsALargeClusterByItsUnits) {
    const Result result = topology_of(R"({"preset": "superpod-h100", "nodes": 2048})", {"--svg", "-"});
    ASSERT_EQ(result.exit, 0) << result.err;
    for (const char* word : {"2048 nodes", "63 units more", "a node, one of 32", "each with each", "16384 x 400 Gb/s"})
        EXPECT_NE(result.out.find(word), std::string::npos) << word << " is missing";
    EXPECT_LT(result.out.size(), 40'000u);
    EXPECT_EQ(topology_of(R"({"preset": "superpod-h100", "nodes": 2048})", {"--dot", "-"}).exit, 2)
        << "too many to draw";
}

TEST(Topology, ShowsFailures) {
    const Result text = orrery({"topology", shipped, "--set", "cluster.failed=[\"spine 3\"]"});
    EXPECT_EQ(text.exit, 0) << text.err;
    EXPECT_NE(text.out.find("42 failed links"), std::string::npos) << text.out;
    const Result svg = orrery({"topology", shipped, "--set", "cluster.failed=[\"spine 0\"]", "--svg", "-"});
    EXPECT_NE(svg.out.find("42 failed links"), std::string::npos);
    EXPECT_NE(svg.out.find("14 of 1120 cables above the first layer"), std::string::npos) << "of spine 0";
    const Result dot = topology_of(
        R"({"preset": "ethernet", "nodes": 80, "gpus_per_node": 1, "failed": ["leaf 0 - spine 0"]})", {"--dot", "-"});
    EXPECT_NE(dot.out.find("style=dashed"), std::string::npos);
}

TEST(Topology, SaysWhatIsWrongWhereAndHowToMendIt) {
    struct Bad {
        const char *cluster, *pointer, *hint;
    };
    const Bad bads[] = {
        {R"({"preset": "dgx-a100", "fabric": "torsu"})", ":/cluster/fabric:", "torus"},
        {R"({"preset": "dgx-a100", "fabric": "torus", "shape": "4*4"})", ":/cluster/shape:", "4x4x8"},
        {R"({"preset": "dgx-a100", "failed": ["leaf 400"]})", ":/cluster/failed/0:", "leaf 7"},
        {R"({"preset": "dgx-a100", "failed": ["leaf 0"]})", ":/cluster/failed:", "leave some"},
        {R"({"preset": "dgx-a100", "failed": "leaf 0"})", ":/cluster/failed:", "list of texts"},
        {R"({"preset": "dgx-a100", "routing": "best"})", ":/cluster/routing:", "ecmp"},
        {R"({"preset": "dgx-1v", "more_nodes": ["P100"]})", ":/cluster/more_nodes/0:", "4 x P100"},
        {R"({"preset": "dgx-1v", "colour": "blue"})", ":/cluster/colour:", "nearest known key"},
        {R"([])", "cluster", "object"},
    };
    for (const Bad& bad : bads) {
        SCOPED_TRACE(bad.cluster);
        const Result result = topology_of(bad.cluster);
        EXPECT_EQ(result.exit, 2);
        EXPECT_EQ(result.out, "");
        EXPECT_NE(result.err.find(bad.pointer), std::string::npos) << result.err;
        EXPECT_NE(result.err.find(bad.hint), std::string::npos) << result.err;
    }
    EXPECT_EQ(orrery({"topology"}).exit, 2);
    EXPECT_EQ(orrery({"topology", "no-such-file.json"}).exit, 2);
    const Folder folder;
    EXPECT_EQ(orrery({"topology", folder.file("s.json", "{}")}).exit, 2);
}

/// The table of compute capabilities was read beyond its end for cores of hosts.
TEST(Topology, WritesNoNcclFileForHosts) {
    const Folder folder;
    const std::string out = folder / "x.xml";
    const Result result = orrery({"topology", "scenarios/gpt-tiny-cpu.json", "--nccl-xml", out});
    EXPECT_EQ(result.exit, 2);
    EXPECT_NE(result.err.find("CPU-core is no GPU that NCCL runs on"), std::string::npos) << result.err;
    EXPECT_FALSE(std::filesystem::exists(out));
}

TEST(Topology, ReadsFilesBesideTheScenario) {
    const Folder folder;
    const std::string own = R"({"cluster": {"preset": "dgx-a100", "nodes": 2}})";
    const Result written = orrery({"topology", folder.file("own.json", own), "--simgrid", folder / "platform.xml",
                                   "--nccl-xml", folder / "node.xml", "--quiet"});
    ASSERT_EQ(written.exit, 0) << written.err;
    (void)folder.file("cables.csv", "node0, leaf, 100 Gb/s\nnode1, leaf, 100 Gb/s\nnode2, leaf, 100 Gb/s\n");
    struct Case {
        const char *cluster, *shown;
    };
    const Case cases[] = {
        {R"({"cluster": {"preset": "ethernet", "gpu": "A100", "gpus_per_node": 1, "fabric_file": "platform.xml"}})",
         "16 hosts on listed routes"},
        {R"({"cluster": {"preset": "ethernet", "gpus_per_node": 1, "fabric_file": "cables.csv"}})", "3 nodes"},
        {R"({"cluster": {"preset": "dgx-a100", "nodes": 2, "node_file": "node.xml"}})", "300 GB/s a GPU"},
    };
    for (const Case& c : cases) {
        SCOPED_TRACE(c.cluster);
        const Result result = orrery({"topology", folder.file("s.json", c.cluster)});
        EXPECT_EQ(result.exit, 0) << result.err;
        EXPECT_NE(result.out.find(c.shown), std::string::npos) << result.out;
    }
}

TEST(Topology, WritesWhatItCanWhereAFormatHasALimit) {
    const Folder folder;
    const Result result = orrery({"topology", "scenarios/gpt3-175b-superpod-a100.json", "--simgrid", folder / "x.xml",
                                  "--svg", folder / "x.svg", "--json", folder / "x.json"});
    EXPECT_EQ(result.exit, 2);
    EXPECT_NE(result.err.find("1024 GPUs"), std::string::npos) << result.err;
    EXPECT_EQ(folder.names(), (std::vector<std::string>{"x.json", "x.svg"}));
    EXPECT_NE(result.out.find("1,024 GPUs"), std::string::npos) << result.out;
}

TEST(Topology, NamesTheFileAndLineThatIsWrong) {
    const Folder folder;
    const std::string scenario =
        folder.file("s.json", R"({"cluster": {"preset": "ethernet", "gpus_per_node": 1, "fabric_file": "own.xml"}})");
    EXPECT_NE(orrery({"topology", scenario}).err.find("own.xml"), std::string::npos) << "there is none yet";
    (void)folder.file("own.xml", "<platform version=\"4.1\">\n<zone id=\"z\" routing=\"Floyd\"/></platform>");
    const Result result = orrery({"topology", scenario});
    EXPECT_EQ(result.exit, 2);
    EXPECT_NE(result.err.find("own.xml:line 2"), std::string::npos) << result.err;
    const Result nics = orrery({"topology", scenario, "--set", "cluster.failed=[\"link 0\"]"});
    EXPECT_NE(nics.err.find("/cluster/failed"), std::string::npos) << nics.err;
}

TEST(Topology, OfSeveralKindsOfGpuIsShownAndWithoutAProfileNotPredicted) {
    const std::string more = "cluster.more_nodes=[\"2 x H20\"]", scenario = "scenarios/bert-large-dgx-1v.json";
    const Result shown = orrery({"topology", scenario, "--set", more});
    EXPECT_EQ(shown.exit, 0) << shown.err;
    EXPECT_NE(shown.out.find("2 nodes of 8 H20-SXM-96GB"), std::string::npos) << shown.out;
    EXPECT_EQ(orrery({"simulate", scenario, "--set", more, "--quiet"}).exit, 0);
    // A data folder of one's own has what one puts there.
    const Folder folder;
    std::filesystem::create_directories(folder / "profiles");
    std::filesystem::copy_file("scenarios/profiles/v100.json", folder / "profiles/v100.json");
    const Result predicted = orrery({"simulate", scenario, "--set", more}, {"ORRERY_DATA=" + (folder / "")});
    EXPECT_EQ(predicted.exit, 2);
    EXPECT_NE(predicted.err.find("/profile: no profile is shipped for H20-SXM-96GB"), std::string::npos)
        << predicted.err;
    EXPECT_NE(predicted.err.find(R"({"H20-SXM-96GB": "FILE.json"})"), std::string::npos) << predicted.err;
}

TEST(List, FabricsNamesEveryKind) {
    const Result result = orrery({"list", "fabrics"});
    EXPECT_EQ(result.exit, 0) << result.err;
    for (const topology::FabricKind& kind : topology::fabric_kinds())
        EXPECT_NE(result.out.find('\n' + std::string(kind.name) + ' '), std::string::npos) << kind.name;
}

}  // namespace
}  // namespace orrery::cli
