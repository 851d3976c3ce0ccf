// Help, version and the ways to ask for something that is not there.
#include <gtest/gtest.h>

#include "tests/cli/process.hpp"

namespace orrery::cli {
namespace {

using Arguments = std::vector<std::string>;

class HelpTest : public testing::TestWithParam<Arguments> {};

TEST_P(HelpTest, ShowsAnExampleOfTheCommand) {
    Arguments arguments = GetParam();
    arguments.emplace_back("--help");
    const Result result = orrery(arguments);
    EXPECT_EQ(result.exit, 0);
    EXPECT_EQ(result.err, "");
    std::string command = "orrery";
    for (const std::string& word : GetParam()) command += ' ' + word;
    const std::size_t examples = result.out.find("Example");
    ASSERT_NE(examples, std::string::npos) << result.out;
    EXPECT_NE(result.out.find("\n  " + command, examples), std::string::npos) << result.out;
}

INSTANTIATE_TEST_SUITE_P(
    Commands, HelpTest,
    testing::Values(Arguments{}, Arguments{"simulate"}, Arguments{"explain"}, Arguments{"collective"}, Arguments{"run"},
                    Arguments{"compare"}, Arguments{"diff"}, Arguments{"validate"}, Arguments{"list"},
                    Arguments{"list", "models"}, Arguments{"list", "clusters"}, Arguments{"list", "strategies"},
                    Arguments{"list", "profiles"}, Arguments{"profile"}, Arguments{"profile", "show"},
                    Arguments{"profile", "import"}, Arguments{"calibrate"}, Arguments{"calibrate", "show"},
                    Arguments{"calibrate", "compare"}, Arguments{"calibrate", "check"}, Arguments{"import"},
                    Arguments{"import", "megatron"}, Arguments{"import", "torch-trace"}, Arguments{"import", "nsys"},
                    Arguments{"init"}, Arguments{"export"}, Arguments{"export", "chakra"},
                    Arguments{"calibrate", "import", "nccl-tests"}));

TEST(Help, NamesEveryCommandAndTheExitCodes) {
    const std::string text = orrery({"--help"}).out;
    for (const char* word :
         {"simulate", "explain", "collective", "validate", "list", "profile", "calibrate", "Exit codes"})
        EXPECT_NE(text.find(word), std::string::npos) << word;
}

TEST(Help, TellsTheVersion) {
    const Result result = orrery({"--version"});
    EXPECT_EQ(result.exit, 0);
    EXPECT_EQ(result.out, "orrery " ORRERY_VERSION "\n");
}

class WrongUseTest : public testing::TestWithParam<Arguments> {};

TEST_P(WrongUseTest, IsBadInputWithAMessageAndAHint) {
    const Result result = orrery(GetParam());
    EXPECT_EQ(result.exit, 2);
    EXPECT_EQ(result.out, "");
    EXPECT_EQ(result.err.find("orrery: error: "), 0U) << result.err;
    EXPECT_NE(result.err.find("\n  hint: "), std::string::npos) << result.err;
}

INSTANTIATE_TEST_SUITE_P(
    Uses, WrongUseTest,
    testing::Values(Arguments{}, Arguments{"fly"}, Arguments{"--fly"}, Arguments{"simulate"},
                    Arguments{"simulate", "/no/such/scenario.json"}, Arguments{"simulate", "/"},
                    Arguments{"simulate", "scenarios/gpt3-175b-superpod-a100.json", "--fly"},
                    Arguments{"simulate", "scenarios/gpt3-175b-superpod-a100.json", "--set"},
                    Arguments{"simulate", "scenarios/gpt3-175b-superpod-a100.json", "--set", "strategy.tensor"},
                    Arguments{"simulate", "scenarios/gpt3-175b-superpod-a100.json", "--set", "strategy.tenso=4"},
                    Arguments{"simulate", "scenarios/gpt3-175b-superpod-a100.json", "--set", "profile=nothing"},
                    Arguments{"explain", "scenarios/gpt3-175b-superpod-a100.json", "--rank", "1024"},
                    Arguments{"explain", "scenarios/gpt3-175b-superpod-a100.json", "--rank", "-1"},
                    Arguments{"explain", "scenarios/gpt3-175b-superpod-a100.json", "--rank", "one"}, Arguments{"list"},
                    Arguments{"list", "everything"}, Arguments{"profile"}, Arguments{"profile", "show"},
                    Arguments{"profile", "show", "nothing"}, Arguments{"profile", "import", "a100"},
                    Arguments{"profile", "import", "a100", "--from", "/no/such/folder", "--out", "/dev/null"},
                    Arguments{"validate", "/no/such/rows.json"}, Arguments{"validate", "CMakeLists.txt"},
                    Arguments{"validate", "--into", "/tmp"}));

TEST(UnknownCommand, IsNamedWithTheNearest) {
    struct Case {
        Arguments arguments;
        const char *message, *hint;
    };
    const Case cases[] = {
        {{"simulat", "x.json"}, "\"simulat\" is no command", "`orrery simulate`"},
        {{"--quiet", "plot"}, "\"plot\" is no command", "orrery --help"},
        {{"list", "modls"}, "\"modls\" is no command", "`orrery list models`"},
        {{"calibrate", "shw", "a100"}, "\"shw\" is no command", "`orrery calibrate show`"},
        {{"simulate", "--model", "gpt2", "--tensr", "8"}, "--tensr is no option of orrery simulate", "--tensor"},
        {{"simulate", "no-such"}, "\"no-such\" is neither a file nor a scenario", "nearest is"},
    };
    for (const Case& c : cases) {
        const Result result = orrery(c.arguments);
        EXPECT_EQ(result.exit, 2);
        EXPECT_NE(result.err.find(c.message), std::string::npos) << result.err;
        EXPECT_NE(result.err.find(c.hint), std::string::npos) << result.err;
    }
}

}  // namespace
}  // namespace orrery::cli
