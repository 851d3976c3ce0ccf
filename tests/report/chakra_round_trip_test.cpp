// A step that is written as Chakra traces, read again and replayed on its cluster: the same work, the same
// communication, the same order, and the time that is predicted for it.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "base/temporary_folder.hpp"
#include "doors/chakra/traces.hpp"
#include "report/chakra.hpp"
#include "scenarios/scenario.hpp"
#include "sim/graph_replay.hpp"
#include "sim/kind_costs.hpp"
#include "sim/predict.hpp"
#include "strategies/build.hpp"
#include "strategies/hazards.hpp"

namespace orrery::report {
namespace {

using strategies::GraphNode;
using strategies::StepGraph;
using strategies::StepProgram;
using Kind = GraphNode::Kind;

scenarios::Scenario shipped(const std::string& name, const std::vector<scenarios::Override>& changes = {}) {
    return scenarios::load("scenarios/" + name + ".json", changes);
}

/// A pipeline of two stages with tensor, data and sharding, on two nodes; its kernels are short beside their launches.
scenarios::Scenario mixed(bool launched_at_once = false) {
    const nlohmann::json document = {{"model", {{"name", "gpt2"}, {"num_hidden_layers", 4}}},
                                     {"cluster", {{"preset", "superpod-a100"}, {"nodes", 2}}},
                                     {"strategy", {{"tensor", 2}, {"pipeline", 2}, {"data", 4}, {"sharding", "zero1"}}},
                                     {"training",
                                      {{"micro_batch_size", 1},
                                       {"global_batch_size", 32},
                                       {"seq_length", 512},
                                       {"precision", "bf16"},
                                       {"cuda_graph", launched_at_once}}}};
    return scenarios::from_json(document, "mixed.json");
}

/// Keys and values go round among eight ranks, within nodes and between them.
scenarios::Scenario rings() {
    const nlohmann::json document = {
        {"model", {{"name", "llama3-8b"}, {"num_hidden_layers", 2}}},
        {"cluster", {{"preset", "superpod-a100"}, {"nodes", 2}}},
        {"strategy", {{"tensor", 2}, {"context", 8}, {"cp_comm_type", "p2p"}}},
        {"training",
         {{"micro_batch_size", 1}, {"global_batch_size", 2}, {"seq_length", 16384}, {"precision", "bf16"}}}};
    return scenarios::from_json(document, "rings.json");
}

/// Written, and read again.
class RoundTrip {
public:
    explicit RoundTrip(const scenarios::Scenario& scenario, bool timed = false)
        : scenario_(scenario),
          cluster_(topology::build(scenario.cluster)),
          timing_(sim::profiles_of(scenario, cluster_, profiles_)),
          program_(strategies::unrolled(strategies::build(scenario.plan))) {
        const sim::Network network(cluster_, timing_);
        const sim::KindCosts costs(program_, scenario.plan, network, sim::BesideCollectives::slowed, nullptr);
        const auto cost = [&](std::uint32_t rank, std::uint32_t op) {
            return costs.of_rank(rank).of(program_.role[rank], op);
        };
        std::optional<ChakraTimes> times;
        if (timed)
            times = ChakraTimes{[&](std::uint32_t rank, std::uint32_t op) { return cost(rank, op).device; },
                                [&](std::uint32_t rank, std::uint32_t op) { return cost(rank, op).host; }};
        const ChakraTrace trace(program_, times);
        const auto file = [&](const std::string& name) {
            return std::ofstream(folder_.path() / name, std::ios::binary);
        };
        for (std::uint32_t rank = 0; rank < program_.role.size(); ++rank) {
            auto out = file("step." + std::to_string(rank) + ".et");
            trace.write(rank, [&](std::string_view text) { out << text; });
        }
        file("groups.json") << trace.groups_json();
        read_ = doors::chakra::read_traces({(folder_.path() / "step").string(), ""});
    }

