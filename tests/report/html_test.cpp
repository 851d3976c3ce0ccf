// What the pages are made of: a cluster's structure, two timelines, a profile's coverage.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "report/coverage.hpp"
#include "report/html/cluster_structure.hpp"
#include "report/html/paired_timeline.hpp"
#include "topology/catalog.hpp"
#include "topology/fabric_spec.hpp"
#include "topology/survey.hpp"

namespace orrery::report {
namespace {

using Json = nlohmann::json;

topology::Cluster cluster_of(const std::string& preset, std::uint32_t nodes, const std::string& fabric = "") {
    topology::ClusterSpec spec;
    spec.preset = preset;
    spec.nodes = nodes;
    if (!fabric.empty()) spec.fabric.kind = fabric;
    return topology::build(spec);
}

std::uint64_t nodes_of(const Json& structure) {
    std::uint64_t nodes = 0;
    for (const Json& unit : structure.at("units"))
        nodes += unit.at("count").get<std::uint64_t>() * unit.at("nodes").get<std::uint64_t>();
    return nodes;
}

std::uint64_t cables_below(const Json& row) {
    std::uint64_t cables = 0;
    for (const Json& group : row.at("groups"))
        for (const Json& below : group.at("below")) cables += below.at(1).get<std::uint64_t>();
    return cables;
}

TEST(ClusterStructure, CountsUnitsRailsAndGroupsOfASuperpod) {
    const topology::Cluster cluster = cluster_of("superpod-a100", 128);
    const Json structure = cluster_structure(cluster);
    const Json& units = structure.at("units");
    ASSERT_EQ(units.size(), 3U) << structure.dump(1);
    EXPECT_EQ(units[0], Json({{"count", 1}, {"nodes", 20}, {"switches", 8}}));
    EXPECT_EQ(units[1], Json({{"count", 5}, {"nodes", 20}, {"switches", 8}}));
    EXPECT_EQ(units[2], Json({{"count", 1}, {"nodes", 8}, {"switches", 8}}));
    ASSERT_EQ(structure.at("opened").at("switches").size(), 8U);
    EXPECT_EQ(structure["opened"]["switches"][3]["rails"], Json::array({3}));
    ASSERT_EQ(structure.at("rows").size(), 2U);
    const Json& spines = structure["rows"][0];
    EXPECT_EQ(spines.at("layer"), "spine");
    ASSERT_EQ(spines.at("groups").size(), 8U);
    EXPECT_EQ(spines["groups"][5]["rails"], Json::array({5}));
    EXPECT_EQ(spines["groups"][5]["switches"], 10);
    const topology::Survey survey = topology::survey(cluster);
    EXPECT_EQ(cables_below(spines), survey.cables.at(1).count);
    EXPECT_EQ(cables_below(structure["rows"][1]), survey.cables.at(2).count);
}

TEST(ClusterStructure, HoldsEveryNodeAndCableOfEveryFabric) {
    for (const topology::FabricKind& kind : topology::fabric_kinds()) {
        const std::string name(kind.name);
        if (name == "xgft" || name == "k-ary-fat-tree") continue;  // need shapes
        const bool slices = name == "multislice";
        const topology::Cluster cluster = cluster_of(slices ? "tpu-v4" : "dgx-a100", 24, name);
        const Json structure = cluster_structure(cluster);
        EXPECT_EQ(nodes_of(structure), cluster.nodes()) << name;
        EXPECT_FALSE(structure.at("opened").at("switches").empty()) << name;
        if (slices) continue;  // chips are the units, whose own links are not drawn
        std::uint64_t trunks = 0, drawn = 0;
        for (std::uint32_t id = 0; id < cluster.fabric().trunks(); ++id) trunks += cluster.fabric().trunk(id).cables;
        for (const Json& row : structure.at("rows")) drawn += cables_below(row) + row.at("beside").get<std::uint64_t>();
        if (!structure.at("rows").empty()) {
            EXPECT_EQ(2 * drawn, trunks) << name << ": a cable has two directions";
        }
    }
}

TEST(ClusterStructure, KeepsToAFewBoxesOfALargeCluster) {
    const Json structure = cluster_structure(cluster_of("hgx-h100", 16000));
    EXPECT_LE(structure.at("units").size(), 6U);
    for (const Json& row : structure.at("rows")) EXPECT_LE(row.at("groups").size(), 12U);
    EXPECT_EQ(nodes_of(structure), 16000U);
    EXPECT_LT(structure.dump().size(), 20'000U);
}

TEST(ClusterStructure, OfOneNodeIsNone) { EXPECT_TRUE(cluster_structure(cluster_of("dgx-a100", 1)).is_null()); }

/// One rank that runs `count` operations of a second each, so many a layer.
Json operations(std::size_t count, double seconds) {
    std::vector<std::size_t> names(count, 0);
    std::vector<std::string> phases(count, "forward"), kinds(count, "gemm"), lanes(count, "compute");
    std::vector<int> micro_batches, layers;
    std::vector<double> begin, end;
    for (std::size_t i = 0; i < count; ++i) {
        micro_batches.push_back(static_cast<int>(i / 100));
        layers.push_back(static_cast<int>(i / 10 % 10));
        begin.push_back(static_cast<double>(i) * seconds);
        end.push_back(static_cast<double>(i + 1) * seconds);
    }
    kinds[0] = "host";
    return {{"step_time_s", static_cast<double>(count) * seconds},
            {"operations",
             {{"names", {"<up>"}},
              {"roles",
               {{{"name", names},
                 {"phase", phases},
                 {"kind", kinds},
                 {"lane", lanes},
                 {"micro_batch", micro_batches},
                 {"layer", layers}}}},
              {"ranks", {{{"rank", 3}, {"role", 0}, {"begin_s", begin}, {"end_s", end}}}}}}};
}

const std::string p_file = "p.json", m_file = "m.json";

TEST(PairedTimeline, PutsThePredictedAboveTheMeasured) {
    const Json predicted = operations(20, 1e-3), measured = operations(20, 2e-3);
    const Json timeline = paired_timeline({predicted, p_file}, {measured, m_file});
    ASSERT_EQ(timeline.at("tracks").size(), 2U);
    EXPECT_EQ(timeline["tracks"][0]["title"], "rank 3 predicted");
    EXPECT_EQ(timeline["tracks"][1]["title"], "rank 3 measured");
    EXPECT_EQ(timeline.at("step_ns"), 40'000'000) << "of the longer one";
    const Json& passes = timeline["tracks"][1]["lanes"][0]["passes"];
    ASSERT_EQ(passes.size(), 19U * 5) << "what the host waits is no slice";
    EXPECT_EQ(passes[0], 2'000'000);
    EXPECT_EQ(passes[1], 2'000'000);
    EXPECT_EQ(timeline.at("labels").at(0).at("text"), "<up>") << "escaped by the page";
    EXPECT_EQ(timeline.at("left_out"), "");
}

TEST(PairedTimeline, PutsOperationsTogetherThatAreTooMany) {
    const auto slices = [](std::size_t count) {
        const Json document = operations(count, 1e-3);
        const Json timeline = paired_timeline({document, p_file}, {document, m_file});
        return timeline.at("tracks").at(0).at("lanes").at(0).at("passes").size() / 5;
    };
    EXPECT_EQ(slices(8'000), 7'999U) << "each operation";
    EXPECT_EQ(slices(20'000), 2'000U) << "ten of a layer";
    EXPECT_EQ(slices(100'000), 1'000U) << "a hundred of a pass";
}

TEST(PairedTimeline, NamesWhatIsDamaged) {
    const Json good = operations(4, 1);
    for (const char* pointer : {"/operations/roles/0/lane", "/operations/roles/0/layer", "/operations/ranks/0/end_s",
                                "/operations/roles/0/micro_batch/1"}) {
        Json bad = good;
        bad[Json::json_pointer(pointer)] = Json::array({"x"});
        try {
            paired_timeline({bad, p_file}, {bad, m_file});
            ADD_FAILURE() << pointer << " was taken";
        } catch (const Error& error) {
            EXPECT_EQ(error.file(), p_file);
            EXPECT_TRUE(std::string(pointer).starts_with(error.pointer())) << error.pointer();
        }
    }
}

TEST(Coverage, NamesEveryTableWithItsReach) {
    calibrate::Profile profile;
    calibrate::Provenance origin;
    origin.origin = "a paper";
    profile.gemm.push_back({kernels::Dtype::bf16, origin, {{64, 32, 16, 1e-6F}, {128, 32, 8, 1e-6F}}});
    profile.batched_gemm.push_back({kernels::Dtype::bf16, origin, {{4, 64, 64, 64, 1e-6F}}});
    profile.convolution.push_back({kernels::Dtype::bf16, kernels::GemmPass::forward, origin, {}});
    profile.collectives.push_back({kernels::CollectiveKind::all_reduce, 16, origin, {{1024, 1e-5}}, 2});
    const std::vector<Coverage> all = coverage(profile);
    ASSERT_EQ(all.size(), 4U);
    EXPECT_EQ(all[0].table, "gemm bf16");
    EXPECT_EQ(all[0].range, "m 64 to 128, n 32, k 8 to 16");
    EXPECT_EQ(all[1].table, "batched gemm bf16");
    EXPECT_EQ(all[2].range, "batch -, rows -");
    EXPECT_EQ(all[3].table, "all_reduce, 16 ranks on 2 nodes");
    for (const Coverage& each : all) EXPECT_EQ(each.from->origin, "a paper");
}

}  // namespace
}  // namespace orrery::report
