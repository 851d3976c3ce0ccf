// When collectives of the data lane begin, and what kernels beside them take longer.
#include "sim/beside.hpp"

#include <gtest/gtest.h>

#include "tests/sim/bench.hpp"

namespace orrery::sim {
namespace {

using strategies::AxisSet;
using strategies::BufferId;
using strategies::Builder;
using strategies::Keep;
using strategies::Lane;

std::vector<std::uint32_t> places(const strategies::Program& program) {
    std::vector<std::uint32_t> at;
    for (const Beginning& each : beginnings_among_data_ranks(program)) at.push_back(each.at);
    return at;
}

/// Two kernels, and behind them a collective that reads what the first writes, or the second.
TEST(DataLane, BeginsBehindWhatACollectiveWaitsFor) {
    const auto program = [](int read, bool host_waits) {
        Builder builder("p");
        const BufferId a = builder.buffer(8, Keep::scratch), b = builder.buffer(8, Keep::scratch);
        builder.emit(Lane::compute, {}, strategies::Compute{}, {}, {a});
        builder.emit(Lane::compute, {}, strategies::Compute{}, {a}, {b});
        if (host_waits) builder.emit(Lane::compute, {}, strategies::HostSync{}, {a}, {});
        const auto gather = [&](std::initializer_list<BufferId> reads) {
            builder.emit(Lane::data, {}, strategies::Collective{kernels::CollectiveKind::all_gather, AxisSet{}, 8},
                         reads, {});
        };
        read == 0 ? gather({}) : gather({read == 1 ? a : b});
        gather({});
        return std::move(builder).finish();
    };
    EXPECT_EQ(places(program(0, false)), (std::vector<std::uint32_t>{0, 0}));
    EXPECT_EQ(places(program(1, false)), (std::vector<std::uint32_t>{1, 1})) << "the lane keeps its order";
    EXPECT_EQ(places(program(2, false)), (std::vector<std::uint32_t>{2, 2}));
    EXPECT_EQ(places(program(1, true)), (std::vector<std::uint32_t>{3, 3})) << "the host had not come so far";
}

/// Layers longer than their gathers: asked for as their turn comes these run beside the layer before in a forward, and
/// behind its sums in a backward; asked for sooner, beside layers in both.
TEST(DataLane, GathersAskedForLateAreNoFaster) {
    const auto step = [](int prefetch) {
        return quick(small_scenario(R"({"cluster": {"preset": "dgx-h100", "nodes": 1}, "training": {"seq_length": 2048,
            "micro_batch_size": 4, "global_batch_size": 64, "cuda_graph": true}, "model": {"hidden_size": 4096,
            "num_attention_heads": 32, "max_position_embeddings": 2048}, "strategy": {"tensor": 1, "pipeline": 1,
            "data": 8, "sharding": "zero3", "overlap_grad_reduce": true, "fsdp_prefetch": )" +
                                    std::to_string(prefetch) + "}}"))
            .step_time_s;
    };
    const double late = step(0), sooner = step(1);
    EXPECT_GT(late, sooner);
    EXPECT_GE(sooner, step(2));
}

}  // namespace
}  // namespace orrery::sim
