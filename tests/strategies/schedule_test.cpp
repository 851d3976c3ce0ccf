#include "strategies/schedule/schedule.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>
#include <utility>

#include "strategies/schedule/ideal_run.hpp"
#include "strategies/schedule/verify_schedule.hpp"

namespace orrery::strategies {
namespace {

using Key = std::pair<std::uint32_t, std::uint32_t>;  // chunk, micro-batch
using Problems = std::vector<std::string>;

std::string text(const PipelineShape& shape) {
    return testing::PrintToString(shape.pipeline) + " stages, " + testing::PrintToString(shape.chunks) + " chunks, " +
           testing::PrintToString(shape.micro_batches) + " micro-batches, " + testing::PrintToString(shape.steps) +
           " steps";
}

/// Shapes that a schedule takes.
std::vector<PipelineShape> shapes_of(const Schedule& schedule) {
    std::vector<PipelineShape> shapes;
    for (const std::uint32_t pipeline : {1U, 2U, 3U, 4U, 8U})
        for (const std::uint32_t micro_batches : {1U, 2U, 5U, 8U, 16U}) {
            const std::uint32_t steps = schedule.asynchronous ? 3 : 1, fixed = std::max(1U, schedule.chunks);
            shapes.push_back({pipeline, fixed, micro_batches, schedule.order, steps});
            if (schedule.chunked && schedule.chunks == 0 && pipeline > 1)
                for (const std::uint32_t chunks : {2U, 3U})
                    shapes.push_back({pipeline, chunks, micro_batches * pipeline});
        }
    std::erase_if(shapes, [&](const PipelineShape& shape) {
        const Demand demand = schedule.demand(shape);
        return shape.pipeline % demand.stages != 0 || shape.micro_batches % demand.micro_batches != 0 ||
               shape.micro_batches < demand.least;
    });
    return shapes;
}

std::size_t most_in_flight(const std::vector<Slot>& slots) {
    std::size_t now = 0, most = 0;
    for (const Slot& slot : slots) {
        if (slot.work == SlotWork::forward) most = std::max(most, ++now);
        if (slot.completes_gradient()) --now;
    }
    return most;
}

std::vector<Slot>::const_iterator first_backward(const std::vector<Slot>& slots) {
    return std::ranges::find_if(slots, &Slot::hands_gradient_on);
}

std::size_t warm_up(const std::vector<Slot>& slots) {
    return static_cast<std::size_t>(first_backward(slots) - slots.begin());
}

TEST(Schedule, EveryRowIsSoundInEveryShape) {
    for (const Schedule& schedule : schedules)
        for (const PipelineShape& shape : shapes_of(schedule)) {
            SCOPED_TRACE(std::string(schedule.name) + ": " + text(shape));
            const auto stages = all_stages(schedule, shape);
            EXPECT_EQ(verify_schedule(stages, shape), Problems{});
            for (const auto& slots : stages)
                for (const Slot& slot : slots) {
                    if (slot.work == SlotWork::backward) {
                        EXPECT_NE(schedule.backwards, Backwards::split);
                    }
                    if (slot.work == SlotWork::input_gradient || slot.work == SlotWork::weight_gradient) {
                        EXPECT_NE(schedule.backwards, Backwards::whole);
                    }
                }
        }
}

/// What every stage idles in a step, played without communication, is the closed form of the schedule's row.
TEST(Schedule, IdealBubblesAreTheirClosedForms) {
    for (const Schedule& schedule : schedules)
        for (const PipelineShape& shape : shapes_of(schedule))
            for (const WorkSeconds& seconds : {WorkSeconds{1, 1, 1}, WorkSeconds{2, 3, 1}, WorkSeconds{3, 2, 2},
                                               WorkSeconds{1, 2, 3}, WorkSeconds{1, 1.5, 0.75}}) {
                if (shape.micro_batches < shape.pipeline || schedule.asynchronous) continue;
                SCOPED_TRACE(std::string(schedule.name) + ": " + text(shape));
                const IdealRun run = ideal_run(all_stages(schedule, shape), shape, seconds);
                const bool equal =
                    seconds.forward == seconds.input_gradient && seconds.forward == seconds.weight_gradient;
                EXPECT_GE(run.idle, schedule.bubble(shape, seconds) - 1e-9);
                if (equal || schedule.order == ChunkOrder::wraps || schedule.kind == ScheduleKind::chimera) {
                    EXPECT_LE(run.idle, schedule.bubble(shape, seconds) + 1e-9);
                }
            }
}

/// Qi et al. 2024, section 3.3: the shorter a block, the less is kept, and the longer a stage waits. In chunks, of
/// which 1F1B's first stage keeps two for each stage; of equal works.
TEST(Schedule, BlocksInAVTradeMemoryForTime) {
    for (const std::uint32_t pipeline : {2U, 4U, 7U, 8U, 12U, 16U}) {
        const PipelineShape shape{pipeline, 2, 4 * pipeline, ChunkOrder::turns};
        const auto most = [&](ScheduleKind kind) {
            std::size_t kept = 0;
            for (const auto& slots : all_stages(schedule_of(kind), shape)) kept = std::max(kept, most_in_flight(slots));
            return kept;
        };
        EXPECT_EQ(most(ScheduleKind::zb_v), 2 * pipeline);
        EXPECT_LE(most(ScheduleKind::v_half), pipeline + 3);
        EXPECT_LE(most(ScheduleKind::v_min), 2 * pipeline / 3 + 3);
        const WorkSeconds equal{1, 1, 1};
        const double flushed = flush_bubble(shape, equal);
        EXPECT_LT(zb_v_bubble(shape, equal), flushed / 2);
        EXPECT_LT(v_half_bubble(shape, equal), 0.7 * flushed);
        EXPECT_LT(v_min_bubble(shape, equal), 0.75 * flushed);
    }
}

/// A stage turns around in its own memory: what it hands to its other chunk comes next to nothing.
TEST(Schedule, TheWayTurnsOnTheLastStage) {
    const PipelineShape shape{4, 2, 8, ChunkOrder::turns};
    EXPECT_EQ(shape.virtual_stage(0, 3), 3U);
    EXPECT_EQ(shape.virtual_stage(1, 3), 4U);
    EXPECT_EQ(shape.virtual_stage(1, 0), 7U);
    EXPECT_TRUE(shape.backwards(1, 0));
    EXPECT_EQ((PipelineShape{4, 2, 8}).virtual_stage(1, 0), 4U);
}

/// Li and Hoefler 2021, table 2: D - 2 bubbles of equal forwards and backwards; between D / 2 + 1 and D micro-batches
/// in flight.
TEST(Schedule, ChimeraIsThatOfItsTable) {
    for (const std::uint32_t pipeline : {2U, 4U, 6U, 12U})
        for (const std::uint32_t units : {1U, 2U, 5U}) {
            const PipelineShape shape{pipeline, 2, units * pipeline, ChunkOrder::opposes};
            const auto stages = all_stages(schedule_of(ScheduleKind::chimera), shape);
            EXPECT_EQ(ideal_run(stages, shape, {2, 1, 1}).idle, 2 * (pipeline - 2)) << text(shape);
            for (std::uint32_t stage = 0; stage < pipeline; ++stage) {
                const std::uint32_t further = std::min(stage, pipeline - 1 - stage);
                EXPECT_EQ(most_in_flight(stages[stage]), pipeline / 2 + 1 + further) << text(shape);
            }
        }
}

/// DeepSeek-AI 2024, table 2, for as many virtual stages: (PP / 2 - 1) (F&B + B - 3 W), and PP + 1 chunks in flight.
TEST(Schedule, DualPipeIsThatOfItsTable) {
    for (const std::uint32_t stages : {2U, 4U, 8U, 12U})
        for (const double saved : {0.0, 0.5, 1.0}) {
            const PipelineShape both{stages, 2, 2 * stages + 4, ChunkOrder::opposes},
                in_a_v{stages / 2, 2, stages + 3, ChunkOrder::turns};
            const WorkSeconds seconds{1, 1, 1, saved};
            const double bubble = (stages / 2.0 - 1) * (seconds.pair() + 2 - 3);
            for (const PipelineShape& shape : {both, in_a_v}) {
                const auto slots = all_stages(schedule_of(ScheduleKind::dual_pipe), shape);
                EXPECT_NEAR(ideal_run(slots, shape, seconds).idle, bubble / shape.chunks_on_the_way(), 1e-9)
                    << text(shape);
                EXPECT_DOUBLE_EQ(dual_pipe_bubble(shape, seconds), bubble / shape.chunks_on_the_way());
                for (const auto& stage : slots) EXPECT_EQ(most_in_flight(stage), stages + 1) << text(shape);
            }
        }
}

TEST(Schedule, StagesOfTwoCopiesStandOppositeEachOther) {
    const PipelineShape shape{4, 2, 8, ChunkOrder::opposes};
    EXPECT_EQ(shape.virtual_stages(), 4U);
    for (std::uint32_t stage = 0; stage < 4; ++stage)
        for (const std::uint32_t chunk : {0U, 1U}) {
            EXPECT_EQ(shape.virtual_stage(chunk, stage), shape.virtual_stage(chunk, 3 - stage));
            EXPECT_NE(shape.backwards(chunk, stage), shape.backwards(chunk, 3 - stage));
            EXPECT_NE(shape.goes_through(chunk, stage, 0), shape.goes_through(chunk, stage, 1));
        }
    EXPECT_EQ(shape.virtual_stage(1, 0), 3U);
    EXPECT_FALSE(shape.backwards(0, 0));
}

/// A step of a pipeline without flushes takes what its stages work for it, however long the pipeline; in ZB-H2 only
/// where works take equally long.
TEST(Schedule, WithoutFlushesStepsTakeTheirWorksAndTheBubble) {
    for (const Schedule& schedule : schedules)
        for (const std::uint32_t pipeline : {1U, 2U, 3U, 8U})
            for (const std::uint32_t micro_batches : {1U, 2U, 8U, 15U})
                for (const WorkSeconds& seconds :
                     {WorkSeconds{1, 1, 1}, WorkSeconds{1, 1.5, 0.75}, WorkSeconds{2, 3, 1}, WorkSeconds{1, 2, 3}}) {
                    const PipelineShape one{pipeline, 1, micro_batches};
                    if (!schedule.asynchronous || micro_batches < schedule.demand(one).least) continue;
                    const auto end = [&](std::uint32_t steps) {
                        PipelineShape shape = one;
                        shape.steps = steps;
                        return ideal_run(all_stages(schedule, shape), shape, seconds).seconds;
                    };
                    const double bubble = schedule.bubble(one, seconds);
                    EXPECT_NEAR(end(40) - end(30), 10 * (micro_batches * seconds.sum() + bubble), 1e-9) << text(one);
                    if (schedule.versions != one_version || seconds.input_gradient == 1) {
                        EXPECT_EQ(bubble, 0);
                    }
                }
}

/// Qi et al. 2023, table 1: every stage keeps 2 p - 1 micro-batches until their weight gradient, and one step's stages
/// do nothing but work between their first forward and their update.
TEST(Schedule, ZbH2KeepsTwiceTheMicroBatches) {
    for (const std::uint32_t pipeline : {1U, 2U, 4U, 8U})
        for (const std::uint32_t micro_batches : {2 * pipeline - 1, 4 * pipeline}) {
            const PipelineShape shape{pipeline, 1, micro_batches};
            const auto stages = all_stages(schedule_of(ScheduleKind::zb_h2), shape);
            for (const auto& slots : stages) EXPECT_EQ(most_in_flight(slots), 2 * pipeline - 1);
            EXPECT_EQ(ideal_run(stages, shape, {1, 1, 1}).seconds, 3 * micro_batches + pipeline - 1)
                << "s forwards late";
        }
}

/// Of weights that micro-batches under way need, the most versions at once: those of the updates that came before
/// their forward (PipeDream), or that all micro-batches of a step share (2BW: the update two steps before).
std::size_t versions_needed(const std::vector<Slot>& slots, const PipelineShape& shape, bool by_step) {
    std::map<std::uint32_t, std::uint32_t> under_way;  // micro-batch -> version
    std::uint32_t updates = 0;
    std::size_t most = 1;
    for (const Slot& slot : slots) {
        if (slot.work == SlotWork::update) ++updates;
        if (slot.work == SlotWork::forward) {
            const std::uint32_t step = slot.micro_batch / shape.micro_batches;
            EXPECT_TRUE(!by_step || step <= updates + 1) << "a version that does not exist yet";
            under_way[slot.micro_batch] = by_step ? step : updates;
        }
        if (slot.completes_gradient()) under_way.erase(slot.micro_batch);
        std::set<std::uint32_t> versions;
        for (const auto& [micro_batch, version] : under_way) versions.insert(version);
        most = std::max(most, versions.size());
    }
    return most;
}

/// Narayanan et al., SOSP'19, section 3.3: the first stage keeps a version for each stage, the last one; 2021, section
/// 3.1: two are enough from as many micro-batches a step on as there are stages.
TEST(Schedule, VersionsAreThoseThatMicroBatchesUnderWayNeed) {
    const Schedule &stashing = schedule_of(ScheduleKind::pipedream), &two = schedule_of(ScheduleKind::pipedream_2bw);
    for (const std::uint32_t pipeline : {1U, 2U, 3U, 8U})
        for (const std::uint32_t micro_batches : {1U, 2U, 3U, 8U, 20U})
            for (std::uint32_t stage = 0; stage < pipeline; ++stage) {
                const PipelineShape shape{pipeline, 1, micro_batches, ChunkOrder::wraps, 20};
                const auto slots = steady_one_f_one_b(shape, stage);
                EXPECT_EQ(versions_needed(slots, shape, false), stashing.versions(shape, stage)) << text(shape);
                if (micro_batches == 1) {
                    EXPECT_EQ(stashing.versions(shape, stage), pipeline - stage);
                }
                if (micro_batches >= pipeline) {
                    EXPECT_LE(versions_needed(slots, shape, true), two.versions(shape, stage)) << text(shape);
                }
            }
}

/// What micro-batches took on the first stage, up to what a later one has made since.
TEST(Schedule, VerticalSyncKeepsTheFirstStagesVersions) {
    const Schedule& synced = schedule_of(ScheduleKind::pipedream_vertical_sync);
    for (const std::uint32_t pipeline : {1U, 2U, 3U, 8U})
        for (const std::uint32_t micro_batches : {1U, 2U, 3U, 8U, 20U})
            for (std::uint32_t stage = 0; stage < pipeline; ++stage) {
                const PipelineShape shape{pipeline, 1, micro_batches, ChunkOrder::wraps, 20};
                std::uint32_t updates = 0, most = 1;
                std::set<std::uint32_t> under_way;
                for (const Slot& slot : steady_one_f_one_b(shape, stage)) {
                    if (slot.work == SlotWork::update) ++updates;
                    if (slot.work == SlotWork::forward) under_way.insert(slot.micro_batch);
                    if (!under_way.empty()) {
                        const std::uint32_t oldest = synced.version(shape, stage, *under_way.begin());
                        EXPECT_LE(oldest, updates);
                        most = std::max(most, updates - oldest + 1);
                    }
                    if (slot.completes_gradient()) under_way.erase(slot.micro_batch);
                }
                EXPECT_EQ(most, synced.versions(shape, stage)) << text(shape);
            }
}

TEST(Schedule, AnUnknownOneIsAnError) {
    EXPECT_THROW((void)schedule_of(static_cast<ScheduleKind>(200)), std::logic_error);
    for (const Schedule& schedule : schedules) EXPECT_EQ(&schedule_of(schedule.kind), &schedule);
}

TEST(Schedule, GpipeTurnsRoundAfterTheLastForward) {
    using enum SlotWork;
    const auto slots = gpipe({1, 1, 3}, 0);
    const std::vector<std::pair<SlotWork, std::uint32_t>> expected{
        {forward, 0}, {forward, 1}, {forward, 2}, {backward, 2}, {backward, 1}, {backward, 0}, {update, 0}};
    ASSERT_EQ(slots.size(), expected.size());
    for (std::size_t i = 0; i < slots.size(); ++i)
        EXPECT_EQ(std::pair(slots[i].work, slots[i].micro_batch), expected[i]) << i;
    EXPECT_EQ(most_in_flight(gpipe({1, 1, 17}, 0)), 17U);
}

/// SC'21, section 2.2.1: at most pipeline - stage micro-batches wait for their backward.
TEST(Schedule, OneForwardOneBackwardBoundsWhatIsInFlight) {
    for (const std::uint32_t pipeline : {1U, 2U, 4U, 8U})
        for (const std::uint32_t micro_batches : {1U, 3U, 8U, 32U})
            for (std::uint32_t stage = 0; stage < pipeline; ++stage)
                EXPECT_EQ(most_in_flight(one_f_one_b({pipeline, 1, micro_batches}, stage)),
                          std::min(pipeline - stage, micro_batches));
}

/// Qi et al. 2023, section 2.1: every stage keeps at most as many micro-batches, until their weight gradient, as 1F1B's
/// first stage until their backward.
TEST(Schedule, ZeroBubbleKeepsNoMoreMicroBatchesThanOneForwardOneBackward) {
    for (const std::uint32_t pipeline : {1U, 2U, 4U, 8U})
        for (const std::uint32_t micro_batches : {1U, 3U, 8U, 32U})
            for (std::uint32_t stage = 0; stage < pipeline; ++stage)
                EXPECT_EQ(most_in_flight(zb_h1({pipeline, 1, micro_batches}, stage)),
                          std::min(pipeline, micro_batches));
}

/// Megatron-LM, core/pipeline_parallel/schedules.py, get_pp_rank_microbatches: (p - r - 1) 2 + (v - 1) p, at most all,
/// also where there are as many micro-batches as stages; one more forward comes before the first backward.
TEST(Schedule, InterleavedWarmsUpAsMegatron) {
    EXPECT_EQ(warm_up(interleaved({4, 2, 8}, 0)), 10U + 1U);
    EXPECT_EQ(warm_up(interleaved({4, 2, 8}, 3)), 4U + 1U);
    EXPECT_EQ(warm_up(interleaved({8, 3, 16}, 2)), 26U + 1U);
    EXPECT_EQ(warm_up(interleaved({4, 2, 4}, 3)), 4U + 1U);
    EXPECT_EQ(warm_up(interleaved({4, 2, 4}, 0)), 8U);
    EXPECT_EQ(most_in_flight(interleaved({4, 2, 64}, 0)), 11U);
}

/// Micro-batches go through a chunk in groups of one for each stage.
TEST(Schedule, InterleavedChangesTheChunkAfterOneMicroBatchForEachStage) {
    const auto slots = interleaved({2, 2, 4}, 0);
    const std::vector<Key> first{{0, 0}, {0, 1}, {1, 0}, {1, 1}, {0, 2}};
    for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(Key(slots[i].chunk, slots[i].micro_batch), first[i]) << i;
    const auto backward = first_backward(slots);
    EXPECT_EQ(Key(backward->chunk, backward->micro_batch), Key(1, 0));
}

TEST(Schedule, OneChunkInterleavedIsOneForwardOneBackward) {
    const auto slots = interleaved({4, 1, 8}, 1), plain = one_f_one_b({4, 1, 8}, 1);
    ASSERT_EQ(slots.size(), plain.size());
    for (std::size_t i = 0; i < slots.size(); ++i) {
        EXPECT_EQ(slots[i].work, plain[i].work);
        EXPECT_EQ(slots[i].micro_batch, plain[i].micro_batch);
    }
}

/// Two stages of 1F1B with three micro-batches, to be broken.
class Broken : public testing::Test {
protected:
    /// The problems but for the picture, which is kept.
    Problems problems() {
        Problems found = verify_schedule(stages_, shape_);
        if (found.empty()) return found;
        picture_ = found.back();
        found.pop_back();
        return found;
    }

