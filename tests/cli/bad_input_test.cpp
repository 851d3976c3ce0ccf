// Broken scenario files, each through the program itself.
#include <gtest/gtest.h>

#include <cstddef>
#include <nlohmann/json.hpp>

#include "tests/cli/process.hpp"
#include "tests/scenarios/bad_scenarios.hpp"

namespace orrery::cli {
namespace {

/// The corpus in parts, which run beside each other: starting the program some 500 times is most of the work.
constexpr std::size_t parts = 8;

class BrokenScenarios : public testing::TestWithParam<std::size_t> {};

/// All commands read scenarios alike; `simulate` loads SimGrid meanwhile, which takes longer than to refuse.
TEST_P(BrokenScenarios, AreRefusedWithPlaceAndRemedy) {
    const char* const command = GetParam() == 0 ? "simulate" : "explain";
    const auto corpus = scenarios::bad_scenarios();
    ASSERT_GE(corpus.size(), 200U);
    const Folder folder;
    for (std::size_t i = GetParam(); i < corpus.size(); i += parts) {
        const scenarios::BadScenario& bad = corpus[i];
        const Result result = orrery({command, folder.file(bad.name, bad.bytes)});
        SCOPED_TRACE(bad.name + '\n' + result.err);
        EXPECT_EQ(result.exit, 2);
        EXPECT_EQ(result.out, "");
        EXPECT_TRUE(result.err.starts_with("orrery: error: " + (folder / bad.name) + ':' + bad.expected_pointer));
        EXPECT_NE(result.err.find(bad.mention), std::string::npos) << bad.mention;
        EXPECT_NE(result.err.find("\n  hint: "), std::string::npos);
    }
}

INSTANTIATE_TEST_SUITE_P(BadInput, BrokenScenarios, testing::Range<std::size_t>(0, parts));

TEST(BadInput, TheSoundDocumentRuns) {
    const Folder folder;
    const Result result = orrery({"simulate", folder.file("sound.json", scenarios::sound_scenario().dump())});
    EXPECT_EQ(result.exit, 0) << result.err;
}

TEST(BadInput, OtherCommandsRefuseThemToo) {
    const Folder folder;
    for (const char* bytes : {"", "{", "[]", "\xff\xfe\x00", "{\"model\": 1}"}) {
        const std::string file = folder.file("bad.json", bytes);
        for (const std::vector<std::string>& arguments :
             {std::vector<std::string>{"explain", file}, {"validate", file}, {"profile", "show", file}}) {
            const Result result = orrery(arguments);
            EXPECT_EQ(result.exit, 2) << arguments[0] << " of " << bytes << '\n' << result.err;
            EXPECT_NE(result.err.find(file), std::string::npos) << result.err;
        }
    }
}

}  // namespace
}  // namespace orrery::cli
