// What comes with the program, by name.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/cli/process.hpp"

namespace orrery::cli {
namespace {

using Json = nlohmann::json;

TEST(Shipped, AScenarioByNameIsThatOfItsFile) {
    const Result named = orrery({"simulate", "gpt-1.7b-dgx-a100", "--json", "-"});
    ASSERT_EQ(named.exit, 0) << named.err;
    EXPECT_EQ(named.out, orrery({"simulate", "scenarios/gpt-1.7b-dgx-a100.json", "--json", "-"}).out);
}

TEST(Shipped, ScenariosAreListedWithTheirTitles) {
    const Result result = orrery({"list", "scenarios"});
    EXPECT_EQ(result.exit, 0);
    for (const char* word : {"gpt3-175b-superpod-a100", "GPT-3 175B on a DGX SuperPOD A100", "Their files are in"})
        EXPECT_NE(result.out.find(word), std::string::npos) << word;
    EXPECT_EQ(result.out.find("schema"), std::string::npos);
}

TEST(Shipped, ANameThatNothingHasIsRefusedWithTheNearest) {
    for (const std::vector<std::string>& command :
         {std::vector<std::string>{"simulate", "gpt-1.7b-dgx-a10"}, {"validate", "--run", "gpt-1.7b-dgx-a10"}}) {
        const Result result = orrery(command);
        EXPECT_EQ(result.exit, 2);
        EXPECT_NE(result.err.find("hint: name a scenario file"), std::string::npos) << result.err;
        EXPECT_NE(result.err.find("gpt-1.7b-dgx-a100"), std::string::npos) << result.err;
    }
}

/// A data folder of one's own may hold anything.
TEST(Shipped, ListingReadsWhatIsNoScenarioWithoutFailing) {
    const Folder folder;
    std::filesystem::create_directories(folder / "profiles");
    (void)folder.file("list.json", "[1, 2]");
    (void)folder.file("number.json", R"({"name": 3, "description": null})");
    const std::string data = "ORRERY_DATA=" + (folder / "");
    const Result odd = orrery({"list", "scenarios"}, {data});
    EXPECT_EQ(odd.exit, 0) << odd.err;
    (void)folder.file("broken.json", "{");
    EXPECT_EQ(orrery({"list", "scenarios"}, {data}).exit, 2);
}

}  // namespace
}  // namespace orrery::cli