    const PipelineShape shape_{2, 1, 3};
    std::vector<std::vector<Slot>> stages_ = all_stages(schedule_of(ScheduleKind::one_f_one_b), shape_);
    std::string picture_;
};

TEST_F(Broken, NotYet) { EXPECT_EQ(problems(), Problems{}); }

TEST_F(Broken, AForwardTwiceIsMarked) {
    stages_[1][2].micro_batch = 0;  // F0 B0 F1 B1 F2 B2 U
    EXPECT_EQ(problems(),
              (Problems{"stage 1, slot 2: F0 a second time", "stage 1, slot 3: B1 before its forward",
                        "stage 1, slot 6: the update comes before the forward of micro-batch 1 in chunk 0"}));
    EXPECT_EQ(picture_,
              "stage 0        F0      F1      B0      F2      B1      B2       U         \n"
              "stage 1        F0      B0     [F0]    [B1]     F2      B2      [U]        \n");
}

TEST_F(Broken, AnUpdateTooEarlyIsFoundInAWindow) {
    const PipelineShape window{1, 1, 2, ChunkOrder::wraps, 2};
    std::vector<std::vector<Slot>> stages = all_stages(schedule_of(ScheduleKind::pipedream), window);
    EXPECT_EQ(verify_schedule(stages, window), Problems{});
    std::swap(stages[0][4], stages[0][5]);  // F0 B0 F1 B1 U F2 B2 F3 B3 U
    std::swap(stages[0][5], stages[0][6]);
    Problems found = verify_schedule(stages, window);
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(found.front(),
              "stage 0, slot 6: the update comes behind the gradients of micro-batch 2, of a later step");
    stages[0].pop_back();
    found = verify_schedule(stages, window);
    EXPECT_EQ(found[1], "stage 0, slot 9: 1 updates of 2 steps");
}

TEST_F(Broken, AMicroBatchOnTheOtherWayIsFound) {
    const PipelineShape both{2, 2, 2, ChunkOrder::opposes};
    std::vector<std::vector<Slot>> stages = all_stages(schedule_of(ScheduleKind::chimera), both);
    EXPECT_EQ(verify_schedule(stages, both), Problems{});
    stages[0][0].micro_batch = 1;
    EXPECT_EQ(verify_schedule(stages, both).front(), "stage 0, slot 0: F1.0, but its way is the other one");
}

TEST_F(Broken, AMissingGradientIsNamed) {
    std::erase_if(stages_[0],
                  [](const Slot& slot) { return slot.work == SlotWork::backward && slot.micro_batch == 1; });
    EXPECT_EQ(problems(),
              Problems{"stage 0, slot 5: the update comes before the gradients of micro-batch 1 in chunk 0"});
    std::erase_if(stages_[0], [](const Slot& slot) { return slot.work == SlotWork::update; });
    EXPECT_EQ(problems(), Problems{"stage 0, slot 5: no update"});
    EXPECT_NE(picture_.find("B2       []"), std::string::npos) << picture_;
}

TEST_F(Broken, HalfAGradientIsNotOne) {
    stages_[1][1].work = SlotWork::input_gradient;
    EXPECT_EQ(problems(),
              Problems{"stage 1, slot 6: the update comes before the weight gradient of micro-batch 0 in chunk 0"});
    stages_[1].insert(stages_[1].begin() + 1, {SlotWork::weight_gradient, 0, 0, false});
    EXPECT_EQ(problems(), Problems{"stage 1, slot 1: W0 before the gradient of its input"});
    std::swap(stages_[1][1], stages_[1][2]);
    EXPECT_EQ(problems(), Problems{});
    stages_[1].insert(stages_[1].begin() + 3, {SlotWork::weight_gradient, 0, 0, false});
    EXPECT_EQ(problems(), Problems{"stage 1, slot 3: W0, but the gradient of its weights is there already"});
}

TEST_F(Broken, StagesThatWaitForEachOtherAreFound) {
    // Stage 0 wants the gradient of micro-batch 0 before it sends micro-batch 1, stage 1 both forwards first.
    std::swap(stages_[0][1], stages_[0][2]);
    std::swap(stages_[1][1], stages_[1][2]);
    EXPECT_EQ(problems(), (Problems{"stage 0, slot 1: B0 waits for ever", "stage 1, slot 1: F1 waits for ever"}));
}

TEST_F(Broken, WhatNeverLeavesIsFound) {
    stages_[0][5].exchange = false;
    EXPECT_EQ(problems(), Problems{"stage 0, slot 5: what B2 makes never leaves: no exchange follows"});
}

TEST_F(Broken, WhatDoesNotExistIsFound) {
    stages_[0][0].chunk = 1;
    EXPECT_EQ(problems().front(), "stage 0, slot 0: F0 is none of 3 micro-batches in 1 chunks");
    stages_.pop_back();
    EXPECT_EQ(verify_schedule(stages_, shape_), Problems{"1 stages have slots, the pipeline has 2"});
}

}  // namespace
}  // namespace orrery::strategies
