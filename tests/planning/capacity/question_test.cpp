// A question is read whole, or refused at its place.
#include "planning/capacity/question.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/error.hpp"
#include "base/read_file.hpp"
#include "documents/document.hpp"

namespace orrery::capacity {
namespace {

using nlohmann::json;

json sound() {
    return json::parse(R"({
        "model": {"name": "gpt3-1.3b"},
        "training": {"seq_length": 2048, "global_batch_size": 512},
        "tokens": "100B",
        "deadline": "10 days",
        "candidates": [{"cluster": {"preset": "dgx-a100", "nodes": 2}, "strategy": {"tensor": 2},
                        "costs": {"price_per_gpu_hour": 2}}]})");
}

Question read(const json& document) { return read_question(document, "q.json", "2026-11-22"); }

/// "/pointer" of what is wrong after one change (a JSON pointer and its value as text; "" removes it).
std::string fault(const std::string& pointer, const std::string& value) {
    json document = sound();
    const json::json_pointer at(pointer);
    if (value.empty())
        document.at(at.parent_pointer()).erase(at.back());
    else
        document[at] = json::parse(value);
    try {
        (void)read(document);
    } catch (const Error& error) {
        EXPECT_EQ(error.file(), "q.json");
        EXPECT_FALSE(error.hint().empty()) << error.message();
        return error.pointer();
    }
    return "none";
}

TEST(CapacityQuestion, IsRead) {
    const Question question = read(sound());
    EXPECT_EQ(question.name, "q");
    EXPECT_EQ(question.tokens, 100e9);
    EXPECT_EQ(question.deadline_s, 864000);
    EXPECT_EQ(question.step_error, usual_step_error);
    ASSERT_EQ(question.candidates.size(), 1U);
    EXPECT_EQ(question.candidates[0].name, "dgx-a100");
    EXPECT_EQ(question.candidates[0].costs.gpu_hour, 2);
    ASSERT_EQ(question.candidates[0].plans.size(), 1U);
    EXPECT_EQ(question.candidates[0].plans[0].scenario["outputs"]["token_budget"], "100B");
}

TEST(CapacityQuestion, StrategiesAreTriedWhereACandidateHasNone) {
    json document = sound();
    document["strategies"] = {{{"tensor", 1}}, {{"tensor", 4}}};
    document["candidates"].push_back({{"cluster", {{"preset", "dgx-h100"}}}});
    const Question question = read(document);
    EXPECT_EQ(question.candidates[0].plans.size(), 1U);
    ASSERT_EQ(question.candidates[1].plans.size(), 2U);
    EXPECT_EQ(question.candidates[1].plans[1].pointer, "/strategies/1");
}

TEST(CapacityQuestion, DeadlinesMayBeDates) {
    json document = sound();
    document["deadline"] = "2026-12-02";
    EXPECT_EQ(read(document).deadline_s, 864000);
    document["start"] = "2026-12-01";
    EXPECT_EQ(read(document).deadline_s, 86400);
}

TEST(CapacityQuestion, HostileOnesNameTheirKey) {
    EXPECT_EQ(fault("/candidates", "[]"), "/candidates");
    EXPECT_EQ(fault("/candidates", ""), "/candidates");
    EXPECT_EQ(fault("/candidates", "7"), "/candidates");
    EXPECT_EQ(fault("/deadline", "\"2020-01-01\""), "/deadline");
    EXPECT_EQ(fault("/deadline", "\"2026-11-22\""), "/deadline");
    EXPECT_EQ(fault("/deadline", "\"2026-02-30\""), "/deadline");
    EXPECT_EQ(fault("/deadline", "\"0 s\""), "/deadline");
    EXPECT_EQ(fault("/deadline", "\"-3 days\""), "/deadline");
    EXPECT_EQ(fault("/deadline", "\"soon\""), "/deadline");
    EXPECT_EQ(fault("/start", "\"2026-12-01\""), "/start");  // the deadline is a time, or there is none
    EXPECT_EQ(fault("/budget", "-5"), "/budget");
    EXPECT_EQ(fault("/tokens", "0"), "/tokens");
    EXPECT_EQ(fault("/step_error", "1"), "/step_error");
    EXPECT_EQ(fault("/candidates/0/costs/price_per_gpu_hour", "-2"), "/candidates/0/costs/price_per_gpu_hour");
    EXPECT_EQ(fault("/candidates/0/costs/price", "2"), "/candidates/0/costs/price");
    EXPECT_EQ(fault("/candidates/0/costs/purchase_price_per_gpu", "1"), "/candidates/0/costs/purchase_price_per_gpu");
    EXPECT_EQ(fault("/candidates/0/reliability", R"({"node_mtbf": "0 s"})"), "/candidates/0/reliability/node_mtbf");
    EXPECT_EQ(fault("/candidates/0/reliability", R"({"spare_nodes": 1})"), "/candidates/0/reliability/spare_nodes");
    EXPECT_EQ(fault("/candidates/0/strategy", "7"), "/candidates/0/strategy");
    EXPECT_EQ(fault("/candidates/0/cluster", ""), "/candidates/0/cluster");
    EXPECT_EQ(fault("/nonsense", "1"), "/nonsense");
}

/// Money is compared in one currency, and a budget with nothing but prices.
TEST(CapacityQuestion, PricesCanBeCompared) {
    EXPECT_EQ(fault("/candidates/0/costs", ""), "none");
    json document = sound();
    document["candidates"].push_back(document["candidates"][0]);
    document["candidates"][0]["name"] = "first";
    const auto pointer = [&] {
        try {
            (void)read(document);
        } catch (const Error& error) {
            return error.pointer();
        }
        return std::string("none");
    };
    EXPECT_EQ(pointer(), "none");
    document["candidates"][1]["costs"]["currency"] = "EUR";
    EXPECT_EQ(pointer(), "/candidates/1/costs/currency");
    document["candidates"][1].erase("costs");
    EXPECT_EQ(pointer(), "none");
    EXPECT_FALSE(read(document).by_money());
    document["budget"] = 100;
    EXPECT_EQ(pointer(), "/budget");
}

TEST(CapacityQuestion, CandidatesHaveNamesOfTheirOwn) {
    json document = sound();
    document["candidates"].push_back(document["candidates"][0]);
    EXPECT_THROW((void)read(document), Error);
    document["candidates"][1]["cluster"]["nodes"] = 4;
    const Question question = read(document);
    EXPECT_EQ(question.candidates[0].name, "2 x dgx-a100");
    EXPECT_EQ(question.candidates[1].name, "4 x dgx-a100");
    for (json& each : document["candidates"]) each["name"] = "A";
    EXPECT_THROW((void)read(document), Error);
}

TEST(CapacityQuestion, ErrorsOfAPlanStandAtTheirPlace) {
    const Question question = read(sound());
    const Candidate& candidate = question.candidates[0];
    const auto at = [&](const char* pointer) {
        return in_question(Error("q.json", pointer, "wrong", "mend"), question, candidate, candidate.plans[0])
            .pointer();
    };
    EXPECT_EQ(at("/strategy/tensor"), "/candidates/0/strategy/tensor");
    EXPECT_EQ(at("/cluster/nodes"), "/candidates/0/cluster/nodes");
    EXPECT_EQ(at("/checkpoint/tier"), "/candidates/0/checkpoint/tier");
    EXPECT_EQ(at("/model/name"), "/model/name");
}

TEST(CapacityQuestion, ShippedOnesAreRead) {
    std::size_t questions = 0;
    for (const auto& entry : std::filesystem::directory_iterator("scenarios/capacity")) {
        if (entry.path().extension() != ".json") continue;
        ++questions;
        EXPECT_NO_THROW((void)read_question(documents::read_document(entry.path()), entry.path(), "2026-11-22"));
    }
    EXPECT_EQ(questions, 2U);
}

TEST(Question, ThePlannersGuideNamesEveryKey) {
    const std::string guide = read_file("docs/planner.md");
    for (const documents::Section& section : question_sections()) {
        if (section.name == "strategies") continue;  // a scenario's
        for (const documents::Key& key : section.keys) {
            if (key.name == "$schema") continue;
            EXPECT_NE(guide.find(fmt::format("`{}`", key.name)), std::string::npos) << section.name << " " << key.name;
        }
    }
}

}  // namespace
}  // namespace orrery::capacity
