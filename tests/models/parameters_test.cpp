// Parameter counts against the counts that their publishers state.
#include <gtest/gtest.h>

#include <cctype>
#include <string>
#include <vector>

#include "models/catalog.hpp"
#include "models/operators.hpp"

namespace orrery::models {
namespace {

std::uint64_t count(std::string_view name) { return parameters(build(find(name))); }

struct Published {
    std::string name;
    std::uint64_t parameters;
};

class ExactCount : public testing::TestWithParam<Published> {};

TEST_P(ExactCount, EqualsThePublishedOne) { EXPECT_EQ(count(GetParam().name), GetParam().parameters); }

// Totals of the checkpoints on huggingface.co (safetensors metadata), shared tensors once.
INSTANTIATE_TEST_SUITE_P(
    HuggingFace, ExactCount,
    testing::Values(Published{"gpt2", 124'439'808}, Published{"gpt2-medium", 354'823'168},
                    Published{"gpt2-large", 774'030'080}, Published{"gpt2-xl", 1'557'611'200},
                    Published{"gpt-neox-20b", 20'554'567'680}, Published{"bloom-176b", 176'247'271'424},
                    Published{"mpt-7b", 6'649'286'656}, Published{"llama-7b", 6'738'415'616},
                    Published{"llama-13b", 13'015'864'320}, Published{"llama-33b", 32'528'943'616},
                    Published{"llama-65b", 65'285'660'672}, Published{"llama2-7b", 6'738'415'616},
                    Published{"llama2-13b", 13'015'864'320}, Published{"llama2-70b", 68'976'648'192},
                    Published{"llama3-8b", 8'030'261'248}, Published{"llama3-70b", 70'553'706'496},
                    Published{"llama3.1-405b", 405'853'388'800}, Published{"llama3.2-1b", 1'235'814'400},
                    Published{"llama3.2-3b", 3'212'749'824}, Published{"mistral-7b", 7'241'732'096},
                    Published{"qwen2-0.5b", 494'032'768}, Published{"qwen2-1.5b", 1'543'714'304},
                    Published{"qwen2-7b", 7'615'616'512}, Published{"qwen2-72b", 72'706'203'648},
                    Published{"qwen2.5-14b", 14'770'033'664}, Published{"qwen2.5-32b", 32'763'876'352},
                    Published{"qwen3-0.6b", 596'049'920}, Published{"qwen3-1.7b", 1'720'574'976},
                    Published{"qwen3-4b", 4'022'468'096}, Published{"tinyllama-1.1b", 1'100'048'384},
                    Published{"qwen3-8b", 8'190'735'360}, Published{"qwen3-14b", 14'768'307'200},
                    Published{"qwen3-32b", 32'762'123'264}, Published{"bert-base", 109'514'298},
                    Published{"bert-large", 335'174'458}),
    [](const auto& test) {
        std::string name = test.param.name;
        for (char& c : name)
            if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
        return name;
    });

struct Rounded {
    std::string name;
    double billions, unit;  ///< unit of the last digit that the paper prints
};

TEST(Parameters, AgreeWithTheDigitsOfThePapers) {
    const std::vector<Rounded> papers{// Brown et al. 2020, table D.1.
                                      {"gpt3-125m", 0.125, 0.001},
                                      {"gpt3-350m", 0.356, 0.001},
                                      {"gpt3-760m", 0.760, 0.001},
                                      {"gpt3-1.3b", 1.32, 0.01},
                                      {"gpt3-2.7b", 2.65, 0.01},
                                      {"gpt3-6.7b", 6.66, 0.01},
                                      {"gpt3-13b", 12.85, 0.01},
                                      {"gpt3-175b", 174.6, 0.1},
                                      // Narayanan et al. 2021, table 1.
                                      {"gpt-1.7b", 1.7, 0.1},
                                      {"gpt-3.6b", 3.6, 0.1},
                                      {"gpt-7.5b", 7.5, 0.1},
                                      {"gpt-18b", 18.4, 0.1},
                                      {"gpt-39b", 39.1, 0.1},
                                      {"gpt-76b", 76.1, 0.1},
                                      {"gpt-145b", 145.6, 0.1},
                                      {"gpt-310b", 310.1, 0.1},
                                      {"gpt-530b", 529.6, 0.1},
                                      {"gpt-1t", 1008.0, 0.1},
                                      // Korthikanti et al. 2022, table 3; Shoeybi et al. 2019, table 4.
                                      {"gpt-22b", 22.0, 1.0},
                                      {"megatron-bert-1.3b", 1.3, 0.1},
                                      {"megatron-bert-3.9b", 3.9, 0.1}};
    for (const auto& [name, billions, unit] : papers)
        EXPECT_NEAR(static_cast<double>(count(name)) / 1e9, billions, unit / 2) << name;
}

TEST(Parameters, MegatronFollowsEquationTwo) {
    // SC'21, equation 2: 12 l h^2 (1 + 13/12h + (V+s)/12lh). It leaves out the final norm's 2h.
    for (const auto name : {"gpt-1.7b", "gpt-18b", "gpt-39b", "gpt-145b", "gpt-530b", "gpt-1t", "gpt-22b"}) {
        const ModelSpec& spec = find(name);
        const std::uint64_t l = spec.layers, h = spec.hidden, v = spec.vocab, s = spec.max_positions;
        EXPECT_EQ(count(name), 12 * l * h * h + 13 * l * h + (v + s) * h + 2 * h) << name;
    }
}

TEST(Parameters, BertHeadIsTheMaskedLanguageModels) {
    const Model bert = build(find("bert-base"));
    const std::uint64_t h = 768, vocab = 30522;
    const std::uint64_t encoder = parameters(bert.layer("embedding")) + 12 * parameters(bert.layer("block"));
    EXPECT_EQ(encoder, 108'891'648u);                                      // BertModel without its pooler
    EXPECT_EQ(encoder + h * h + h, 109'482'240u);                          // BertModel: with the pooler's dense layer
    EXPECT_EQ(parameters(bert.layer("head")), h * h + h + 2 * h + vocab);  // dense, norm, bias of the tied logits
}

TEST(Parameters, TiedLogitsAreCountedOnce) {
    ModelSpec spec = find("gpt2");
    const auto tied = parameters(build(spec));
    spec.tied_embeddings = false;
    EXPECT_EQ(parameters(build(spec)) - tied, std::uint64_t{spec.vocab} * spec.hidden);
}

TEST(Parameters, OfEachOperator) {
    EXPECT_EQ(parameters(Operator{Linear{.name = "", .in_features = 3, .out_features = 5, .bias = true}}), 20u);
    EXPECT_EQ(parameters(Operator{Linear{.name = "", .in_features = 3, .out_features = 5, .bias = false}}), 15u);
    EXPECT_EQ(parameters(Operator{Norm{.name = "", .kind = NormKind::layernorm, .width = 7}}), 14u);
    EXPECT_EQ(parameters(Operator{Norm{.name = "", .kind = NormKind::rmsnorm, .width = 7}}), 7u);
    EXPECT_EQ(parameters(Operator{Embedding{.vocab = 10, .hidden = 2, .positions = 4, .token_types = 3}}), 34u);
    EXPECT_EQ(parameters(Operator{Rope{.heads = 4, .head_dim = 8, .norm = true}}), 16u);
    EXPECT_EQ(parameters(Operator{Rope{.heads = 4, .head_dim = 8}}), 0u);
    EXPECT_EQ(parameters(Operator{AttentionCore{.heads = 4, .kv_heads = 2, .head_dim = 8}}), 0u);
    EXPECT_EQ(parameters(Operator{Loss{.vocab = 9}}), 0u);
}

}  // namespace
}  // namespace orrery::models
