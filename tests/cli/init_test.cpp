// orrery init: scenario files to begin with.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "base/error.hpp"
#include "cli/interview.hpp"
#include "tests/cli/process.hpp"

namespace orrery::cli {
namespace {

using Json = nlohmann::json;
using Arguments = std::vector<std::string>;

const Arguments keys{"--model",        "llama3-8b", "--cluster",    "dgx-h100", "--gpus",   "64",
                     "--global-batch", "128",       "--seq-length", "4096",     "--tensor", "2"};

Arguments with(Arguments words, const Arguments& more) {
    words.insert(words.end(), more.begin(), more.end());
    return words;
}

Json prediction(const std::string& file) {
    const Result result = orrery({"simulate", file, "--json", "-"});
    EXPECT_EQ(result.exit, 0) << result.err;
    return Json::parse(result.out);
}

TEST(Init, WritesAScenarioThatRunsAsTheOptionsDo) {
    const Folder folder;
    const std::string file = folder / "train.json";
    const Result made = orrery(with({"init", file}, keys));
    ASSERT_EQ(made.exit, 0) << made.err;
    EXPECT_EQ(made.out, file + ": orrery simulate " + file + '\n');
    const Result simulated = orrery(with({"simulate", "--json", "-"}, keys));
    ASSERT_EQ(simulated.exit, 0) << simulated.err;
    EXPECT_EQ(prediction(file).at("step_time_s"), Json::parse(simulated.out).at("step_time_s"));
}

/// A path of the command line is relative to where one is, in the file to where that is.
TEST(Init, WritesWhereAModelsFileLiesFromTheScenario) {
    const Folder folder;
    const std::string file = folder / "train.json";
    const std::vector<std::string> words{"--hf",           "scenarios/models/llama3-8b.json",
                                         "--cluster",      "dgx-h100",
                                         "--gpus",         "8",
                                         "--tensor",       "8",
                                         "--global-batch", "8",
                                         "--seq-length",   "1024"};
    ASSERT_EQ(orrery(with({"init", file}, words)).exit, 0);
    const Result direct = orrery(with({"simulate", "--json", "-"}, words));
    ASSERT_EQ(direct.exit, 0) << direct.err;
    EXPECT_EQ(prediction(file).at("step_time_s"), Json::parse(direct.out).at("step_time_s"));
    const Result beside = orrery({"simulate", file, "--hf", "scenarios/models/llama3-8b.json", "--json", "-"});
    ASSERT_EQ(beside.exit, 0) << beside.err;
    EXPECT_EQ(Json::parse(beside.out).at("step_time_s"), Json::parse(direct.out).at("step_time_s"));
}

TEST(Init, SaysWhatEveryKeyMeans) {
    const Result made = orrery(with({"init", "-"}, keys));
    ASSERT_EQ(made.exit, 0) << made.err;
    std::istringstream text(made.out);
    std::string before;
    std::size_t explained = 0;
    for (std::string line; std::getline(text, line); before = line) {
        if (!std::regex_match(line, std::regex(" +(// )?\"\\w+\": .*"))) continue;
        EXPECT_NE(before.find("//"), std::string::npos) << line << " has no comment above it";
        ++explained;
    }
    EXPECT_GT(explained, 15U);
    for (const char* word : {"Tokens of a sequence", "Values: 1 to", "When absent:", "Megatron-LM"})
        EXPECT_NE(made.out.find(word), std::string::npos) << word << " is missing from\n" << made.out;
}

TEST(Init, OffersKeysWithTheValuesThatHold) {
    const Folder folder;
    const std::string text = orrery(with({"init", "-"}, keys)).out;
    const std::string all = std::regex_replace(text, std::regex("// (\"\\w+\": .*,\n)"), "$1");
    ASSERT_NE(all, text);
    const Json before = prediction(folder.file("before.json", text)),
               after = prediction(folder.file("after.json", all));
    EXPECT_EQ(before.at("step_time_s"), after.at("step_time_s"));
    EXPECT_EQ(before.at("scenario"), after.at("scenario"));
}

TEST(Init, LeavesAFileThatExists) {
    const Folder folder;
    const std::string file = folder.file("mine.json", "mine");
    const Result refused = orrery(with({"init", file}, keys));
    EXPECT_EQ(refused.exit, 2);
    EXPECT_NE(refused.err.find("--force"), std::string::npos) << refused.err;
    EXPECT_EQ(content_of(file), "mine");
    EXPECT_EQ(orrery(with({"init", file, "--force"}, keys)).exit, 0);
    EXPECT_GT(prediction(file).at("step_time_s"), 0);
}

TEST(Init, RefusesWhatIsNoScenarioAndWritesNothing) {
    const Folder folder;
    const std::string file = folder / "train.json";
    for (const Arguments& arguments : {Arguments{"init", file},
                                       {"init", file, "--model", "gpt5", "--cluster", "dgx-h100"},
                                       {"init", file, "--model", "gpt2", "--cluster", "dgx-h100"},
                                       with({"init", file, "--pipeline", "7"}, keys)}) {
        const Result result = orrery(arguments);
        EXPECT_EQ(result.exit, 2) << result.err;
        EXPECT_EQ(result.out, "");
        EXPECT_NE(result.err.find("\n  hint: "), std::string::npos) << result.err;
    }
    EXPECT_EQ(folder.names(), Arguments{});
}

TEST(Interview, AsksAgainAndTakesWhatStandsInBrackets) {
    scenarios::UsualKeys answered;
    std::istringstream in("gpt-2\ngpt2\n\n12\n16\n2\n\n\nmany\n0\n64\n1024\n");
    std::ostringstream out;
    ask(answered, in, out);
    EXPECT_EQ(answered.words(),
              " --model gpt2 --cluster dgx-h100 --tensor 2 --pipeline 1 --micro-batch 1 --global-batch 64 --seq-length "
              "1024 --gpus 16");
    for (const char* word : {"nearest: gpt-22b, gpt2;", "12 is no whole number of nodes", "\"many\"", "\"0\""})
        EXPECT_NE(out.str().find(word), std::string::npos) << word << " is missing from\n" << out.str();
}

TEST(Interview, EndsWhereTheAnswersDo) {
    scenarios::UsualKeys answered;
    std::istringstream in("gpt2\n");
    std::ostringstream out;
    EXPECT_THROW(ask(answered, in, out), Error);
}

}  // namespace
}  // namespace orrery::cli
