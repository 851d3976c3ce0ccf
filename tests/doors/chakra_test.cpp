// Chakra execution traces: what is read of them, and what is said of those that cannot be replayed.
#include <gtest/gtest.h>

#include <fstream>

#include "base/error.hpp"
#include "base/temporary_folder.hpp"
#include "doors/chakra/traces.hpp"
#include "tests/doors/chakra_writer.hpp"

namespace orrery::doors {
namespace {

using strategies::GraphNode;
using Kind = GraphNode::Kind;
using Ranks = std::vector<std::vector<ChakraNode>>;

/// The files of a step, in a folder of their own.
class Step {
public:
    explicit Step(const Ranks& ranks) {
        for (std::size_t rank = 0; rank < ranks.size(); ++rank) write(rank, chakra_file(ranks[rank]));
    }
    void write(std::size_t rank, const std::string& bytes) const {
        write("step." + std::to_string(rank) + ".et", bytes);
    }
    void write(const std::string& name, const std::string& bytes) const {
        std::ofstream(folder_.path() / name, std::ios::binary) << bytes;
    }
    [[nodiscard]] std::string path(const std::string& name = "step") const { return (folder_.path() / name).string(); }
    [[nodiscard]] chakra::Traces read(const std::string& groups = "") const {
        return chakra::read_traces({path(), groups.empty() ? "" : path(groups)});
    }
    /// What is said of it: "step.1.et: ... | remedy".
    [[nodiscard]] std::string refusal(const std::string& groups = "") const {
        try {
            (void)read(groups);
        } catch (const Error& error) {
            EXPECT_EQ(error.file().find(folder_.path().string()), 0U) << error.what();
            EXPECT_FALSE(error.hint().empty()) << error.what();
            return error.file().substr(folder_.path().string().size() + 1) + ": " + error.message() + " | " +
                   error.hint();
        }
        return "accepted";
    }

private:
    TemporaryFolder folder_{"chakra"};
};

void expect_refused(const Ranks& ranks, std::initializer_list<std::string_view> words) {
    const std::string said = Step(ranks).refusal();
    for (const std::string_view word : words) EXPECT_NE(said.find(word), std::string::npos) << said;
}

TEST(ChakraReader, TakesNodesAsTheSchemaHasThem) {
    const Step step({{kernel(3, {}, 7).with("num_ops", 100).with("tensor_size", 200, As::uint64),
                      ChakraNode(5, 4, {3}).with("is_cpu_op", 1, As::boolean).micros(9).field(4, 3),
                      ChakraNode(6, 2, {5}).with("tensor_size", 300, As::uint64), ChakraNode(7, 3, {5, 5, 3}),
                      send(9, 1, {6, 7}, 400).with("comm_tag", 17, As::int32), ChakraNode(11, 1), ChakraNode(12, 0)},
                     {receive(1, 0, {}, 400).with("comm_tag", 17, As::int32).with("comm_dst", 1, As::int32)}});
    const chakra::Traces traces = step.read();
    ASSERT_EQ(traces.step.ranks.size(), 2U);
    const auto& nodes = traces.step.graph_of(0).nodes;
    ASSERT_EQ(nodes.size(), 7U);
    EXPECT_EQ(nodes[0].kind, Kind::kernel);
    EXPECT_EQ(nodes[0].flops, 100);
    EXPECT_EQ(nodes[0].bytes, 200U);
    EXPECT_DOUBLE_EQ(nodes[0].seconds, 7e-6);
    EXPECT_EQ(nodes[1].kind, Kind::host);
    EXPECT_EQ(nodes[2].kind, Kind::to_device);
    EXPECT_EQ(nodes[3].kind, Kind::to_host);
    EXPECT_EQ(nodes[3].waits, 2U) << "each once";
    EXPECT_EQ(nodes[4].kind, Kind::send);
    EXPECT_EQ(nodes[4].peer, 1);
    EXPECT_EQ(nodes[4].channel, 17U);
    EXPECT_EQ(nodes[5].kind, Kind::nothing);
    EXPECT_EQ(nodes[6].kind, Kind::nothing);
    EXPECT_EQ(traces.step.graph_of(1).nodes[0].peer, -1);
    EXPECT_EQ(traces.step.graph_of(1).nodes[0].bytes, 400U);
}

TEST(ChakraReader, TakesNumbersAsTheyAreWritten) {
    for (const As as : {As::int32, As::int64, As::uint64})
        EXPECT_EQ(Step({{kernel(1).with("num_ops", 64, as)}}).read().step.graphs[0].nodes[0].flops, 64);
    EXPECT_EQ(Step({{kernel(1).with("num_ops", 128, As::sint64)}}).read().step.graphs[0].nodes[0].flops, 64)
        << "zigzag";
}

TEST(ChakraReader, SharesWhatRanksHaveInCommon) {
    Ranks ranks;
    for (std::uint64_t rank = 0; rank < 4; ++rank) {
        const std::uint64_t other = rank ^ 1U;
        const auto message = [&](std::uint64_t id) { return rank < other ? send(id, other) : receive(id, other); };
        ranks.push_back({kernel(1), all_reduce(2, {1}).with("pg_name", std::to_string(1 + rank / 2)), message(3)});
    }
    const Step step(ranks);
    step.write("groups.json", R"({"1": [0, 1], "2": [3, 2]})");
    const chakra::Traces traces = step.read();
    EXPECT_EQ(traces.step.graphs.size(), 2U) << "those that send, and those that receive";
    EXPECT_EQ(traces.step.ranks[0].graph, traces.step.ranks[2].graph);
    const auto& node = traces.step.graph_of(2).nodes[1];
    EXPECT_EQ(traces.step.group_of(2, node), (std::vector<std::uint32_t>{2, 3}));
    EXPECT_EQ(traces.step.group_of(0, node), (std::vector<std::uint32_t>{0, 1}));
}

TEST(ChakraReader, KnowsGroupsThatPyTorchWrites) {
    const auto groups = [] {
        return ChakraNode(1, 1).inputs(R"(['[{"pg_name": "7", "ranks": [0, 1]}, {"pg_name": "8", "ranks": []}]'])");
    };
    const auto rank = [&] {
        return std::vector{groups(), all_reduce(2).with("pg_name", "7"), all_reduce(3).with("pg_name", "8"),
                           all_reduce(4)};
    };
    const std::vector<ChakraNode> third{groups(), all_reduce(3).with("pg_name", "8"), all_reduce(4)};
    const chakra::Traces traces = Step({rank(), rank(), third}).read();
    const auto& nodes = traces.step.graph_of(0).nodes;
    EXPECT_EQ(traces.step.group_of(0, nodes[1]).size(), 2U);
    EXPECT_EQ(traces.step.group_of(0, nodes[2]).size(), 3U) << "none named: all";
    EXPECT_EQ(traces.step.group_of(0, nodes[3]).size(), 3U);
}

TEST(ChakraReader, SaysWhichLibertiesItTakes) {
    const chakra::Traces traces =
        Step({{ChakraNode(1, 7).with("comm_type", 1).with("comm_size", 8), ChakraNode(2, 7).with("comm_type", 9),
               ChakraNode(3, 4), ChakraNode(4, 4).with("is_cpu_op", 1, As::boolean).with("tensor_size", 8)}})
            .read();
    ASSERT_EQ(traces.notes.size(), 4U);
    EXPECT_NE(traces.notes[0].find("REDUCE"), std::string::npos);
    EXPECT_NE(traces.notes[1].find("BARRIER"), std::string::npos);
}

TEST(ChakraReader, FindsTheFilesOfAStep) {
    const Step step({{kernel(1)}, {kernel(1)}});
    for (const std::string& given : {step.path(), step.path("step.1.et"), step.path("")})
        EXPECT_EQ(chakra::read_traces({given, ""}).step.ranks.size(), 2U) << given;
    step.write(3, chakra_file({kernel(1)}));
    EXPECT_NE(step.refusal().find("step.2.et: is missing"), std::string::npos) << step.refusal();
    EXPECT_THROW((void)chakra::read_traces({step.path("other"), ""}), Error);
    step.write("other.0.et", chakra_file({kernel(1)}));
    EXPECT_THROW((void)chakra::read_traces({step.path(""), ""}), Error) << "two steps in one folder";
    EXPECT_EQ(chakra::read_traces({step.path("other"), ""}).step.ranks.size(), 1U);
}

TEST(ChakraReader, RefusesDamagedFiles) {
    const std::string sound = chakra_file({kernel(1), all_reduce(2, {1})});
    const Step step({{kernel(1)}});
    for (std::size_t cut = 1; cut < sound.size(); ++cut) {
        step.write(0, sound.substr(0, cut));
        const std::string said = step.refusal();
        const bool whole_nodes = said == "accepted";
        EXPECT_TRUE(whole_nodes || said.find("is cut off") != std::string::npos) << cut << ": " << said;
        if (whole_nodes) {
            EXPECT_TRUE(cut == 8 || cut == chakra_file({kernel(1)}).size()) << cut;
        }
    }
    for (const std::string& bytes : {std::string(), std::string("{\"nodes\": []}"), std::string(3, '\xff'),
                                     std::string("\x02\x08\x01", 3), std::string("\x80\x80\x80\x80\x7f", 5)}) {
        step.write(0, bytes);
        EXPECT_NE(step.refusal(), "accepted") << bytes;
    }
}

TEST(ChakraReader, RefusesWhatCannotBeReplayedWithItsNode) {
    expect_refused({{kernel(1), kernel(1)}}, {"step.0.et: ", "two nodes have the id 1"});
    expect_refused({{kernel(1, {9})}}, {"node 1 waits for node 9, which there is not"});
    expect_refused({{kernel(1, {2}), kernel(2, {3}), kernel(3, {1}), kernel(4, {3})}}, {"waits for node", "in turn"});
    expect_refused({{ChakraNode(77, 8)}}, {"node 77", "is of type 8"});
    expect_refused({{ChakraNode(5, 7).with("comm_type", 3)}}, {"node 5", "comm_type 3"});
    expect_refused({{ChakraNode(5, 7)}}, {"node 5", "no comm_type"});
    expect_refused({{all_reduce(5).with("comm_size", ~std::uint64_t{0})}}, {"node 5", "comm_size -1"});
    expect_refused({{all_reduce(5).with("pg_name", "3")}}, {"node 5", "group \"3\"", "--groups"});
    expect_refused({{ChakraNode(5, 5)}, {}}, {"node 5", "does not say whom it sends to"});
    expect_refused({{send(5, 0)}, {}}, {"node 5", "comm_dst 0"});
    expect_refused({{send(5, 2)}, {}}, {"node 5", "comm_dst 2", "0 to 1"});
    expect_refused({{send(5, 1).with("comm_src", 1)}, {}}, {"node 5", "comm_src 1", "is rank 0's"});
    expect_refused({{send(5, 1)}, {}}, {"step.0.et", "node 5 sends to rank 1"});
    expect_refused({{}, {receive(6, 0)}}, {"step.1.et", "node 6 receives from rank 0"});
    expect_refused({{send(5, 1, {}, 10)}, {receive(6, 0, {}, 11)}}, {"sends 10 bytes", "node 6 receives 11"});
    expect_refused({{send(5, 1).with("comm_tag", 1)}, {receive(6, 0).with("comm_tag", 2)}}, {"node 5", "tag 1"});
    expect_refused({{all_reduce(5)}, {}}, {"step.1.et", "rank 1 has no collective", "rank 0 has node 5"});
    expect_refused({{all_reduce(5)}, {all_reduce(6), all_reduce(7)}}, {"step.1.et", "2 collectives"});
    expect_refused({{all_reduce(5, {}, 10)}, {all_reduce(6, {}, 11)}}, {"step.1.et", "node 6", "rank 0", "node 5"});
}

TEST(ChakraReader, RefusesGroupsThatAreNone) {
    const Step step({{all_reduce(1).with("pg_name", "1")}, {all_reduce(1).with("pg_name", "1")}});
    const auto refusal = [&](const char* groups) {
        step.write("g.json", groups);
        return step.refusal("g.json");
    };
    EXPECT_EQ(refusal(R"({"1": [0, 1]})"), "accepted");
    EXPECT_NE(refusal(R"({"1": [0, 0]})").find("twice"), std::string::npos);
    EXPECT_NE(refusal(R"({"1": [0, 2]})").find("2 is no rank"), std::string::npos);
    EXPECT_NE(refusal(R"({"1": []})").find("no list of ranks"), std::string::npos);
    EXPECT_NE(refusal(R"([])").find("no object"), std::string::npos);
    EXPECT_NE(refusal(R"({"2": [0, 1]})").find("step.0.et: node 1"), std::string::npos);
    EXPECT_NE(refusal(R"({"1": [1]})").find("rank 0 is not in"), std::string::npos);
    EXPECT_NE(refusal("{").find("g.json"), std::string::npos);
}

}  // namespace
}  // namespace orrery::doors
