// Broken scenario files, each through the program itself.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "tests/cli/process.hpp"
#include "tests/scenarios/bad_scenarios.hpp"

namespace orrery::cli {
namespace {

/// What the program says of every file of the corpus; two at a time, as starting it is most of the work.
std::vector<Result> results_of(const std::vector<scenarios::BadScenario>& corpus, const Folder& folder) {
    constexpr std::size_t workers = 2;
    std::vector<Result> results(corpus.size());
    const auto work = [&](std::size_t first) {
        for (std::size_t i = first; i < corpus.size(); i += workers)
            results[i] = orrery({"simulate", folder.file(corpus[i].name, corpus[i].bytes)});
    };
    std::thread beside(work, 1);
    work(0);
    beside.join();
    return results;
}

TEST(BadInput, EveryBrokenScenarioIsRefusedWithPlaceAndRemedy) {
    const auto corpus = scenarios::bad_scenarios();
    ASSERT_GE(corpus.size(), 200U);
    const Folder folder;
    const std::vector<Result> results = results_of(corpus, folder);
    for (std::size_t i = 0; i < corpus.size(); ++i) {
        const scenarios::BadScenario& bad = corpus[i];
        SCOPED_TRACE(bad.name + '\n' + results[i].err);
        EXPECT_EQ(results[i].exit, 2);
        EXPECT_EQ(results[i].out, "");
        EXPECT_TRUE(results[i].err.starts_with("orrery: error: " + (folder / bad.name) + ':' + bad.expected_pointer));
        EXPECT_NE(results[i].err.find(bad.mention), std::string::npos) << bad.mention;
        EXPECT_NE(results[i].err.find("\n  hint: "), std::string::npos);
    }
}

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
