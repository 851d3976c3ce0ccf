// Pipelines without flushes, against a plain implementation that reads the versions of weights which the papers say.
#include "tests/run/agreement.hpp"
#include "tests/run/every_mesh.hpp"

namespace orrery::run {
namespace {

using strategies::Plan;
using strategies::ScheduleKind;

/// Micro-batches of one sequence: eight of a step and data rank.
Plan without_flushes(ScheduleKind schedule, std::uint32_t stages) {
    Plan plan = plan_of(small_llama());
    plan.training.micro_batch = 1;
    plan.strategy.pipeline = stages;
    plan.strategy.schedule = schedule;
    return plan;
}

/// As four layers lie on the stages.
std::uint32_t stage_of(const Plan& plan, const std::string& parameter) {
    if (parameter.starts_with("embedding")) return 0;
    if (!parameter.starts_with("layer.")) return plan.strategy.pipeline - 1;
    return static_cast<std::uint32_t>(std::stoul(parameter.substr(6))) * plan.strategy.pipeline / plan.model.layers;
}

/// Narayanan et al. 2021, arXiv:2006.09503, equation 1: W(t + 1) = W(t) - v grad f(W(t - 1)).
std::uint32_t one_step_late(const Plan& plan, const std::string& /*parameter*/, std::uint32_t micro_batch) {
    const std::uint32_t step = micro_batch / plan.micro_batches();
    return step == 0 ? 0 : step - 1;
}

/// Narayanan et al., SOSP'19, section 3.3: a stage's newest as the micro-batch goes forward, when so many micro-batches
/// lie between it and its backward as there are stages behind.
std::uint32_t newest_of_its_stage(const Plan& plan, const std::string& parameter, std::uint32_t micro_batch) {
    const std::uint32_t behind = plan.strategy.pipeline - 1 - stage_of(plan, parameter);
    return micro_batch < behind ? 0 : (micro_batch - behind) / plan.micro_batches();
}

/// The same section, vertical sync: all stages take what was the first one's newest as the micro-batch came in.
std::uint32_t newest_of_the_first(const Plan& plan, const std::string& /*parameter*/, std::uint32_t micro_batch) {
    return newest_of_its_stage(plan, "embedding", micro_batch);
}

std::uint32_t of_its_step(const Plan& plan, const std::string& /*parameter*/, std::uint32_t micro_batch) {
    return micro_batch / plan.micro_batches();
}

using Version = std::uint32_t (*)(const Plan& plan, const std::string& parameter, std::uint32_t micro_batch);

std::vector<ReferenceStep> reference(const Plan& plan, Version version) {
    return train_reference(
        plan, fast(), steps,
        {[&](const std::string& parameter, std::uint32_t micro_batch) { return version(plan, parameter, micro_batch); },
         [&](const std::string& parameter) { return stage_of(plan, parameter); }});
}

Trained train_window(Plan plan) {
    plan.window_steps = steps;
    return train(plan, fast(), steps);
}

void expect_the_reference(const Plan& plan, Version version) {
    expect_losses(train_window(plan), reference(plan, version), single_error);
    Plan half = plan;
    half.training.precision = {kernels::Dtype::bf16, kernels::Dtype::fp32};
    expect_losses(train_window(half), reference(plan, version), half_loss_error(steps));
}

TEST(WithoutFlushes, TwoVersionsOfWeightsAreAStepLate) {
    for (const std::uint32_t stages : {2U, 4U}) {
        SCOPED_TRACE(stages);
        expect_the_reference(without_flushes(ScheduleKind::pipedream_2bw, stages), one_step_late);
    }
}

/// Every step of the one program draws its own masks.
TEST(WithoutFlushes, DropoutsAreOfTheirStep) {
    Plan plan = without_flushes(ScheduleKind::pipedream_2bw, 2);
    plan.model.dropout = 0.2;
    expect_the_reference(plan, one_step_late);
}

TEST(WithoutFlushes, AsManyMicroBatchesAsStages) {
    Plan plan = without_flushes(ScheduleKind::pipedream_2bw, 4);
    plan.training.micro_batch = 2;
    expect_the_reference(plan, one_step_late);
}

TEST(WithoutFlushes, DataAndTensorRanksShareTheStages) {
    Plan plan = without_flushes(ScheduleKind::pipedream_2bw, 2);
    plan.strategy.data = 2;
    expect_the_reference(plan, one_step_late);
    plan.strategy.data = 1;
    plan.strategy.tensor = 2;
    plan.strategy.sequence_parallel = true;
    expect_the_reference(plan, one_step_late);
}

TEST(WithoutFlushes, OneStageIsNeverLate) {
    expect_the_reference(without_flushes(ScheduleKind::pipedream_2bw, 1), of_its_step);
}

TEST(WithoutFlushes, PipeDreamKeepsWhatAMicroBatchWentForwardWith) {
    for (const std::uint32_t micro_batch : {8U, 4U, 1U}) {  // one, two and eight a step
        SCOPED_TRACE(micro_batch);
        Plan plan = without_flushes(ScheduleKind::pipedream, 4);
        plan.training.micro_batch = micro_batch;
        expect_the_reference(plan, newest_of_its_stage);
    }
}

TEST(WithoutFlushes, VerticalSyncTakesTheFirstStagesVersionEverywhere) {
    for (const std::uint32_t micro_batch : {8U, 4U, 1U}) {
        SCOPED_TRACE(micro_batch);
        Plan plan = without_flushes(ScheduleKind::pipedream_vertical_sync, 4);
        plan.training.micro_batch = micro_batch;
        expect_the_reference(plan, newest_of_the_first);
    }
}

TEST(WithoutFlushes, ZbH2IsNeverLate) {
    for (const std::uint32_t stages : {2U, 4U})
        expect_the_reference(without_flushes(ScheduleKind::zb_h2, stages), of_its_step);
}

/// A delay that is not there would change nothing in a test whose losses are as near as another reference's.
TEST(WithoutFlushes, TheirReferencesDiffer) {
    const Plan plan = without_flushes(ScheduleKind::pipedream_2bw, 2);
    const auto late = reference(plan, one_step_late), newest = reference(plan, newest_of_its_stage),
               never = reference(plan, of_its_step), first = reference(plan, newest_of_the_first);
    EXPECT_GT(std::abs(first.back().loss - newest.back().loss), 20 * single_error * never.back().loss);
    EXPECT_GT(std::abs(late.back().loss - never.back().loss), 20 * single_error * never.back().loss);
    EXPECT_GT(std::abs(late.back().loss - newest.back().loss), 20 * single_error * never.back().loss);
    EXPECT_GT(std::abs(newest.back().loss - never.back().loss), 20 * single_error * never.back().loss);
}

TEST(WithoutFlushes, WeightsHaveTheirVersionsInMemory) {
    const Plan plan = without_flushes(ScheduleKind::pipedream_2bw, 2);
    Plan flushed = plan;
    flushed.strategy.schedule = ScheduleKind::one_f_one_b;
    const RankMemory two = train_window(plan).memory.front(), one = train(flushed, fast(), 1).memory.front();
    EXPECT_EQ(two.weights, 2 * one.weights);
    EXPECT_EQ(two.optimizer, one.optimizer + one.weights) << "masters are apart from versions";
}

/// The backward reads what its forward read: of one version too few it would not.
TEST(WithoutFlushes, AReadOfALostVersionIsFound) {
    Plan plan = without_flushes(ScheduleKind::pipedream, 4);
    plan.training.micro_batch = 8;
    plan.window_steps = steps;
    strategies::StepProgram program = program_of(plan);
    EXPECT_TRUE(strategies::verify(program).empty());
    program.programs.front().state.versions -= 1;
    EXPECT_FALSE(strategies::verify(program).empty());
}

}  // namespace
}  // namespace orrery::run
