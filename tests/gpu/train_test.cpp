// A GPU trains the same models as a plain implementation in double precision, as CPUs do in tests/run.
#include <cmath>
#include <string>

#include "base/error.hpp"
#include "run/executor.hpp"
#include "strategies/build.hpp"
#include "tests/gpu/gpu.hpp"
#include "tests/run/small_models.hpp"

namespace orrery::run {
namespace {

using strategies::Plan;
using strategies::Recompute;

/// With rows of whole vectors of 16 bytes, in either format.
Plan wide(const models::ModelSpec& spec) {
    Plan plan = plan_of(spec);
    plan.model.layers = 3;
    plan.model.hidden = 32;
    plan.model.head_dim = 8;
    plan.model.ffn = 48;
    plan.training.seq = 16;
    if (plan.model.max_positions > 0) plan.model.max_positions = 16;
    return plan;
}

Plan gpt() { return wide(small_gpt()); }
Plan llama() { return wide(small_llama()); }

/// As llama(), with two of eight experts a token in every layer.
Plan mixtral() {
    Plan plan = llama();
    plan.model.name = "mixtral";
    plan.model.experts = 8;
    plan.model.experts_per_token = 2;
    plan.model.expert_ffn = 40;
    plan.model.moe_layer_freq = 1;
    return plan;
}

/// As gpt(), with one of four experts a token in every other layer.
Plan gpt_with_experts() {
    Plan plan = gpt();
    plan.model.name = "gpt with experts";
    plan.model.experts = 4;
    plan.model.experts_per_token = 1;
    plan.model.expert_ffn = 40;
    plan.model.moe_layer_freq = 2;
    return plan;
}

class GpuTraining : public kernels::GpuTest {
protected:
    /// tolerance: of every step's loss, relative.
    static void expect_the_reference(const Plan& plan, double tolerance, const RunSettings& settings = fast()) {
        const auto reference = train_reference(plan, settings, steps);
        ASSERT_LT(reference.back().loss, reference.front().loss - 0.1) << "the reference does not learn";
        ASSERT_GT(reference.front().gradient_norm, plan.training.grad_clip) << "clipping does nothing";
        const strategies::StepProgram program = strategies::build(plan);
        Executor executor(gpu(), nullptr, plan, program, settings);
        for (std::uint32_t step = 0; step < steps; ++step) {
            const StepResult result = executor.step();
            ASSERT_EQ(result.losses.size(), 1U);
            EXPECT_NEAR(result.losses[0], reference[step].loss, tolerance * reference[step].loss) << "step " << step;
            EXPECT_GT(result.seconds, 0);
        }
    }
};

TEST_F(GpuTraining, TrainsAsTheReference) {
    for (const Plan& plan : {gpt(), llama()}) {
        SCOPED_TRACE(plan.model.name);
        expect_the_reference(plan, 5e-5);
    }
}

TEST_F(GpuTraining, TrainsAsTheReferenceInEveryMode) {
    for (Plan plan : {gpt(), llama()}) {
        SCOPED_TRACE(plan.model.name);
        plan.strategy.recompute = Recompute::selective;
        expect_the_reference(plan, 5e-5);
        plan.strategy.recompute = Recompute::full;
        expect_the_reference(plan, 5e-5);
        plan.training.gradient_accumulation_fusion = false;
        expect_the_reference(plan, 5e-5);
    }
}

TEST_F(GpuTraining, TrainsExpertsAsTheReference) {
    Plan shared = mixtral();
    shared.model.experts_per_token = 3;
    shared.model.shared_expert_ffn = 56;
    for (Plan plan : {mixtral(), gpt_with_experts(), shared}) {
        SCOPED_TRACE(plan.model.name);
        expect_the_reference(plan, 5e-5);
        plan.strategy.recompute = Recompute::full;
        plan.training.gradient_accumulation_fusion = false;
        expect_the_reference(plan, 5e-5);
    }
}

TEST_F(GpuTraining, TrainsUnfusedAttentionAsTheReference) {
    for (Plan plan : {gpt(), llama()})
        for (const double rate : {0.0, 0.2}) {
            SCOPED_TRACE(plan.model.name);
            plan.training.fused_attention = false;
            plan.model.dropout = rate;
            expect_the_reference(plan, 5e-5);
            plan.strategy.recompute = Recompute::selective;
            expect_the_reference(plan, 5e-5);
        }
}

/// Dropouts draw the reference's masks, behind a recomputation again.
TEST_F(GpuTraining, TrainsDropoutsAsTheReference) {
    for (Plan plan : {gpt(), llama()}) {
        SCOPED_TRACE(plan.model.name);
        plan.model.dropout = 0.2;
        expect_the_reference(plan, 5e-5);
        plan.strategy.recompute = Recompute::full;
        expect_the_reference(plan, 5e-5);
    }
}

/// Operands of products keep 11 bits of their fractions: 5e-4 each. Heads of 64 are those whose attention tensor cores
/// take; at fast()'s rate weights as wide diverge.
TEST_F(GpuTraining, FollowsTheReferenceInTf32) {
    Plan plan = gpt();
    plan.training.precision.compute = kernels::Dtype::tf32;
    expect_the_reference(plan, 5e-3);
    plan.model.hidden = 4 * 64;
    plan.model.head_dim = 64;
    RunSettings settings = fast();
    settings.adam.rate = 5e-4;
    expect_the_reference(plan, 2e-3, settings);
}

/// tests/run/equivalence_test.cpp says why these tolerances; heads are those that tensor cores take. At fast()'s rate
/// weights this wide diverge, in double precision too.
TEST_F(GpuTraining, FollowsTheReferenceInBf16) {
    for (Plan plan : {gpt(), llama()})
        for (const kernels::Dtype sums : {kernels::Dtype::fp32, kernels::Dtype::bf16}) {
            SCOPED_TRACE(plan.model.name);
            plan.model.hidden = 4 * 64;
            plan.model.head_dim = 64;
            plan.training.precision = {kernels::Dtype::bf16, sums};
            RunSettings settings = fast();
            settings.adam.rate = 5e-4;
            expect_the_reference(plan, 2e-3, settings);
            plan.model.dropout = 0.1;
            expect_the_reference(plan, 2e-3, settings);
            plan.training.fused_attention = false;
            expect_the_reference(plan, 2e-3, settings);
        }
}

TEST_F(GpuTraining, TimesStepsAlone) {
    const Plan plan = gpt();
    const strategies::StepProgram program = strategies::build(plan);
    Executor every(gpu(), nullptr, plan, program, fast()), alone(gpu(), nullptr, plan, program, fast());
    alone.time_steps_only();
    for (int step = 0; step < 3; ++step) {
        const StepResult timed = every.step(), result = alone.step();
        EXPECT_EQ(result.losses, timed.losses);
        EXPECT_TRUE(result.spans.empty());
        EXPECT_GT(result.seconds, 0);
    }
    EXPECT_LT(alone.marks(), every.marks() / 10);
}

/// Steps that are replayed are those that are queued, to the last bit. Of both the host's time is left in the results.
TEST_F(GpuTraining, TrainsByAGraphAsByQueuedSteps) {
    Plan plan = gpt();
    plan.model.dropout = 0.2;
    const strategies::StepProgram program = strategies::build(plan);
    Plan recorded_plan = plan;
    recorded_plan.training.cuda_graph = true;
    Executor queued(gpu(), nullptr, plan, program, fast()), recorded(gpu(), nullptr, recorded_plan, program, fast());
    double queueing = 0, launching = 0;
    for (std::uint32_t step = 0; step < steps; ++step) {
        const StepResult one = queued.step(), other = recorded.step();
        EXPECT_EQ(other.losses, one.losses) << "step " << step;
        EXPECT_EQ(other.spans.size(), one.spans.size());
        EXPECT_GT(other.seconds, 0);
        queueing = one.host;
        launching = other.host;
    }
    RecordProperty("queueing_us", std::to_string(1e6 * queueing));
    RecordProperty("launching_us", std::to_string(1e6 * launching));
    EXPECT_GT(launching, 0);
}

TEST_F(GpuTraining, MomentsStayInOrderOverSteps) {
    const Plan plan = gpt();
    const strategies::StepProgram program = strategies::build(plan);
    Executor executor(gpu(), nullptr, plan, program, fast());
    double last = 0;
    for (int step = 0; step < 5; ++step) {
        const StepResult result = executor.step();
        EXPECT_GT(result.origin, last);
        last = result.origin + result.seconds;
        for (const Span& span : result.spans) {
            EXPECT_GE(span.begin, -1e-6);
            EXPECT_GE(span.end, span.begin - 1e-6);
        }
    }
}

TEST_F(GpuTraining, RefusesRowsThatItsVectorsDoNotFit) {
    Plan plan = gpt();
    plan.model.hidden = 30;
    plan.model.head_dim = 6;
    plan.model.heads = plan.model.kv_heads = 5;
    const strategies::StepProgram program = strategies::build(plan);
    EXPECT_THROW(Executor(gpu(), nullptr, plan, program, fast()), Error);
}

}  // namespace
}  // namespace orrery::run
