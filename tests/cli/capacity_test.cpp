// orrery capacity: what it says and writes, what it keeps, and what it refuses.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/process.hpp"

namespace orrery::cli {
namespace {

using Json = nlohmann::json;

Json question() {
    return Json::parse(R"({
        "model": {"name": "gpt3-1.3b"},
        "training": {"seq_length": 2048, "micro_batch_size": 1, "global_batch_size": 512},
        "tokens": "100B",
        "deadline": "90 days",
        "strategies": [{"tensor": 1}, {"tensor": 2}, {"tensor": 3}],
        "candidates": [
            {"name": "A100", "cluster": {"preset": "dgx-a100", "nodes": 4}, "costs": {"price_per_gpu_hour": 2}},
            {"name": "H100", "cluster": {"preset": "dgx-h100", "nodes": 2}, "costs": {"price_per_gpu_hour": 3}}]})");
}

TEST(Capacity, SaysWhatEachCandidateComesTo) {
    const Folder folder;
    const std::string file = folder.file("q.json", question().dump());
    const Result result = orrery({"capacity", file, "--json", folder / "out.json"});
    ASSERT_EQ(result.exit, 0) << result.err;
    for (const char* word : {"A100", "H100", "GPU-hours", "days", "MWh"})
        EXPECT_NE(result.out.find(word), std::string::npos) << word << " is missing from\n" << result.out;
    const Json answer = Json::parse(content_of(folder / "out.json"));
    EXPECT_TRUE(answer.at("chosen").is_string()) << answer.dump(1);
    EXPECT_EQ(answer.at("candidates").size(), 2U);
}

TEST(Capacity, AnotherPricePredictsNothingAnew) {
    const Folder folder;
    Json asked = question();
    const std::string file = folder.file("q.json", asked.dump()), kept = file + ".predictions";
    const auto money = [&] {
        const Result result = orrery({"capacity", file, "--json", "-"});
        EXPECT_EQ(result.exit, 0) << result.err;
        return Json::parse(result.out).at("candidates").at(0).at("best").at("money").at(0).get<double>();
    };
    const double before = money();
    const std::string predictions = content_of(kept);
    EXPECT_NE(predictions, "");
    asked["candidates"][0]["costs"]["price_per_gpu_hour"] = 1;
    (void)folder.file("q.json", asked.dump());
    EXPECT_NEAR(money(), before / 2, 1e-9 * before);
    EXPECT_EQ(content_of(kept), predictions);
    EXPECT_EQ(folder.names(), (std::vector<std::string>{"q.json", "q.json.predictions"}));
}

/// Each is one change of a sound question: a JSON pointer and its value.
TEST(Capacity, HostileQuestionsEndWithTwoAndARemedy) {
    const std::vector<std::pair<std::string, std::string>> changes{
        {"/candidates/0/costs/price_per_gpu_hour", "-2"},
        {"/candidates/0/costs/price_per_gpu_hour", "1e999"},
        {"/candidates/0/costs/pue", "0"},
        {"/candidates/0/reliability", R"({"node_mtbf": "0 s"})"},
        {"/candidates/0/reliability", R"({"failures_per_1000_node_days": -1})"},
        {"/candidates/0/checkpoint", R"({"interval": "-1 s"})"},
        {"/deadline", "\"2001-01-01\""},
        {"/deadline", "\"-1 days\""},
        {"/budget", "-1"},
        {"/tokens", "0"},
        {"/tokens", "\"-100B\""},
        {"/candidates", "[]"},
        {"/strategies", "[]"},
        {"/strategies", "7"},
        {"/candidates/0/cluster/nodes", "0"},
        {"/candidates/0/cluster/nodes", "1000000000000"},
        {"/candidates/0/cluster/preset", "\"no-such\""},
        {"/model/name", "\"no-such\""},
        {"/training/global_batch_size", "0"},
        {"/training/global_batch_size", "1000000000000"},
        {"/candidates/1/costs", "[1]"},
        {"/step_error", "2"},
    };
    for (const auto& [pointer, value] : changes) {
        const Folder folder;
        const std::string name = pointer + " " + value;
        std::string text = question().dump();
        if (value == "1e999") {
            text.replace(text.find("\"price_per_gpu_hour\":2"), 22, "\"price_per_gpu_hour\":1e999");
        } else {
            Json asked = question();
            asked[Json::json_pointer(pointer)] = Json::parse(value);
            text = asked.dump();
        }
        const Result result = orrery({"capacity", folder.file("q.json", text), "--no-cache"});
        EXPECT_EQ(result.exit, 2) << name << '\n' << result.out << result.err;
        EXPECT_TRUE(result.err.starts_with("orrery: error: ")) << name << '\n' << result.err;
        EXPECT_NE(result.err.find("hint: "), std::string::npos) << name << '\n' << result.err;
        EXPECT_EQ(result.out, "") << name;
    }
}

TEST(Capacity, FilesThatAreNoneAreRefused) {
    const Folder folder;
    const std::string file = folder.file("q.json", question().dump());
    const std::string other = folder.file("other", "something else\n");
    for (const std::vector<std::string>& words : {std::vector<std::string>{"capacity", folder / "none.json"},
                                                  {"capacity", file, "--cache", other},
                                                  {"capacity", file, "--json", file},
                                                  {"capacity", file, "--json", folder / "no/such/folder"},
                                                  {"capacity", file, "--no-cache", "--cache", folder / "c"}}) {
        const Result result = orrery(words);
        EXPECT_EQ(result.exit, 2) << words.back() << '\n' << result.out << result.err;
    }
    EXPECT_EQ(content_of(other), "something else\n");
}

}  // namespace
}  // namespace orrery::cli
