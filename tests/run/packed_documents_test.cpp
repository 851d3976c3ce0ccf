// Sequences of packed documents train as a plain implementation does in which no query sees another document's keys.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/run/agreement.hpp"
#include "tests/run/layer_models.hpp"
#include "tests/run/small_models.hpp"

namespace orrery::run {
namespace {

using strategies::Plan;

const Case meshes[]{
    {"OneRank", [](Plan&) {}},
    {"OneMicroBatch", [](Plan& p) { p.training.micro_batch = 8; }},
    {"OneSequence", [](Plan& p) { p.training.micro_batch = 1; }},
    {"SelectiveRecompute", [](Plan& p) { p.strategy.recompute = strategies::Recompute::selective; }},
    {"Sequence2",
     [](Plan& p) {
         p.strategy.tensor = 2;
         p.strategy.sequence_parallel = true;
     }},
    {"Everything",
     [](Plan& p) {
         p.strategy.tensor = p.strategy.pipeline = p.strategy.data = 2;
         p.strategy.sequence_parallel = true;
         p.strategy.recompute = strategies::Recompute::full;
     }},
};

/// Two documents of four tokens in each sequence of eight.
Plan packed(const models::ModelSpec& spec) {
    Plan plan = plan_of(spec);
    plan.training.document_length = 4;
    return plan;
}

/// Learned positions and rotary ones, both of which go on over documents; all of a document seen, a window of it, and
/// scores that are dropped; latent attention.
std::vector<models::ModelSpec> models_of_documents() {
    std::vector<models::ModelSpec> specs{small_gpt(), small_llama(), small_latent()};
    models::ModelSpec both_ways = small_gpt();
    both_ways.causal = false;
    models::ModelSpec window = small_llama();
    window.attention_window = 3;
    models::ModelSpec wide_window = small_llama();
    wide_window.attention_window = 6;
    models::ModelSpec dropping = small_llama();
    dropping.dropout = 0.2;
    for (models::ModelSpec& spec : specs) spec.tied_embeddings = false;  // stages shard what they share differently
    for (models::ModelSpec* spec : {&both_ways, &window, &wide_window, &dropping}) {
        spec->tied_embeddings = false;
        specs.push_back(*spec);
    }
    return specs;
}

TEST(PackedDocuments, TrainAsTheReference) {
    for (const models::ModelSpec& spec : models_of_documents()) {
        const std::vector<ReferenceStep> reference = train_reference(packed(spec), fast(), steps);
        for (const Case& mesh : meshes) {
            SCOPED_TRACE(spec.name + " " + mesh.name);
            Plan plan = packed(spec);
            mesh.change(plan);
            expect_losses(train(plan, fast(), steps), reference, single_error);
            expect_gradient_elements(train(plan, fast(), 1), reference.front(), plan.training.grad_clip, single_error);
        }
    }
}

TEST(PackedDocuments, TrainInSixteenBits) {
    for (const models::ModelSpec& spec : {small_gpt(), small_llama()}) {
        SCOPED_TRACE(spec.name);
        Plan plan = packed(spec);
        const std::vector<ReferenceStep> reference = train_reference(plan, fast(), steps);
        plan.training.precision = {kernels::Dtype::bf16, kernels::Dtype::fp32};
        expect_losses(train(plan, fast(), steps), reference, half_loss_error(steps));
    }
}

/// They compute something else than a sequence that is one document.
TEST(PackedDocuments, SeeLessThanASequence) {
    const double whole = train(plan_of(small_llama()), fast(), steps).losses.back(),
                 parts = train(packed(small_llama()), fast(), steps).losses.back();
    EXPECT_GT(std::abs(whole - parts), 1e-6 * whole);
    Plan one = packed(small_llama());
    one.training.document_length = one.training.seq;
    EXPECT_EQ(train(one, fast(), steps).losses.back(), whole) << "of one document it is that";
}

}  // namespace
}  // namespace orrery::run
