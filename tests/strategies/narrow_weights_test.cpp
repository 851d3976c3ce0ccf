// Weights of fp8 and fp4 products: what is kept of them, what moves, and when they are cast.
#include "strategies/narrow_weights.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "strategies/build.hpp"
#include "strategies/memory.hpp"
#include "strategies/rounds.hpp"
#include "strategies/stage.hpp"
#include "tests/strategies/tiny_plan.hpp"

namespace orrery::strategies {
namespace {

using kernels::Dtype;

Plan narrow_plan(Fp8Recipe recipe = Fp8Recipe::delayed, bool gather = false) {
    Plan plan = tiny_plan();
    plan.training.precision = {Dtype::fp8, Dtype::fp32};
    plan.training.fp8_recipe = recipe;
    plan.training.fp8_param_gather = gather;
    plan.training.software = hardware::Software::transformer_engine;
    return plan;
}

constexpr std::uint64_t of_layer = 12 * 64 * 64;  ///< 4 h^2 of attention, 8 h^2 of the MLP

std::uint64_t elements(const std::vector<NarrowWeight>& weights) {
    std::uint64_t sum = 0;
    for (const NarrowWeight& weight : weights) sum += weight.elements();
    return sum;
}

std::vector<NarrowWeight> weights_of(const Plan& plan, const char* layer) {
    return narrow_weights(shard(models::build(plan.model).layer(layer), plan));
}

TEST(NarrowWeights, AreThoseOfALayersProducts) {
    EXPECT_EQ(elements(weights_of(narrow_plan(), "block")), of_layer);
    EXPECT_EQ(weights_of(narrow_plan(), "block").size(), 4U);
    EXPECT_TRUE(weights_of(narrow_plan(), "embedding").empty());
    EXPECT_TRUE(weights_of(narrow_plan(), "head").empty()) << "logits are in 16 bits";
    EXPECT_TRUE(weights_of(tiny_plan(), "block").empty());
    Plan split = narrow_plan();
    split.strategy.tensor = 2;
    EXPECT_EQ(elements(weights_of(split, "block")), of_layer / 2);
    for (const bool overlap : {false, true}) {  // products in parts read one weight
        split.strategy.sequence_parallel = true;
        split.strategy.tensor_comm_overlap = overlap;
        EXPECT_EQ(elements(weights_of(split, "block")), of_layer / 2) << overlap;
    }
}

TEST(NarrowWeights, OfExpertsAllThatARankHolds) {
    Plan plan = moe_plan(1, 1, 4, 4);
    plan.training.precision = {Dtype::fp8, Dtype::fp32};
    std::uint64_t experts = 0, others = 0;
    for (const NarrowWeight& weight : weights_of(plan, "moe block"))
        (weight.experts ? experts : others) += weight.elements();
    EXPECT_EQ(experts, 2U * 3 * 64 * 96) << "two of eight, three matrices each";
    EXPECT_EQ(others, 64U * 64 + 64 * 2 * 32 + 64 * 64) << "queries, keys and values, projection; the router is wide";
}

TEST(NarrowWeights, FrozenOnesAreToldApart) {
    Plan plan = narrow_plan();
    plan.training.lora_rank = 4;
    const auto weights = weights_of(plan, "block");
    EXPECT_EQ(elements(weights), of_layer) << "adapters are in 16 bits";
    EXPECT_TRUE(std::ranges::none_of(weights, &NarrowWeight::trained));
    EXPECT_FALSE(weight_casts(plan, weights.front()).empty());
    plan.training.fp8_param_gather = true;
    EXPECT_TRUE(weight_casts(plan, weights.front()).empty()) << "what never changes is cast once and for all";
}

/// Bytes of 32 narrow parameters beside 10 others.
struct Kept {
    Fp8Recipe recipe;
    bool gather, either_order, no_cache;
    std::uint64_t kept, moved, cast;
};

TEST(NarrowWeights, BytesByRecipe) {
    constexpr std::uint64_t narrow = 32, others = 10 * 2;
    for (const Kept& row : {Kept{Fp8Recipe::delayed, false, false, false, narrow * 4, narrow * 2, narrow * 2},
                            Kept{Fp8Recipe::delayed, false, true, false, narrow * 3, narrow * 2, narrow},
                            Kept{Fp8Recipe::delayed, true, false, false, narrow * 2, narrow, narrow},
                            Kept{Fp8Recipe::tensorwise, true, true, false, narrow, narrow, 0},
                            Kept{Fp8Recipe::tensorwise, true, false, true, narrow, narrow, 0},
                            Kept{Fp8Recipe::blockwise, true, true, false, narrow * 2, narrow, narrow},
                            Kept{Fp8Recipe::mxfp8, false, true, false, narrow * 4, narrow * 2, narrow * 2},
                            Kept{Fp8Recipe::mxfp8, true, true, false, narrow * 2, narrow * 2, narrow * 2}}) {
        Plan plan = narrow_plan(row.recipe, row.gather);
        plan.fp8_either_order = row.either_order;
        plan.training.no_transpose_cache = row.no_cache;
        const std::string what = std::to_string(static_cast<int>(row.recipe)) + (row.gather ? " gathered" : "");
        EXPECT_EQ(kept_weight_bytes(plan, {narrow + 10, narrow}), row.kept + others) << what;
        EXPECT_EQ(moved_weight_bytes(plan, {narrow + 10, narrow}), row.moved + others) << what;
        EXPECT_EQ(cast_weight_bytes(plan, narrow), row.cast) << what;
    }
    Plan fp4 = narrow_plan(Fp8Recipe::delayed, true);
    fp4.training.precision.compute = Dtype::fp4;
    EXPECT_EQ(kept_weight_bytes(fp4, {32, 32}), 2U * 18) << "half a byte and a scale for each 16, in both orders";
    EXPECT_EQ(moved_weight_bytes(fp4, {32, 32}), 18U);
    EXPECT_EQ(kept_weight_bytes(tiny_plan(), {32, 0}), 64U);
}

/// Names of kernels outside calls, and how often they stand there.
std::map<std::string, int> kernels_of(const StepProgram& step, const Program& program) {
    std::map<std::string, int> counts;
    for (const Op& op : program.ops)
        if (std::holds_alternative<Compute>(op.what)) ++counts[step.names[op.label.name]];
    return counts;
}

TEST(WeightCasts, StandBeforeTheFirstForwardOfAStep) {
    const auto casts = [](const Plan& plan) {
        const StepProgram step = build(plan);
        EXPECT_THAT(verify(step), testing::IsEmpty());
        int sum = 0;
        for (const Program& program : step.programs) sum += kernels_of(step, program)["cast weights"];
        return sum;
    };
    EXPECT_EQ(casts(tiny_plan()), 0);
    EXPECT_EQ(casts(narrow_plan()), 4 * 4) << "of four layers";
    EXPECT_EQ(casts(narrow_plan(Fp8Recipe::tensorwise)), 4 * 4 * 2) << "behind their maxima";
    Plan eager = narrow_plan();
    eager.training.software = hardware::Software::megatron_lm;
    EXPECT_EQ(casts(eager), 4 * 4 * 4) << "of four micro-batches each";
    Plan uncached = narrow_plan();
    uncached.training.no_transpose_cache = true;
    EXPECT_EQ(casts(uncached), 4 * 4 * 4);
    for (const std::uint32_t chunks : {1U, 2U}) {
        Plan pipeline = narrow_plan();
        pipeline.strategy.pipeline = 2;
        pipeline.strategy.virtual_pipeline = chunks;
        if (chunks > 1) pipeline.strategy.schedule = ScheduleKind::interleaved;
        EXPECT_EQ(casts(pipeline), 4 * 4) << chunks;
    }
    Plan sharded = narrow_plan();
    sharded.strategy.data = 2;
    sharded.training.global_batch *= 2;
    sharded.strategy.sharding = Sharding::zero3;
    EXPECT_EQ(casts(sharded), 4 * 4 * 4) << "what is gathered anew is cast anew";
    Plan either = narrow_plan(Fp8Recipe::tensorwise, true);
    EXPECT_EQ(casts(either), 4 * 4) << "transposes alone";
    either.fp8_either_order = true;
    EXPECT_EQ(casts(either), 0);
}

TEST(WeightCasts, AreThereInShortenedSteps) {
    for (const std::uint32_t stages : {1U, 2U}) {
        Plan plan = narrow_plan();
        plan.model.layers = 12;
        plan.strategy.pipeline = stages;
        plan.training.global_batch = plan.training.micro_batch * 40;
        const StepProgram whole = build(plan);
        const auto shortened = build_shortened(plan, 6);
        ASSERT_TRUE(shortened) << stages;
        EXPECT_THAT(verify(*shortened), testing::IsEmpty());
        for (std::uint32_t role = 0; role < whole.programs.size(); ++role) {
            const std::string cast = "cast weights";
            EXPECT_EQ(kernels_of(*shortened, shortened->programs[role]).at(cast), 12 * 4 / static_cast<int>(stages));
            EXPECT_EQ(unrolled_ops(*shortened, role), unrolled_ops(whole, role));
            EXPECT_EQ(memory(*shortened, role).peak, memory(whole, role).peak);
        }
    }
}

std::uint64_t at_peak(const Plan& plan, Keep keep) {
    const StepProgram step = build(plan);
    EXPECT_THAT(verify(step), testing::IsEmpty());
    return memory(step, 0).at_peak[static_cast<std::size_t>(keep)];
}

TEST(NarrowWeights, AreCountedWhereLayersAreAlone) {
    const std::uint64_t narrow = 4 * of_layer, wide = at_peak(tiny_plan(), Keep::weight);
    EXPECT_EQ(at_peak(narrow_plan(), Keep::weight), wide + 2 * narrow) << "words, norms and biases have no casts";
    EXPECT_EQ(at_peak(narrow_plan(Fp8Recipe::delayed, true), Keep::weight), wide);
    Plan either = narrow_plan(Fp8Recipe::delayed, true);
    either.fp8_either_order = true;
    EXPECT_EQ(at_peak(either, Keep::weight), wide - narrow);
    Plan eager = narrow_plan();
    eager.training.software = hardware::Software::megatron_lm;
    EXPECT_EQ(at_peak(eager, Keep::weight), wide) << "casts do not stay";
}

/// The distributed optimizer's, behind a step.
std::uint64_t gathered_bytes_of(const Plan& plan) {
    const StepProgram step = build(plan);
    EXPECT_THAT(verify(step), testing::IsEmpty());
    std::uint64_t bytes = 0;
    for (const Op& op : step.programs[0].ops)
        if (const auto* moved = std::get_if<Collective>(&op.what))
            if (moved->kind == kernels::CollectiveKind::all_gather) bytes += moved->bytes;
    return bytes;
}

TEST(NarrowWeights, MoveInAByte) {
    for (const bool beside : {false, true}) {  // of the next step's forward
        const auto gathered = [&](Fp8Recipe recipe, bool gather) {
            Plan plan = narrow_plan(recipe, gather);
            plan.strategy.data = 2;
            plan.training.global_batch *= 2;
            plan.strategy.sharding = Sharding::zero1;
            plan.strategy.overlap_grad_reduce = plan.strategy.overlap_param_gather = beside;
            return gathered_bytes_of(plan);
        };
        const std::uint64_t wide = gathered(Fp8Recipe::delayed, false);
        EXPECT_EQ(gathered(Fp8Recipe::delayed, true), wide - 4 * of_layer) << beside;
        EXPECT_EQ(gathered(Fp8Recipe::mxfp8, true), wide) << beside;
    }
}

/// gather_along_first_dim; torchao's Float8ColwiseParallel and Float8RowwiseParallel, which rowwise scales do not take.
TEST(NarrowActivations, AreGatheredInAByteByThoseWhoCastFirst) {
    const auto gathered = [](hardware::Software software, Fp8Recipe recipe) {
        Plan plan = narrow_plan(recipe);
        plan.training.software = software;
        plan.strategy.tensor = 2;
        plan.strategy.sequence_parallel = true;
        EXPECT_THAT(verify(build(plan)), testing::IsEmpty());
        std::uint64_t bytes = 0;
        for (const Piece& piece : shard(models::build(plan.model).layer("block"), plan).pieces)
            for (const auto* list : {&piece.forward, &piece.backward})
                for (const Work& work : *list)
                    if (const auto* moved = std::get_if<LayerCollective>(&work.what))
                        if (moved->kind == kernels::CollectiveKind::all_gather) bytes += moved->bytes;
        EXPECT_GT(bytes, 0U);
        return bytes;
    };
    using hardware::Software;
    const std::uint64_t wide = gathered(Software::pytorch, Fp8Recipe::blockwise);
    EXPECT_LT(gathered(Software::pytorch, Fp8Recipe::tensorwise), 0.75 * static_cast<double>(wide));
    EXPECT_EQ(gathered(Software::pytorch, Fp8Recipe::delayed), wide);
    EXPECT_EQ(gathered(Software::transformer_engine, Fp8Recipe::tensorwise),
              gathered(Software::pytorch, Fp8Recipe::tensorwise));
}

TEST(NarrowWeights, TheOptimizerCastsItsOwnShare) {
    const auto kernels = [](Fp8Recipe recipe, bool gather) {
        const StepProgram step = build(narrow_plan(recipe, gather));
        return kernels_of(step, step.programs[0]);
    };
    EXPECT_EQ(kernels(Fp8Recipe::delayed, false).count("weights to narrow format"), 0U);
    EXPECT_EQ(kernels(Fp8Recipe::delayed, true).at("weights to narrow format"), 1);
    EXPECT_EQ(kernels(Fp8Recipe::delayed, true).count("maxima of weights"), 0U);
    EXPECT_EQ(kernels(Fp8Recipe::tensorwise, true).at("maxima of weights"), 1);
    EXPECT_EQ(kernels(Fp8Recipe::mxfp8, true).count("weights to narrow format"), 0U);
}

TEST(NarrowWeights, TransposesThatAreNotKeptAreMadeInEachBackward) {
    const auto transposes = [](const Plan& plan) {
        int count = 0;
        for (const Piece& piece : shard(models::build(plan.model).layer("block"), plan).pieces)
            count += static_cast<int>(std::ranges::count(piece.backward, "transpose weight", &Work::name));
        return count;
    };
    Plan plan = narrow_plan(Fp8Recipe::delayed, true);
    EXPECT_EQ(transposes(plan), 0);
    plan.training.no_transpose_cache = true;
    EXPECT_EQ(transposes(plan), 4);
    plan.fp8_either_order = true;
    EXPECT_EQ(transposes(plan), 0);
}

}  // namespace
}  // namespace orrery::strategies
