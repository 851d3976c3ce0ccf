// Times that can be counted by hand, through replay and oracle alike.
#include "sim/oracle.hpp"

#include <gtest/gtest.h>

#include "sim/replay.hpp"
#include "tests/sim/bench.hpp"
#include "topology/catalog.hpp"

namespace orrery::sim {
namespace {

using strategies::Axis;
using strategies::BufferId;
using strategies::Builder;
using strategies::Collective;
using strategies::Compute;
using strategies::HostSync;
using strategies::Keep;
using strategies::Lane;
using strategies::Recv;
using strategies::Send;

/// Two ranks, one a node, on 25 GB/s; kernels of one size.
class TwoRanks : public testing::Test {
protected:
    TwoRanks() {
        step.mesh.extent = {1, 1, 1, 1, 1, 1, 1, 1, 1, 2};
        step.names = {"op"};
        step.kernels = {kernels::Gemm{kernels::Dtype::bf16, 1, 4096, 4096, 4096}};
        step.role = {0, 1};
    }
    /// Both ways of timing; they must agree.
    std::vector<std::vector<Span>> run(bool cuda_graph = true) {
        strategies::Plan plan;
        plan.training.cuda_graph = cuda_graph;
        EXPECT_TRUE(verify(step).empty());
        const Costs costs(step, plan, cluster.gpu(), predictor, network);
        kernel = costs.kernels()[0].seconds;
        auto spans = longest_path(step, costs, network);
        const auto folded = fold_ranks(step, cluster, network, true);
        const Folding& folding = *folded;
        const Replayed replayed = replay(step, costs, network, folding, *make_fluid_engine(folding.capacities));
        for (std::uint32_t rank = 0; rank < 2; ++rank)
            for (std::size_t i = 0; i < spans[rank].size(); ++i) {
                const Span& span = replayed.classes[folding.class_of[rank]].spans[i];
                EXPECT_NEAR(span.begin, spans[rank][i].begin, 1e-12) << rank << " op " << i;
                EXPECT_NEAR(span.end, spans[rank][i].end, 1e-12) << rank << " op " << i;
            }
        return spans;
    }

    topology::Cluster cluster = topology::build({.preset = "ethernet",
                                                 .nodes = 2,
                                                 .gpu = "A100-80GB",
                                                 .gpus_per_node = 1,
                                                 .nics_per_node = 1,
                                                 .nic_bytes_per_second = 25e9});
    const calibrate::Predictor& predictor = profiles().find("a100");
    Network network{cluster, predictor};
    strategies::StepProgram step;
    double kernel = 0;
};

TEST_F(TwoRanks, KernelsOfOneLaneFollowEachOther) {
    Builder one("one"), two("two");
    for (int i = 0; i < 3; ++i) one.emit(Lane::compute, {}, Compute{0}, {}, {});
    two.emit(Lane::compute, {}, Compute{0}, {}, {});
    step.programs = {std::move(one).finish(), std::move(two).finish()};
    const auto spans = run();
    EXPECT_NEAR(spans[0][2].end, 3 * kernel, 1e-12);
    EXPECT_NEAR(spans[1][0].end, kernel, 1e-12);
}

TEST_F(TwoRanks, AMessageWaitsForBothSidesThenTakesItsTime) {
    constexpr std::uint64_t bytes = 100'000'000;
    Builder one("one"), two("two");
    const BufferId out = one.buffer(bytes, Keep::scratch), in = two.buffer(bytes, Keep::scratch);
    one.emit(Lane::compute, {}, Compute{0}, {}, {out});
    one.emit(Lane::send_forward, {}, Send{Axis::pipeline, 1, bytes}, {out}, {});
    two.emit(Lane::recv_forward, {}, Recv{Axis::pipeline, -1, bytes}, {}, {in});
    two.emit(Lane::compute, {}, Compute{0}, {in}, {});
    step.programs = {std::move(one).finish(), std::move(two).finish()};
    const auto spans = run();
    const double wire = network.alone(network.message(0, 1, bytes), network.path(0, 1));
    EXPECT_GT(wire, bytes / 25e9);
    EXPECT_NEAR(spans[1][0].begin, kernel, 1e-12) << "the receiver waits";
    EXPECT_NEAR(spans[1][0].end, kernel + wire, 1e-12);
    EXPECT_NEAR(spans[1][1].end, 2 * kernel + wire, 1e-12);
}

TEST_F(TwoRanks, ACollectiveBeginsWithItsLastRank) {
    Builder one("one"), two("two");
    const Collective reduce{kernels::CollectiveKind::all_reduce, {Axis::pipeline}, 1'000'000};
    one.emit(Lane::data, {}, reduce, {}, {});
    for (int i = 0; i < 2; ++i) two.emit(Lane::compute, {}, Compute{0}, {}, {0});
    two.buffer(8, Keep::scratch);
    two.emit(Lane::data, {}, reduce, {0}, {});
    step.programs = {std::move(one).finish(), std::move(two).finish()};
    const auto spans = run();
    EXPECT_NEAR(spans[0][0].begin, 2 * kernel, 1e-12);
    EXPECT_NEAR(spans[0][0].end, spans[1][2].end, 1e-15);
}

TEST_F(TwoRanks, AHostThatWaitsIssuesNothing) {
    Builder one("one"), two("two");
    const BufferId result = one.buffer(4, Keep::scratch);
    one.emit(Lane::compute, {}, Compute{0}, {}, {result});
    one.emit(Lane::compute, {}, HostSync{}, {result}, {});
    one.emit(Lane::data, {}, Compute{0}, {}, {});
    two.emit(Lane::compute, {}, Compute{0}, {}, {});
    step.programs = {std::move(one).finish(), std::move(two).finish()};
    const double dispatch = hardware::dispatch_seconds(hardware::Software::megatron_lm, cluster.gpu().host,
                                                       predictor.constant("launch_seconds"), hardware::Way::forward);
    const auto spans = run(false);
    EXPECT_NEAR(spans[0][0].begin, dispatch, 1e-12);
    EXPECT_NEAR(spans[0][2].begin, dispatch + kernel + dispatch, 1e-12);
}

TEST_F(TwoRanks, MessagesOfOneNicShareIt) {
    constexpr std::uint64_t bytes = 1'000'000'000;
    Builder one("one"), two("two");
    const BufferId in = two.buffer(bytes, Keep::scratch), also = two.buffer(bytes, Keep::scratch);
    one.emit(Lane::send_forward, {}, Send{Axis::pipeline, 1, bytes}, {}, {});
    one.emit(Lane::send_backward, {}, Send{Axis::pipeline, -1, bytes}, {}, {});
    two.emit(Lane::recv_forward, {}, Recv{Axis::pipeline, -1, bytes}, {}, {in});
    two.emit(Lane::recv_backward, {}, Recv{Axis::pipeline, 1, bytes}, {}, {also});
    step.programs = {std::move(one).finish(), std::move(two).finish()};
    const Costs costs(step, strategies::Plan{}, cluster.gpu(), predictor, network);
    const double alone = longest_path(step, costs, network)[0][0].end;
    const auto folded = fold_ranks(step, cluster, network, true);
    const Folding& folding = *folded;
    const Replayed shared = replay(step, costs, network, folding, *make_fluid_engine(folding.capacities));
    EXPECT_NEAR(shared.end, 2 * alone, 0.01 * alone);
}

}  // namespace
}  // namespace orrery::sim
