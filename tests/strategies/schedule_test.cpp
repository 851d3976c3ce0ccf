#include "strategies/schedule/schedule.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <utility>

namespace orrery::strategies {
namespace {

using Key = std::pair<std::uint32_t, std::uint32_t>;  // chunk, micro-batch

void expect_complete(const std::vector<Slot>& slots, std::uint32_t chunks, std::uint32_t micro_batches) {
    std::map<Key, std::size_t> forward, backward;
    for (std::size_t i = 0; i < slots.size(); ++i) {
        const Key key{slots[i].chunk, slots[i].micro_batch};
        EXPECT_LT(key.first, chunks);
        EXPECT_LT(key.second, micro_batches);
        EXPECT_TRUE((slots[i].forward ? forward : backward).emplace(key, i).second) << "twice at slot " << i;
    }
    EXPECT_EQ(forward.size(), std::size_t{chunks} * micro_batches);
    EXPECT_EQ(backward.size(), forward.size());
    for (const auto& [key, at] : backward) {
        EXPECT_LT(forward.at(key), at);
        for (std::uint32_t later = key.first + 1; later < chunks; ++later) {  // chunks run up, then down
            EXPECT_LT(forward.at(key), forward.at({later, key.second}));
            EXPECT_GT(at, backward.at({later, key.second}));
        }
    }
    EXPECT_TRUE(slots.back().exchange) << "the last output would never leave";
}

std::size_t most_in_flight(const std::vector<Slot>& slots) {
    std::size_t now = 0, most = 0;
    for (const Slot& slot : slots) most = std::max(most, slot.forward ? ++now : now--);
    return most;
}

std::size_t warm_up(const std::vector<Slot>& slots) {
    const auto first = std::find_if(slots.begin(), slots.end(), [](const Slot& slot) { return !slot.forward; });
    return static_cast<std::size_t>(first - slots.begin());
}

TEST(Schedule, EverythingRunsOnceForwardThenOnceBackward) {
    for (const std::uint32_t pipeline : {1U, 2U, 3U, 8U})
        for (const std::uint32_t micro_batches : {1U, 2U, 5U, 8U, 16U})
            for (std::uint32_t stage = 0; stage < pipeline; ++stage) {
                SCOPED_TRACE(testing::Message()
                             << pipeline << " stages, " << micro_batches << " micro-batches, " << stage);
                expect_complete(gpipe(micro_batches), 1, micro_batches);
                expect_complete(one_f_one_b(pipeline, stage, micro_batches), 1, micro_batches);
            }
}

TEST(Schedule, InterleavedRunsEveryChunk) {
    for (const std::uint32_t pipeline : {2U, 3U, 8U})
        for (const std::uint32_t chunks : {2U, 3U})
            for (const std::uint32_t rounds : {1U, 2U, 5U})
                for (std::uint32_t stage = 0; stage < pipeline; ++stage) {
                    SCOPED_TRACE(testing::Message() << pipeline << " stages, " << chunks << " chunks, " << stage);
                    expect_complete(interleaved(pipeline, chunks, stage, rounds * pipeline), chunks, rounds * pipeline);
                }
}

TEST(Schedule, GpipeTurnsRoundAfterTheLastForward) {
    const auto slots = gpipe(3);
    const std::vector<std::pair<bool, std::uint32_t>> expected{{true, 0},  {true, 1},  {true, 2},
                                                               {false, 2}, {false, 1}, {false, 0}};
    ASSERT_EQ(slots.size(), expected.size());
    for (std::size_t i = 0; i < slots.size(); ++i)
        EXPECT_EQ(std::pair(slots[i].forward, slots[i].micro_batch), expected[i]) << i;
    EXPECT_EQ(most_in_flight(gpipe(17)), 17U);
}

/// SC'21, section 2.2.1: at most pipeline - stage micro-batches wait for their backward.
TEST(Schedule, OneForwardOneBackwardBoundsWhatIsInFlight) {
    for (const std::uint32_t pipeline : {1U, 2U, 4U, 8U})
        for (const std::uint32_t micro_batches : {1U, 3U, 8U, 32U})
            for (std::uint32_t stage = 0; stage < pipeline; ++stage)
                EXPECT_EQ(most_in_flight(one_f_one_b(pipeline, stage, micro_batches)),
                          std::min(pipeline - stage, micro_batches));
}

/// Megatron-LM, core/pipeline_parallel/schedules.py, get_pp_rank_microbatches: (p - r - 1) 2 + (v - 1) p, all when
/// there are as many micro-batches as stages; one more forward comes before the first backward.
TEST(Schedule, InterleavedWarmsUpAsMegatron) {
    EXPECT_EQ(warm_up(interleaved(4, 2, 0, 8)), 10U + 1U);
    EXPECT_EQ(warm_up(interleaved(4, 2, 3, 8)), 4U + 1U);
    EXPECT_EQ(warm_up(interleaved(8, 3, 2, 16)), 26U + 1U);
    EXPECT_EQ(warm_up(interleaved(4, 2, 3, 4)), 8U);
    EXPECT_EQ(most_in_flight(interleaved(4, 2, 0, 64)), 11U);
}

/// Micro-batches go through a chunk in groups of one for each stage.
TEST(Schedule, InterleavedChangesTheChunkAfterOneMicroBatchForEachStage) {
    const auto slots = interleaved(2, 2, 0, 4);
    const std::vector<Key> first{{0, 0}, {0, 1}, {1, 0}, {1, 1}, {0, 2}};
    for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(Key(slots[i].chunk, slots[i].micro_batch), first[i]) << i;
    const auto backward = std::find_if(slots.begin(), slots.end(), [](const Slot& slot) { return !slot.forward; });
    EXPECT_EQ(Key(backward->chunk, backward->micro_batch), Key(1, 0));
}

TEST(Schedule, OneChunkInterleavedIsOneForwardOneBackward) {
    Strategy strategy;
    strategy.pipeline = 4;
    strategy.schedule = ScheduleKind::interleaved;
    const auto slots = schedule(strategy, 1, 8), plain = one_f_one_b(4, 1, 8);
    ASSERT_EQ(slots.size(), plain.size());
    for (std::size_t i = 0; i < slots.size(); ++i) {
        EXPECT_EQ(slots[i].forward, plain[i].forward);
        EXPECT_EQ(slots[i].micro_batch, plain[i].micro_batch);
    }
}

}  // namespace
}  // namespace orrery::strategies
