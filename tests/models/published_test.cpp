// The table of parameters and FLOPs in models/README.md: what models count, beside what their authors publish.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "models/catalog.hpp"
#include "models/operators.hpp"

namespace orrery::models {
namespace {

/// `published` as printed: a whole number is a checkpoint's and must be met exactly, others to their last digit's unit
/// in billions. active: of those that one token meets, likewise; 0: not published, or all.
struct Card {
    const char *name, *published;
    double billions, unit;  ///< unit 0: exact, `billions` then is the number itself
    double active, active_unit;
    const char* source;
};

constexpr Card exact(const char* name, double parameters, double active = 0, double unit = 0) {
    return {name, "", parameters, 0, active, unit, "checkpoint"};
}

// Checkpoints: totals on huggingface.co (of ViTs torchvision's too), shared tensors once; of language models without
// vision encoders.
const std::vector<Card> cards{
    exact("opt-125m", 125'239'296),
    exact("opt-1.3b", 1'315'758'080),
    exact("opt-2.7b", 2'651'596'800),
    exact("opt-6.7b", 6'658'473'984),
    exact("opt-13b", 12'853'473'280),
    exact("opt-30b", 29'974'540'288),
    {"opt-66b", "66B", 66, 1, 0, 0, "OPT, table 1"},
    {"opt-175b", "175B", 175, 1, 0, 0, "OPT, table 1"},
    exact("gpt-j-6b", 6'050'882'784),
    exact("falcon-7b", 6'921'720'704),
    exact("falcon-40b", 41'303'293'952),
    {"falcon-180b", "180B", 180, 3, 0, 0, "Falcon, table 16, rounded up"},
    {"glm-130b", "130B", 130, 3, 0, 0, "GLM-130B, its name"},
    {"pangu-alpha-2.6b", "2.6B", 2.6, 0.1, 0, 0, "PanGu-alpha, table 1"},
    {"pangu-alpha-13b", "13.1B", 13.1, 0.7, 0, 0, "PanGu-alpha, table 1"},
    {"pangu-alpha-200b", "207.0B", 207.0, 0.4, 0, 0, "PanGu-alpha, table 1"},
    {"mt-nlg-530b", "530B", 530, 1, 0, 0, "MT-NLG, section 2.1"},
    exact("qwen-1.8b", 1'836'828'672),
    exact("qwen-7b", 7'721'324'544),
    exact("qwen-14b", 14'167'290'880),
    exact("qwen-72b", 72'287'920'128),
    exact("phi-3-mini", 3'821'079'552),
    exact("phi-3-medium", 13'960'238'080),
    exact("olmo2-7b", 7'298'617'344),
    exact("olmo2-13b", 13'716'198'400),
    {"olmo2-32b", "32B", 32, 1, 0, 0, "model card"},
    exact("gemma-2b", 2'506'172'416),
    exact("gemma-7b", 8'537'680'896),
    exact("gemma2-2b", 2'614'341'888),
    exact("gemma2-9b", 9'241'705'984),
    exact("gemma2-27b", 27'227'128'320),
    exact("gemma3-1b", 999'885'952),
    {"gemma3-4b", "3.88B", 3.88, 0.01, 0, 0, "Gemma 3, table 1: 675M + 3,209M"},
    {"gemma3-12b", "11.77B", 11.77, 0.02, 0, 0, "Gemma 3, table 1: 1,012M + 10,759M"},
    {"gemma3-27b", "27.02B", 27.02, 0.04, 0, 0, "Gemma 3, table 1: 1,416M + 25,600M"},
    exact("qwen1.5-moe-a2.7b", 14'315'784'192, 2.7, 0.1),
    {"qwen2-57b-a14b", "57.41B", 57.41, 0.01, 14, 1, "checkpoint, rounded"},
    exact("deepseek-v2-lite", 15'706'484'224, 2.4, 0.6),
    exact("deepseek-v2", 235'741'434'880, 21, 1),
    {"deepseek-v3", "671B", 671, 1, 37, 1.2, "DeepSeek-V3, section 4.2"},
    {"llama4-scout", "109B", 109, 3, 17, 1, "model card, with the vision encoder's 0.9B"},
    {"llama4-maverick", "400B", 400, 3, 17, 1, "model card, with the vision encoder's 0.9B"},
    {"mamba2-130m", "130M", 0.13, 0.01, 0, 0, "Mamba-2, its names"},
    {"mamba2-370m", "370M", 0.37, 0.01, 0, 0, "Mamba-2, its names"},
    {"mamba2-780m", "780M", 0.78, 0.01, 0, 0, "Mamba-2, its names"},
    {"mamba2-1.3b", "1.3B", 1.3, 0.1, 0, 0, "Mamba-2, its names"},
    {"mamba2-2.7b", "2.7B", 2.7, 0.1, 0, 0, "Mamba-2, its names"},
    {"nemotron-h-4b", "4B", 4, 1, 0, 0, "model card"},
    {"nemotron-h-8b", "8B", 8, 1, 0, 0, "model card"},
    {"nemotron-h-47b", "47B", 47, 1, 0, 0, "model card"},
    {"nemotron-h-56b", "56B", 56, 1, 0, 0, "model card"},
    {"nemotron-nano-9b-v2", "9B", 9, 1, 0, 0, "model card"},
    {"nemotron-nano-12b-v2", "12B", 12, 1, 0, 0, "model card"},
    {"nemotron-3-nano", "31.6B", 31.6, 0.1, 3.6, 0.1, "Nemotron 3 Nano, section 2"},
    {"nemotron-3-super", "120B", 120, 2, 12, 2, "model card"},
    {"nemotron-3-ultra", "550B", 550, 2, 55, 3, "model card"},
    {"gshard-600b", "600B", 600, 40, 0, 0, "GShard, table 1: an encoder-decoder"},
    {"switch-c-1.6t", "1571B", 1571, 3, 0, 0, "Switch, table 9: an encoder-decoder"},
    {"m6-10b", "10.8B", 10.8, 0.2, 0, 0, "M6-T, table 2"},
    {"m6-100b", "103.2B", 103.2, 0.2, 0, 0, "M6-T, table 2"},
    {"m6-1t", "1002.7B", 1002.7, 2, 0, 0, "M6-T, table 2"},
    {"m6-10t", "10T", 10'000, 200, 0, 0, "M6-10T, title"},
    exact("resnet-50", 25'557'032),
    exact("resnet-101", 44'549'160),
    exact("resnet-152", 60'192'808),
    exact("vgg-13", 133'047'848),
    exact("vgg-16", 138'357'544),
    exact("vgg-19", 143'667'240),
    exact("vit-b16", 86'567'656),
    exact("vit-b32", 88'224'232),
    exact("vit-l16", 304'326'632),
    exact("vit-l32", 306'535'400),
    exact("vit-h14", 632'045'800),
    exact("deit-tiny", 5'717'416),
    exact("deit-small", 22'050'664),
    exact("clip-vit-b32", 151'277'313),
    exact("clip-vit-b16", 149'620'737),
    exact("clip-vit-l14", 427'616'513),
    exact("clip-vit-l14-336", 427'944'193),
};

std::string grouped(std::uint64_t value) {
    std::string digits = std::to_string(value);
    for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3)
        digits.insert(static_cast<std::size_t>(at), 1, ',');
    return digits;
}

TEST(Published, ParametersAreThoseOfTheirAuthors) {
    for (const Card& card : cards) {
        const Model model = build(find(card.name));
        const std::uint64_t all = parameters(model);
        if (card.unit == 0) {
            EXPECT_EQ(all, static_cast<std::uint64_t>(card.billions)) << card.name;
        } else {
            EXPECT_NEAR(static_cast<double>(all) / 1e9, card.billions, card.unit / 2) << card.name;
        }
        if (card.active == 0) continue;
        const auto active = static_cast<double>(active_parameters(model));
        EXPECT_NEAR(active / 1e9, card.active, card.active_unit / 2) << card.name;
    }
}

/// Of one token of a sequence of 4,096, forward and backward, where attention counts what a causal mask leaves.
double causal_gflops(const char* name) {
    constexpr std::uint64_t tokens = 4096;
    const Model model = build(find(name));
    return (model_flops(model, 1, tokens) - causal_attention_flops(model, 1, tokens, tokens) / 2) / tokens / 1e9;
}

/// DeepSeek-AI 2025 (Insights into DeepSeek-V3, arXiv:2505.09343), table 2: GFLOPS per token in training, sequences of
/// 4,096 tokens.
struct Training {
    const char* name;
    double gflops;
};
const std::vector<Training> trainings{
    {"deepseek-v2", 155}, {"deepseek-v3", 250}, {"qwen2.5-72b", 394}, {"llama3.1-405b", 2448}};

TEST(Published, FlopsAreThoseOfDeepSeeksTable) {
    for (const auto& [name, gflops] : trainings) EXPECT_NEAR(causal_gflops(name) / gflops, 1, 0.15) << name;
}

/// torchvision's *_weights (_ops): 10^9 multiply-adds of an image of 224 x 224, forward.
const std::vector<Training> images{{"resnet-50", 4.089}, {"resnet-101", 7.801}, {"resnet-152", 11.514},
                                   {"vgg-13", 11.308},   {"vgg-16", 15.470},    {"vgg-19", 19.632},
                                   {"vit-b16", 17.564},  {"vit-b32", 4.409},    {"vit-l16", 61.555},
                                   {"vit-l32", 15.378},  {"vit-h14", 167.295}};

double multiply_adds(const char* name) {
    const Model model = build(find(name));
    return model_flops(model, 1, model.spec.image.tokens()) / 6e9;
}

TEST(Published, OperationsOfImagesAreTorchvisions) {
    for (const auto& [name, published] : images) EXPECT_NEAR(multiply_adds(name), published, 0.0006) << name;
}

std::string table() {
    std::string text = "| model | parameters | published | active | from |\n| --- | --- | --- | --- | --- |\n";
    for (const Card& card : cards) {
        const Model model = build(find(card.name));
        const std::uint64_t all = parameters(model), active = active_parameters(model);
        text += fmt::format("| {} | {} | {} | {} | {} |\n", card.name, grouped(all),
                            card.unit == 0 ? grouped(static_cast<std::uint64_t>(card.billions)) : card.published,
                            active == all ? "all"
                            : card.active > 0
                                ? fmt::format("{:.1f}B of {:g}B", static_cast<double>(active) / 1e9, card.active)
                                : fmt::format("{:.1f}B", static_cast<double>(active) / 1e9),
                            card.source);
    }
    text += "\n| GFLOPs of a token in training, 4,096 tokens, causal | counted | published |\n| --- | --- | --- |\n";
    for (const auto& [name, gflops] : trainings)
        text += fmt::format("| {} | {:.0f} | {:g} |\n", name, causal_gflops(name), gflops);
    text += "\n| G multiply-adds of an image, forward | counted | torchvision |\n| --- | --- | --- |\n";
    for (const auto& [name, published] : images)
        text += fmt::format("| {} | {:.3f} | {:.3f} |\n", name, multiply_adds(name), published);
    return text;
}

/// UPDATE_GOLDEN=1 writes the table into the document.
TEST(Published, TheTableOfTheReadmeIsWhatModelsCount) {
    const std::string path = "models/README.md", begin = "<!-- published -->\n", end = "<!-- /published -->";
    std::ifstream file(path);
    std::stringstream whole;
    whole << file.rdbuf();
    std::string text = whole.str();
    const std::size_t from = text.find(begin), to = text.find(end);
    ASSERT_TRUE(from != std::string::npos && to != std::string::npos && from < to);
    const std::size_t at = from + begin.size();
    if (std::getenv("UPDATE_GOLDEN") != nullptr) {
        text.replace(at, to - at, table());
        std::ofstream(path) << text;
        return;
    }
    EXPECT_EQ(text.substr(at, to - at), table()) << "UPDATE_GOLDEN=1 writes it";
}

}  // namespace
}  // namespace orrery::models
