#include "strategies/memory.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "strategies/build.hpp"
#include "strategies/stage.hpp"
#include "tests/strategies/tiny_plan.hpp"

namespace orrery::strategies {
namespace {

std::uint64_t at(const StageMemory& memory, Keep keep) { return memory.at_peak[static_cast<std::size_t>(keep)]; }

TEST(Memory, BuffersLiveFromFirstWriteToLastUse) {
    StepProgram step;
    Builder builder("test");
    const BufferId weight = builder.buffer(1000, Keep::weight), a = builder.buffer(10, Keep::activation),
                   b = builder.buffer(20, Keep::scratch), c = builder.buffer(40, Keep::scratch);
    builder.buffer(5000, Keep::scratch);  // never used: never there
    builder.emit(Lane::compute, {0, 0, 0, Phase::forward}, Compute{0}, {weight}, {a});
    builder.emit(Lane::compute, {0, 0, 0, Phase::forward}, Compute{0}, {a}, {b});
    builder.emit(Lane::compute, {0, 0, 0, Phase::backward}, Compute{0}, {a}, {c});
    builder.emit(Lane::compute, {0, 0, 0, Phase::optimizer}, Compute{0}, {}, {weight});
    step.programs.push_back(std::move(builder).finish());
    const StageMemory result = memory(step, 0, OverTime::sampled);
    EXPECT_EQ(result.before_backward, 1030U);
    EXPECT_EQ(result.after_backward, 1050U) << "b is gone";
    EXPECT_EQ(result.after_optimizer, 1000U);
    EXPECT_EQ(result.peak, 1050U);
    EXPECT_EQ(at(result, Keep::scratch), 40U);
    ASSERT_EQ(result.over_time.size(), 4U);
    EXPECT_EQ(result.over_time[1].bytes, 1030U);
}

/// Weights gathered for a layer are weights, and gone behind it; stashed weights are there in all their versions.
TEST(Memory, LifetimeIsApartFromWhatABufferHolds) {
    StepProgram step;
    step.names = {"work"};
    step.kernels = {kernels::Pointwise{}};
    Builder builder("test");
    const BufferId share = builder.buffer(100, Keep::weight),
                   stashed = builder.buffer(30, Keep::weight, {.span = Lifetime::Span::step, .versions = 3});
    const auto use_gathered = [&] {
        const BufferId whole = builder.buffer(400, Keep::weight, {.span = Lifetime::Span::use});
        builder.emit(Lane::data, {0, 0, 0, Phase::forward}, Collective{}, {share}, {whole});
        builder.emit(Lane::compute, {0, 0, 0, Phase::forward}, Compute{0}, {whole, stashed}, {});
    };
    use_gathered();
    use_gathered();
    builder.emit(Lane::compute, {0, 0, 0, Phase::optimizer}, Compute{0}, {}, {share, stashed});
    step.programs.push_back(std::move(builder).finish());
    const StageMemory result = memory(step, 0);
    EXPECT_EQ(at(result, Keep::weight), 100U + 3 * 30U + 400U) << "one layer at a time";
    EXPECT_EQ(result.after_optimizer, 190U);
    const std::string text = to_text(step, 0);
    EXPECT_NE(text.find("400 B  weights, while used\n"), std::string::npos) << text;
    EXPECT_NE(text.find("30 B  weights, 3 versions\n"), std::string::npos) << text;
    EXPECT_NE(text.find("100 B  weights\n"), std::string::npos) << text;
}

TEST(Memory, ACallAddsThePeakOfItsBlock) {
    StepProgram step;
    Builder block("block");
    const BufferId a = block.buffer(100, Keep::scratch), b = block.buffer(30, Keep::scratch);
    block.emit(Lane::compute, {}, Compute{0}, {}, {a});
    block.emit(Lane::compute, {}, Compute{0}, {}, {b});
    block.emit(Lane::compute, {}, Compute{0}, {b}, {});
    step.blocks.push_back(std::move(block).finish());
    Builder builder("test");
    const BufferId saved = builder.buffer(7, Keep::activation);
    builder.emit(Lane::compute, {}, Call{0}, {}, {saved});
    builder.emit(Lane::compute, {}, Compute{0}, {saved}, {});
    step.programs.push_back(std::move(builder).finish());
    EXPECT_EQ(memory(step, 0).peak, 107U);
}

/// What runs at most at once, times what one micro-batch keeps.
TEST(Memory, ActivationsAtThePeakFollowTheSchedule) {
    Plan plan = tiny_plan(1, 4);
    plan.training.global_batch = 2 * 8;
    StepProgram step;
    Intern intern(step);
    const std::uint64_t layer = add_model_blocks(step, intern, plan).of("block").plain.saved_bytes;
    for (std::uint32_t stage = 1; stage < 3; ++stage) {  // one layer each, neither embedding nor head
        plan.strategy.schedule = ScheduleKind::one_f_one_b;
        EXPECT_EQ(at(memory(build(plan), stage), Keep::activation), (4 - stage) * layer);
        plan.strategy.schedule = ScheduleKind::gpipe;
        EXPECT_EQ(at(memory(build(plan), stage), Keep::activation), 8 * layer);
    }
}

TEST(Memory, UnrollingChangesNothing) {
    for (const Recompute recompute : {Recompute::none, Recompute::selective, Recompute::full}) {
        Plan plan = tiny_plan(2, 2, 2);
        plan.strategy.recompute = recompute;
        const StepProgram step = build(plan), flat = unrolled(step);
        for (std::uint32_t stage = 0; stage < 2; ++stage) {
            const StageMemory calls = memory(step, stage), all = memory(flat, stage);
            EXPECT_EQ(all.peak, calls.peak);
            EXPECT_EQ(all.before_backward, calls.before_backward);
            EXPECT_EQ(all.after_optimizer, calls.after_optimizer);
        }
    }
}

TEST(Memory, StatesAreParametersTimesTheirBytes) {
    Plan plan = tiny_plan(1, 1, 4);
    StepProgram step;
    Intern intern(step);
    const std::uint64_t parameters = place_layers(add_model_blocks(step, intern, plan), plan, 0).counts.trained;
    const StageMemory whole = memory(build(plan), 0);
    EXPECT_EQ(at(whole, Keep::weight), 2 * parameters);
    EXPECT_EQ(at(whole, Keep::gradient), 2 * parameters);
    EXPECT_EQ(at(whole, Keep::optimizer), 12 * parameters);
    plan.strategy.sharding = Sharding::zero1;
    const StageMemory sharded = memory(build(plan), 0);
    EXPECT_EQ(at(sharded, Keep::optimizer), 3 * parameters);
    EXPECT_EQ(at(sharded, Keep::gradient), 2 * parameters);
}

/// 16-bit gradients have a copy in fp32 while the optimizer runs (Megatron-LM: 20 bytes a parameter), 4 bytes of each
/// parameter that the rank updates; fp32 ones have none.
TEST(Memory, CopiesOfGradientsAreThereForTheOptimizerAlone) {
    Plan plan = tiny_plan();
    StepProgram step;
    Intern intern(step);
    const std::uint64_t parameters = place_layers(add_model_blocks(step, intern, plan), plan, 0).counts.trained;
    const auto held = [&] { return memory(build(plan), 0).after_optimizer; };
    EXPECT_NEAR(static_cast<double>(held()), static_cast<double>(20 * parameters), 100);
    plan.strategy.sharding = Sharding::zero1;
    EXPECT_NEAR(static_cast<double>(held()), static_cast<double>(4 * parameters + 16 * parameters / plan.strategy.data),
                100);
    plan.strategy.sharding = Sharding::none;
    plan.training.software = hardware::Software::orrery;
    EXPECT_NEAR(static_cast<double>(held()), static_cast<double>(20 * parameters), 100);
    EXPECT_EQ(at(memory(build(plan), 0), Keep::optimizer), 16 * parameters) << "its runtime keeps them";
    plan.training.precision.grad_reduce = kernels::Dtype::fp32;
    EXPECT_NEAR(static_cast<double>(held()), static_cast<double>(18 * parameters), 100);
}

/// Megatron-LM's loss writes exponentials and their gradient over the fp32 logits: 4 bytes a logit, and 2 for the
/// 16-bit logits, which are gone when their gradient comes (tensor_parallel/cross_entropy.py).
TEST(Memory, LogitsAreThereInBothFormatsOnce) {
    std::vector<std::uint64_t> peaks;
    std::vector<std::uint64_t> logits;
    for (const std::uint32_t vocab : {60'000U, 120'000U}) {
        Plan plan = tiny_plan();
        plan.model.vocab = vocab;
        const StageMemory result = memory(build(plan), 0);
        peaks.push_back(at(result, Keep::activation) + at(result, Keep::scratch));
        logits.push_back(plan.rank_tokens() * (plan.padded_vocab() / plan.strategy.tensor));
    }
    EXPECT_EQ(peaks[1] - peaks[0], 6 * (logits[1] - logits[0]));
}

TEST(Memory, RecomputingMoreNeedsLess) {
    std::vector<std::uint64_t> peaks;
    for (const Recompute recompute : {Recompute::none, Recompute::selective, Recompute::full}) {
        Plan plan = tiny_plan(1, 2);
        plan.model.layers = 16;
        plan.strategy.recompute = recompute;
        peaks.push_back(memory(build(plan), 0).peak);
    }
    EXPECT_GT(peaks[0], peaks[1]);
    EXPECT_GT(peaks[1], peaks[2]);
}

/// With some layers recomputed the peak lies between none and all.
TEST(Memory, RecomputingSomeLayersLiesBetween) {
    Plan plan = tiny_plan();
    plan.model.layers = 16;
    std::vector<std::uint64_t> activations{at(memory(build(plan), 0), Keep::activation)};
    plan.strategy.recompute = Recompute::full;
    for (const std::uint32_t layers : {4U, 8U, 16U}) {
        plan.strategy.recompute_num_layers = layers;
        activations.push_back(at(memory(build(plan), 0), Keep::activation));
    }
    EXPECT_TRUE(std::is_sorted(activations.rbegin(), activations.rend()));
    plan.strategy.recompute_num_layers = 0;
    EXPECT_EQ(at(memory(build(plan), 0), Keep::activation), activations.back()) << "0 means all";
}

TEST(Memory, SamplesAreThinnedButKeepThePeak) {
    Plan plan = tiny_plan();
    plan.training.global_batch = 2 * 1000;
    const StageMemory result = memory(build(plan), 0, OverTime::sampled);
    EXPECT_TRUE(memory(build(plan), 0).over_time.empty()) << "not asked for";
    EXPECT_LE(result.over_time.size(), 2000U);
    EXPECT_GT(result.over_time.size(), 500U);
    const auto most = std::max_element(result.over_time.begin(), result.over_time.end(),
                                       [](const auto& a, const auto& b) { return a.bytes < b.bytes; });
    EXPECT_EQ(most->bytes, result.peak);
    EXPECT_EQ(result.peak, std::max({result.before_backward, result.after_backward, result.after_optimizer}));
}

}  // namespace
}  // namespace orrery::strategies
