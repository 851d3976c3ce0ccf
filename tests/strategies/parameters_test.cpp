// The parameters of all stages and tensor ranks are the model's, but for padding and what every rank holds.
#include <gtest/gtest.h>

#include "models/operators.hpp"
#include "strategies/gradient_buckets.hpp"
#include "strategies/stage.hpp"
#include "strategies/state_bytes.hpp"
#include "tests/strategies/tiny_plan.hpp"

namespace orrery::strategies {
namespace {

std::uint64_t placed(const Plan& plan) {
    StepProgram step;
    Intern intern(step);
    const ModelBlocks blocks = add_model_blocks(step, intern, plan);
    std::uint64_t sum = 0;
    for (std::uint32_t stage = 0; stage < plan.strategy.pipeline; ++stage)
        sum += place_layers(blocks, plan, stage).counts.trained;
    return sum * plan.strategy.tensor;
}

/// The model with its vocabulary padded, the copy of a tied embedding on the last stage, and tensor - 1 more copies of
/// `replicated`.
std::uint64_t expected(const Plan& plan, std::uint64_t replicated) {
    models::ModelSpec padded = plan.model;
    padded.vocab = static_cast<std::uint32_t>(plan.padded_vocab());
    std::uint64_t sum = models::parameters(models::build(padded)) + (plan.strategy.tensor - 1) * replicated;
    if (plan.model.tied_embeddings && plan.strategy.pipeline > 1) sum += plan.padded_vocab() * plan.model.hidden;
    return sum;
}

constexpr std::uint64_t h = 64, layers = 4;

void expect_all(const models::ModelSpec& model, std::uint64_t replicated) {
    for (const std::uint32_t tensor : {1U, 2U})
        for (const std::uint32_t pipeline : {1U, 2U, 4U}) {
            Plan plan = tiny_plan(tensor, pipeline);
            plan.model = model;
            EXPECT_EQ(placed(plan), expected(plan, replicated)) << model.name << " " << tensor << " x " << pipeline;
        }
}

TEST(Parameters, Gpt) {
    // positions; two norms and the biases of the two row-parallel layers; the final norm
    expect_all(tiny_gpt(), 128 * h + layers * (2 * 2 * h + 2 * h) + 2 * h);
}

TEST(Parameters, Llama) { expect_all(tiny_llama(), layers * 2 * h + h); }

TEST(Parameters, Bert) {
    // positions and segments, the norm behind them; a layer as GPT's; the head's dense layer and norm
    expect_all(tiny_bert(), (128 + 2) * h + 2 * h + layers * (4 * h + 2 * h) + (h * h + h) + 2 * h);
}

TEST(Parameters, TheVocabularyIsPaddedTo128ForEachTensorRank) {
    EXPECT_EQ(tiny_plan(1).padded_vocab(), 1024U);
    EXPECT_EQ(tiny_plan(4).padded_vocab(), 1024U);
    EXPECT_EQ(tiny_plan(16).padded_vocab(), 2048U);
}

TEST(Parameters, ChunksMoveLayersButKeepTheSum) {
    Plan plan = tiny_plan(1, 2);
    const std::uint64_t plain = placed(plan);
    plan.strategy.schedule = ScheduleKind::interleaved;
    plan.strategy.virtual_pipeline = 2;
    EXPECT_EQ(placed(plan), plain);
    StepProgram step;
    Intern intern(step);
    const Stage stage = place_layers(add_model_blocks(step, intern, plan), plan, 1);
    ASSERT_EQ(stage.chunks.size(), 2U);
    EXPECT_EQ(stage.chunks[0].front().layer, 1);
    EXPECT_EQ(stage.chunks[1].front().layer, 3);
}

TEST(Parameters, BucketsHoldEveryGradientOnce) {
    Plan plan = tiny_plan(1, 2);
    StepProgram step;
    Intern intern(step);
    const ModelBlocks blocks = add_model_blocks(step, intern, plan);
    const Stage stage = place_layers(blocks, plan, 1);
    for (const std::uint64_t size :
         {std::uint64_t{1}, blocks.of("block").plain.counts.trained + 1, std::uint64_t{1} << 60}) {
        const GradientBuckets buckets = gradient_buckets(stage, size);
        std::uint64_t sum = 0;
        for (std::size_t b = 0; b < buckets.buckets.size(); ++b) {
            sum += buckets.buckets[b].parameters;
            const bool filled = b + 1 < buckets.buckets.size();
            EXPECT_TRUE(!filled || buckets.buckets[b].parameters >= size);
        }
        EXPECT_EQ(sum, stage.counts.trained);
    }
    EXPECT_EQ(gradient_buckets(stage, 1).buckets.size(), 3U) << "head and two layers";
    EXPECT_EQ(gradient_buckets(stage, 1).of_layer[0], (std::vector<std::uint32_t>{2, 1, 0})) << "backward order";
}

/// Megatron-LM, docs/distrib_optimizer.md.
TEST(Parameters, BytesOfMixedPrecisionAdam) {
    using kernels::Dtype;
    const auto sum = [](Dtype compute, Dtype reduce) {
        const StateBytes state = state_bytes({.precision = {compute, reduce}});
        return state.weight + state.gradient + state.optimizer + state.gradient_copy;
    };
    EXPECT_EQ(sum(Dtype::fp16, Dtype::fp16), 20U);
    EXPECT_EQ(sum(Dtype::bf16, Dtype::fp32), 18U);
    EXPECT_EQ(sum(Dtype::fp32, Dtype::fp32), 16U);
    EXPECT_EQ(sum(Dtype::tf32, Dtype::fp32), 16U);
}

}  // namespace
}  // namespace orrery::strategies
