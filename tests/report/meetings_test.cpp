// Transfers of real plans, and the longest path with times that are known.
#include "report/meetings.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "strategies/build.hpp"

namespace orrery::report {
namespace {

strategies::StepProgram program(std::uint32_t tensor, std::uint32_t pipeline, std::uint32_t data) {
    strategies::Plan plan;
    plan.model = {.name = "small",
                  .layers = 4,
                  .hidden = 64,
                  .heads = 4,
                  .kv_heads = 4,
                  .head_dim = 16,
                  .ffn = 128,
                  .vocab = 256,
                  .max_positions = 32};
    plan.training.seq = 32;
    plan.training.micro_batch = 1;
    plan.training.global_batch = 4 * data;
    plan.strategy.tensor = tensor;
    plan.strategy.pipeline = pipeline;
    plan.strategy.data = data;
    strategies::validate(plan);
    return strategies::unrolled(strategies::build(plan));
}

Seconds durations(const strategies::StepProgram& step, double seconds) {
    Seconds all;
    for (const std::uint16_t role : step.role) all.emplace_back(step.programs[role].ops.size(), seconds);
    return all;
}

double end_of(const std::vector<std::vector<sim::Span>>& spans) {
    double end = 0;
    for (const auto& rank : spans)
        for (const sim::Span& span : rank) end = std::max(end, span.end);
    return end;
}

TEST(Meetings, HoldEveryPartyOfEveryTransferOnce) {
    for (const auto& step : {program(2, 1, 2), program(1, 4, 1), program(2, 2, 2)}) {
        std::vector<std::vector<int>> seen;
        for (const std::uint16_t role : step.role) seen.emplace_back(step.programs[role].ops.size(), 0);
        for (const Meeting& meeting : meetings(step)) {
            const auto& [rank, op] = meeting.front();
            const auto name = step.programs[step.role[rank]].ops[op].label.phase;
            for (const auto& [who, what] : meeting) {
                ++seen[who][what];
                EXPECT_EQ(step.programs[step.role[who]].ops[what].label.phase, name);
            }
        }
        for (std::uint32_t rank = 0; rank < step.role.size(); ++rank)
            for (std::size_t i = 0; i < seen[rank].size(); ++i) {
                const auto& what = step.programs[step.role[rank]].ops[i].what;
                const bool transfer = std::holds_alternative<strategies::Collective>(what) ||
                                      std::holds_alternative<strategies::Send>(what) ||
                                      std::holds_alternative<strategies::Recv>(what);
                EXPECT_EQ(seen[rank][i], transfer ? 1 : 0);
            }
    }
}

TEST(Meetings, BeginWhenTheLastPartyIsThere) {
    Seconds begins{{1, 5}, {3, 2}};
    begin_together({{{0, 0}, {1, 0}}}, begins);
    EXPECT_EQ(begins, (Seconds{{3, 5}, {3, 2}}));
}

TEST(Earliest, OneRankWithOneLaneIsASum) {
    const auto step = program(1, 1, 1);
    Seconds times = durations(step, 2);
    double sum = 0;
    const auto& ops = step.programs[0].ops;
    for (std::size_t i = 0; i < ops.size(); ++i)
        if (!std::holds_alternative<strategies::HostSync>(ops[i].what)) sum += 2;
    EXPECT_DOUBLE_EQ(end_of(earliest(step, times)), sum);
}

TEST(Earliest, SlowRanksAreWaitedFor) {
    const auto step = program(1, 1, 2);
    Seconds times = durations(step, 1);
    const double even = end_of(earliest(step, times));
    times[1][1] += 5;
    EXPECT_DOUBLE_EQ(end_of(earliest(step, times)), even + 5);
    const auto spans = earliest(step, times);
    EXPECT_DOUBLE_EQ(end_of({spans[0]}), end_of({spans[1]}));
}

TEST(Earliest, TransfersTakeWhatTheQuickestPartyTook) {
    const auto step = program(2, 1, 1);
    Seconds times = durations(step, 1);
    const double before = end_of(earliest(step, times));
    const Meeting first = meetings(step).front();
    times[first[0].first][first[0].second] = 100;  // it waited for the other
    EXPECT_DOUBLE_EQ(end_of(earliest(step, times)), before);
}

}  // namespace
}  // namespace orrery::report
