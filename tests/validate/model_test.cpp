#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "models/operators.hpp"
#include "strategies/plan.hpp"
#include "tests/validate/sample.hpp"

namespace orrery::validate {

using models::PositionKind;
using test::mapped;
using test::reason;

namespace {

models::ModelSpec model(const nlohmann::json& fields) {
    nlohmann::json row = test::megatron();
    row["model"] = fields;
    return map_row(test::row_of(row), test::any_profile).plan.model;
}

}  // namespace

TEST(MapModel, TakesTheRowsDimensions) {
    const models::ModelSpec spec = mapped({}).plan.model;
    EXPECT_EQ(spec.family, models::Family::gpt);
    EXPECT_EQ(spec.layers, 4U);
    EXPECT_EQ(spec.hidden, 1024U);
    EXPECT_EQ(spec.heads, 16U);
    EXPECT_EQ(spec.kv_heads, 16U);
    EXPECT_EQ(spec.head_dim, 64U);
    EXPECT_EQ(spec.vocab, 51200U);
    EXPECT_EQ(spec.max_positions, 512U);
    EXPECT_EQ(spec.dropout, 0.1);
    EXPECT_NO_THROW(models::validate(spec));
}

TEST(MapModel, FillsWhatFamiliesShare) {
    const auto gpt = model({{"name", "g"}, {"layers", 2}, {"hidden", 512}, {"heads", 8}, {"seq", 128}});
    EXPECT_EQ(gpt.ffn, 2048U);
    EXPECT_EQ(gpt.vocab, 50257U);
    const auto llama = model({{"name", "l"},
                              {"layers", 2},
                              {"hidden", 4096},
                              {"heads", 32},
                              {"kv_heads", 8},
                              {"seq", 128},
                              {"gated", true}});
    EXPECT_EQ(llama.ffn, 11008U);  // Llama's own, from 8/3 x 4096 rounded up to 256
    EXPECT_EQ(llama.vocab, 32000U);
    EXPECT_EQ(llama.kv_heads, 8U);
    EXPECT_EQ(llama.position, PositionKind::rope);
    EXPECT_EQ(llama.dropout, 0.0);
    const auto bert = model({{"name", "bert-giant"}, {"layers", 2}, {"hidden", 512}, {"heads", 8}, {"seq", 128}});
    EXPECT_EQ(bert.family, models::Family::bert);
    EXPECT_EQ(bert.vocab, 30522U);
    EXPECT_FALSE(bert.causal);
}

TEST(MapModel, CatalogModelsNeedOnlyAName) {
    const auto spec = model({{"name", "LLAMA2_70B"}, {"seq", 4096}});
    EXPECT_EQ(spec.layers, 80U);
    EXPECT_EQ(spec.kv_heads, 8U);
    EXPECT_EQ(spec.ffn, 28672U);
}

TEST(MapModel, StatedDimensionsWinOverTheCatalog) {
    const auto fewer = model({{"name", "llama2-70b"}, {"layers", 7}, {"seq", 4096}});
    EXPECT_EQ(fewer.layers, 7U);
    EXPECT_EQ(fewer.hidden, 8192U);
    // Another width is another model of that structure: nothing else is taken from the catalog's.
    nlohmann::json other = {{"name", "llama2-70b"}, {"hidden", 1024}, {"seq", 4096}};
    EXPECT_EQ(reason({{"model", other}}), "");
    EXPECT_EQ(test::reason_of([&] { model(other); }), "model dimensions not published: layers");
}

TEST(MapModel, NamesThatDifferInDigitsDiffer) {
    // "GPT-2 2B" of 18 heads is not the catalog's gpt-22b of 64.
    const auto spec = model({{"name", "GPT-2 2B"}, {"layers", 30}, {"hidden", 2304}, {"heads", 18}, {"seq", 1024}});
    EXPECT_EQ(spec.kv_heads, 18U);
    EXPECT_EQ(spec.head_dim, 128U);
}

TEST(MapModel, NemotronIsRotaryWithoutBiases) {
    const auto spec = model({{"name", "nemotron4-15b"},
                             {"layers", 32},
                             {"hidden", 6144},
                             {"heads", 48},
                             {"kv_heads", 8},
                             {"ffn", 24576},
                             {"vocab", 256000},
                             {"seq", 4096},
                             {"gated", false}});
    EXPECT_EQ(spec.position, PositionKind::rope);
    EXPECT_FALSE(spec.linear_bias);
    EXPECT_FALSE(spec.tied_embeddings);
    EXPECT_EQ(spec.max_positions, 0U);
    // Its published name: 15 billion parameters.
    EXPECT_NEAR(static_cast<double>(models::parameters(models::build(spec))), 15.6e9, 0.2e9);
}

TEST(MapModel, ReadsMegatronArguments) {
    const auto spec = mapped({{"switches",
                               {{"position-embedding-type", "rope"},
                                {"untie-embeddings-and-output-weights", true},
                                {"disable-bias-linear", true}}}})
                          .plan.model;
    EXPECT_EQ(spec.position, PositionKind::rope);
    EXPECT_FALSE(spec.tied_embeddings);
    EXPECT_FALSE(spec.linear_bias);
}

/// --swiglu makes a GPT's MLP gated, and 2/3 as wide where its width is left to it, and nothing else: no Llama.
TEST(MapModel, SwigluIsAGptsArgument) {
    const auto spec =
        mapped({{"model", {{"gated", true}, {"ffn", 4096}, {"vocab", nullptr}}}, {"switches", {{"swiglu", true}}}})
            .plan.model;
    EXPECT_TRUE(spec.gated);
    EXPECT_EQ(spec.ffn, 2688U) << "4 x 1,024 x 2 / 3, a multiple of 64";
    EXPECT_EQ(spec.vocab, 50257U);
    EXPECT_EQ(spec.position, PositionKind::learned);
    EXPECT_TRUE(spec.linear_bias && spec.tied_embeddings);
    EXPECT_EQ(mapped({{"model", {{"gated", true}, {"ffn", 3072}}}, {"switches", {{"swiglu", true}}}}).plan.model.ffn,
              3072U)
        << "printed";
}

TEST(MapModel, NamesTheMissingDimension) {
    const auto without = [](const char* key) { return reason({{"model", {{key, nullptr}}}}); };
    EXPECT_EQ(without("layers"), "model dimensions not published: layers");
    EXPECT_EQ(without("hidden"), "model dimensions not published: hidden");
    EXPECT_EQ(without("heads"), "model dimensions not published: heads");
    EXPECT_EQ(without("seq"), "sequence length not published");
}

TEST(MapModel, T5IsMegatronLMs) {
    const auto t5 = mapped({{"model", {{"name", "t5:t5_release"}, {"vocab", nullptr}}}}).plan;
    EXPECT_EQ(t5.model.family, models::Family::t5);
    EXPECT_EQ(t5.model.decoder_layers, 4U);
    EXPECT_EQ(t5.model.position, PositionKind::learned);
    EXPECT_EQ(t5.model.vocab, 29096U);
    EXPECT_EQ(t5.training.seq, 512U);
    EXPECT_EQ(t5.training.decoder_seq, 128U);
    EXPECT_NO_THROW(strategies::validate(t5));
}

TEST(MapModel, PrintedLayersMakeAHybrid) {
    const auto hybrid = [](const nlohmann::json& more) {
        nlohmann::json switches{{"hybrid-layer-pattern", "M-M*|-M-*"}, {"mamba-state-dim", 64}};
        return test::with({{"switches", switches}}, more);
    };
    const models::ModelSpec spec = mapped(hybrid(nlohmann::json::object())).plan.model;
    EXPECT_EQ(spec.layer_pattern, "M-M*-M-*");
    EXPECT_EQ(spec.layers, 8U);
    EXPECT_EQ(spec.mamba, (models::MambaSpec{64, 32, 64, 8, 4, 128}));
    EXPECT_NO_THROW(models::validate(spec));
    const auto staged = mapped(hybrid({{"pp", 2}, {"dp", 4}, {"vpp", nullptr}})).plan;
    EXPECT_EQ(staged.strategy.pipeline_layers, "4,4");
    EXPECT_EQ(staged.strategy.virtual_pipeline, 1U);
    EXPECT_EQ(reason(hybrid({{"pp", 4}, {"dp", 2}})), "how stages of unequal depth are divided is not published");
}

TEST(MapModel, NemotronThreeIsTheCatalogs) {
    nlohmann::json row = test::with(test::megatron(), {{"tp", 1}, {"dp", 16}});
    row["model"] = {{"name", "Nemotron_3_Nano"}, {"seq", 4096}};
    const models::ModelSpec nano = map_row(test::row_of(row), test::any_profile).plan.model;
    EXPECT_EQ(nano.layers_of('M'), 23U);
    EXPECT_EQ(nano.shared_expert_ffn, 3712U);
    EXPECT_NO_THROW(models::validate(nano));
}

}  // namespace orrery::validate