    [[nodiscard]] const StepProgram& program() const { return program_; }
    [[nodiscard]] const StepGraph& graph() const { return read_.step; }
    [[nodiscard]] sim::GraphReplayed replay(bool by_work) const {
        return sim::replay_graph(read_.step, cluster_, timing_,
                                 {.by_work = by_work, .dtype = scenario_.plan.training.precision.compute});
    }
    [[nodiscard]] double predicted() const {
        return sim::predict(scenario_, {.scale_factor = false, .advice = false}).step_time_s;
    }

private:
    scenarios::Scenario scenario_;
    calibrate::ProfileStore profiles_;
    topology::Cluster cluster_;
    sim::Profiles timing_;
    StepProgram program_;
    TemporaryFolder folder_{"chakra"};
    doors::chakra::Traces read_;
};

/// The program's operation that a node of a trace without times stands for.
const strategies::Op& op_of(const StepProgram& program, std::uint32_t rank, const GraphNode& node) {
    return program.programs[program.role[rank]].ops[node.id];
}

TEST(ChakraRoundTrip, GivesWorkBackToTheFlopAndByte) {
    const RoundTrip trip(mixed());
    const StepProgram& program = trip.program();
    ASSERT_EQ(trip.graph().ranks.size(), program.role.size());
    EXPECT_EQ(trip.graph().graphs.size(), program.programs.size()) << "ranks of a stage share their graph";
    for (std::uint32_t rank = 0; rank < program.role.size(); ++rank)
        for (const GraphNode& node : trip.graph().graph_of(rank).nodes) {
            const auto* const compute = std::get_if<strategies::Compute>(&op_of(program, rank, node).what);
            if (compute == nullptr) continue;
            EXPECT_EQ(node.kind, Kind::kernel);
            EXPECT_NEAR(node.flops, std::max(1.0, kernels::flops(program.kernels[compute->kernel])), 0.5);
            EXPECT_NEAR(static_cast<double>(node.bytes), kernels::bytes(program.kernels[compute->kernel]), 0.5);
        }
}

TEST(ChakraRoundTrip, GivesCommunicationBackWithItsGroupsAndPeers) {
    const RoundTrip trip(mixed());
    const StepProgram& program = trip.program();
    std::size_t collectives = 0, messages = 0;
    for (std::uint32_t rank = 0; rank < program.role.size(); ++rank)
        for (const GraphNode& node : trip.graph().graph_of(rank).nodes) {
            const strategies::What& what = op_of(program, rank, node).what;
            if (node.kind == Kind::collective) {
                const auto& collective = std::get<strategies::Collective>(what);
                EXPECT_EQ(node.collective, collective.kind);
                EXPECT_EQ(trip.graph().whole_bytes(rank, node), static_cast<double>(collective.bytes));
                EXPECT_EQ(trip.graph().group_of(rank, node), program.mesh.group(rank, collective.group));
                ++collectives;
            } else if (node.kind == Kind::send) {
                const auto& send = std::get<strategies::Send>(what);
                EXPECT_EQ(StepGraph::other_end(rank, node), program.mesh.peer(rank, send.axis, send.delta));
                EXPECT_EQ(node.bytes, send.bytes);
                ++messages;
            } else if (node.kind == Kind::receive) {
                const auto& receive = std::get<strategies::Recv>(what);
                EXPECT_EQ(StepGraph::other_end(rank, node), program.mesh.peer(rank, receive.axis, receive.delta));
                EXPECT_EQ(node.bytes, receive.bytes);
            }
        }
    EXPECT_GT(collectives, 100U);
    EXPECT_GT(messages, 10U);
}

TEST(ChakraRoundTrip, GivesDependenciesBack) {
    const RoundTrip trip(mixed());
    const StepProgram& program = trip.program();
    for (std::uint32_t role = 0; role < program.programs.size(); ++role) {
        const auto rank = static_cast<std::uint32_t>(std::ranges::find(program.role, role) - program.role.begin());
        const strategies::RankGraph& graph = trip.graph().graph_of(rank);
        const strategies::Hazards hazards(program.programs[role]);
        std::size_t held = 0;
        for (const GraphNode& node : graph.nodes) {
            std::set<std::uint64_t> waits;
            for (const std::uint32_t other : graph.waits_of(node)) waits.insert(graph.nodes[other].id);
            for (const std::uint32_t other : hazards.of(static_cast<std::uint32_t>(node.id))) {
                if (std::holds_alternative<strategies::HostSync>(program.programs[role].ops[other].what)) continue;
                EXPECT_TRUE(waits.contains(other)) << node.id << " waits for " << other;
                ++held;
            }
        }
        EXPECT_GT(held, 50U);
    }
}

/// With times in the trace nothing is left to guess: the same launches, kernels and transfers, on the same links.
TEST(ChakraRoundTrip, TakesThePredictedTimeWhereTimesAreWritten) {
    for (const scenarios::Scenario& scenario :
         {mixed(), shipped("gpt-tiny-cpu"), shipped("resnet-50-dgx-a100"), shipped("mixtral-tiny-cpu"),
          shipped("gpt-1.7b-dgx-a100"), shipped("llama3-8b-dgx-h100", {{"training.global_batch_size", "16"}})}) {
        const RoundTrip trip(scenario, true);
        const sim::GraphReplayed ran = trip.replay(false);
        EXPECT_NEAR(ran.seconds, trip.predicted(), 1e-9 * ran.seconds) << scenario.name;
        EXPECT_GT(ran.recorded, 0U);
        EXPECT_EQ(ran.by_work, 0U);
    }
}

/// A ring that passes on is one collective of the program, and a message from each rank in the trace.
TEST(ChakraRoundTrip, TakesNearlyThatForRings) {
    const RoundTrip trip(rings(), true);
    const sim::GraphReplayed ran = trip.replay(false);
    EXPECT_NEAR(ran.seconds, trip.predicted(), 1e-3 * ran.seconds);
    EXPECT_TRUE(std::ranges::any_of(ran.transfers, [](const sim::TransferUse& use) {
        return use.kind == kernels::CollectiveKind::send_recv && use.nodes == 2;
    }));
}

/// By FLOPs and bytes alone a kernel's kind and shape are lost: products count as square ones, attention as a product,
/// and what runs beside it is known only in part. Steps of mostly products are no farther off than this; those that
/// wait for launches, or are mostly attention, are (doors/README.md).
TEST(ChakraRoundTrip, ComesNearThePredictedTimeByWorkAlone) {
    for (const scenarios::Scenario& scenario :
         {mixed(true), shipped("gpt-tiny-cpu"), shipped("resnet-50-dgx-a100"), shipped("gpt-1.7b-dgx-a100"),
          shipped("mistral-7b-dgx-a100", {{"training.global_batch_size", "64"}})}) {
        const RoundTrip trip(scenario);
        const sim::GraphReplayed ran = trip.replay(true);
        EXPECT_NEAR(ran.seconds, trip.predicted(), 0.15 * ran.seconds) << scenario.name;
        EXPECT_EQ(ran.recorded, 0U);
    }
}

}  // namespace
}  // namespace orrery::report
