// Rows of a table at work, on keys made up for it.
#include "doors/meaning.hpp"

#include <gtest/gtest.h>

#include <array>

#include "doors/convert.hpp"
#include "scenarios/keys.hpp"

namespace orrery::doors {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array rows{key("num_layers"),
                          key("hierarchical_context_parallel_sizes", "1"),
                          sets("shard", "/strategy/sharding", "\"zero1\"", "\"none\""),
                          harmless("lr"),
                          harmless("log.*"),
                          noted("log.slow", "logs take time", "log less"),
                          refused("strange", "nobody knows", "leave it out", Takes::one, "0")};

Draft applied(const std::vector<std::pair<std::string, Json>>& given) {
    Draft draft("file");
    Givens givens;
    for (const auto& [name, value] : given) givens.add({name, value, {{"file", "/" + name}, name}});
    apply(rows, givens, draft);
    return draft;
}

std::size_t count(const Draft& draft, Verdict verdict) {
    std::size_t found = 0;
    for (const Finding& each : draft.findings.all()) found += each.verdict == verdict ? 1U : 0U;
    return found;
}

TEST(Meaning, KeysTakeTextsAndNumbers) {
    EXPECT_EQ(applied({{"num_layers", "24"}}).scenario["model"]["num_hidden_layers"], 24);
    EXPECT_EQ(applied({{"num_layers", 24}}).scenario["model"]["num_hidden_layers"], 24);
    EXPECT_EQ(applied({{"num_layers", "24.5"}}).findings.any(Verdict::refused), true);
    EXPECT_EQ(applied({{"num_layers", "0"}}).findings.any(Verdict::refused), true);
    EXPECT_TRUE(applied({{"num_layers", nullptr}}).scenario.empty());
}

TEST(Meaning, SwitchesSetAndClear) {
    EXPECT_EQ(applied({{"shard", true}}).scenario["strategy"]["sharding"], "zero1");
    EXPECT_EQ(applied({{"shard", false}}).scenario["strategy"]["sharding"], "none");
}

TEST(Meaning, TheLastWordCounts) {
    const Draft draft = applied({{"num_layers", "x"}, {"num_layers", "8"}});
    EXPECT_FALSE(draft.findings.any(Verdict::refused));
    EXPECT_EQ(draft.scenario["model"]["num_hidden_layers"], 8);
}

TEST(Meaning, ValuesThatDoNothingAreHarmless) {
    EXPECT_EQ(count(applied({{"strange", 0}, {"hierarchical_context_parallel_sizes", "1"}, {"log.slow", false}}),
                    Verdict::harmless),
              3U);
    EXPECT_EQ(count(applied({{"strange", 1}, {"hierarchical_context_parallel_sizes", "2"}}), Verdict::refused), 2U);
}

TEST(Meaning, TheNearestRowOfAGroupCounts) {
    EXPECT_EQ(count(applied({{"log.slow", true}}), Verdict::not_modelled), 1U);
    EXPECT_EQ(count(applied({{"log.fast", true}}), Verdict::harmless), 1U);
    EXPECT_EQ(count(applied({{"logs", true}}), Verdict::unknown), 1U);
}

TEST(Convert, TakesWhatProgramsWrite) {
    EXPECT_EQ(whole_number("220_000"), 220000U);
    EXPECT_EQ(whole_number(4.0), 4U);
    EXPECT_EQ(whole_number(4.5), std::nullopt);
    EXPECT_EQ(whole_number("-1"), std::nullopt);
    EXPECT_EQ(whole_number("99999999999999999999999"), std::nullopt);
    EXPECT_EQ(real_number("1e-5"), 1e-5);
    EXPECT_EQ(real_number("nan"), std::nullopt);
    EXPECT_EQ(truth("True"), true);
    EXPECT_EQ(truth("maybe"), std::nullopt);
}

}  // namespace
}  // namespace orrery::doors
