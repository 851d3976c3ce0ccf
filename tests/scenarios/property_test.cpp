// Random legal scenarios load; random changes of one key or one byte are loaded or refused, and nothing else.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "base/error.hpp"
#include "documents/document.hpp"
#include "scenarios/scenario.hpp"
#include "tests/scenarios/random_scenario.hpp"

namespace orrery::scenarios {
namespace {

using nlohmann::json;

constexpr std::uint64_t first_seed = 1;

/// Loads or throws Error with place and remedy; returns whether it loaded. Any other exception fails the test.
bool loads_or_is_refused(const std::string& bytes) {
    try {
        const Scenario scenario = from_json(documents::parse_document(bytes, "x.json"), "x.json");
        EXPECT_EQ(scenario.gpus, scenario.plan.ranks());
        EXPECT_GE(scenario.plan.micro_batches(), 1U);
        return true;
    } catch (const Error& error) {
        EXPECT_EQ(error.file(), "x.json") << error.what();
        EXPECT_FALSE(error.message().empty());
        EXPECT_FALSE(error.hint().empty()) << error.what();
        return false;
    }
}

const json& junk(std::mt19937_64& random) {
    static const json values = json::parse(R"([null, true, false, 0, 1, 2, 3, 7, 8, 64, 100, 4096, 65536, 1000000, -1,
        4294967295, 4294967296, 18446744073709551615, -9223372036854775808, 0.5, 1e-300, 1e300, "", "0", "1 MB",
        "1 GiB", "100 Gb/s", "1 b/s", "full", "zero1", "interleaved", "fp8", "fp32", "gpt2", "llama2-70b", "dgx-2",
        "ethernet", "B200", "\u0000", "../..", "/dev/zero", [], [1], {}, {"name": "gpt2"}, {"tensor": 2}])");
    return values[random() % values.size()];
}

/// One random key of the document changed, removed, renamed or added.
void mutate(json& document, std::mt19937_64& random) {
    json& section = [&]() -> json& {
        auto it = document.begin();
        std::advance(it, static_cast<std::ptrdiff_t>(random() % document.size()));
        return it->is_object() && !it->empty() && random() % 8 != 0 ? *it : document;
    }();
    auto it = section.begin();
    std::advance(it, static_cast<std::ptrdiff_t>(random() % section.size()));
    const std::string key = it.key();
    switch (random() % 8) {
        case 0: section.erase(key); break;
        case 1: section[key + "s"] = section[key]; break;
        case 2: section["tensor"] = junk(random); break;
        default: section[key] = junk(random);
    }
}

TEST(RandomScenario, AreLegalAndSmall) {
    for (std::uint64_t seed = first_seed; seed < first_seed + 500; ++seed) {
        SCOPED_TRACE(seed);
        std::mt19937_64 random(seed);
        const json document = random_scenario(random);
        Scenario scenario;
        ASSERT_NO_THROW(scenario = from_json(document, "x.json")) << document.dump(2);
        EXPECT_LE(scenario.gpus, 64U);
        EXPECT_LE(scenario.plan.model.layers, 8U);
        EXPECT_LE(scenario.plan.micro_batches(), 16U);
    }
}

TEST(RandomScenario, TheSameSeedGivesTheSameDocument) {
    std::mt19937_64 one(7), other(7);
    EXPECT_EQ(random_scenario(one).dump(), random_scenario(other).dump());
}

TEST(RandomMutation, OfOneKeyIsLoadedOrRefused) {
    std::size_t loaded = 0, refused = 0;
    for (std::uint64_t seed = first_seed; seed < first_seed + 3000; ++seed) {
        SCOPED_TRACE(seed);
        std::mt19937_64 random(seed);
        json document = random_scenario(random);
        mutate(document, random);
        ++(loads_or_is_refused(document.dump()) ? loaded : refused);
    }
    EXPECT_GT(loaded, 100U);
    EXPECT_GT(refused, 1000U);
}

TEST(RandomMutation, OfOneByteIsLoadedOrRefused) {
    for (std::uint64_t seed = first_seed; seed < first_seed + 3000; ++seed) {
        SCOPED_TRACE(seed);
        std::mt19937_64 random(seed);
        std::string bytes = random_scenario(random).dump();
        const std::size_t at = random() % bytes.size();
        const char byte = static_cast<char>(random() & 0xFFU);
        switch (random() % 4) {
            case 0: bytes[at] = byte; break;
            case 1: bytes.insert(at, 1, byte); break;
            case 2: bytes.erase(at, 1 + random() % 16); break;
            default: bytes.resize(at);
        }
        (void)loads_or_is_refused(bytes);
    }
}

}  // namespace
}  // namespace orrery::scenarios
