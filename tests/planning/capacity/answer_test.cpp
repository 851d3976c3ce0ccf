// What candidates come to, and that a changed price predicts nothing anew.
#include "planning/capacity/answer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "base/error.hpp"
#include "base/temporary_folder.hpp"

namespace orrery::capacity {
namespace {

using nlohmann::json;

json document() {
    return json::parse(R"({
        "model": {"name": "gpt3-1.3b"},
        "training": {"seq_length": 2048, "global_batch_size": 512},
        "tokens": "100B",
        "candidates": [
            {"name": "dear", "cluster": {"preset": "dgx-a100", "nodes": 4}, "strategy": {"tensor": 2},
             "costs": {"price_per_gpu_hour": 4}},
            {"name": "cheap", "cluster": {"preset": "dgx-a100", "nodes": 2}, "strategy": {"tensor": 2},
             "costs": {"price_per_gpu_hour": 2}}]})");
}

Question question(const json& from) { return read_question(from, "q.json", "2026-11-22"); }

Answer ask(const json& from) {
    FactsFile none("");
    return answer(question(from), none);
}

TEST(Capacity, TheCheapestThatMeetsTheQuestionIsChosen) {
    const Answer free = ask(document());
    ASSERT_TRUE(free.chosen);
    EXPECT_EQ(free.candidates[*free.chosen].name, "cheap");
    const double days = free.candidates[1].best->forecast.seconds() / 86400;
    json hurried = document();
    hurried["deadline"] = std::to_string(days * 0.8) + " days";
    const Answer fast = ask(hurried);
    ASSERT_TRUE(fast.chosen);
    EXPECT_EQ(fast.candidates[*fast.chosen].name, "dear");
    EXPECT_TRUE(fast.candidates[1].binds.starts_with("deadline")) << fast.candidates[1].binds;
    hurried["budget"] = 1;
    const Answer none = ask(hurried);
    EXPECT_FALSE(none.chosen);
    EXPECT_TRUE(none.candidates[0].binds.starts_with("budget")) << none.candidates[0].binds;
}

TEST(Capacity, RangesHoldTheMean) {
    const Answer answer = ask(document());
    const Option& best = *answer.candidates[0].best;
    const double days = best.forecast.seconds() / 86400;
    EXPECT_LT(best.days.low, days);
    EXPECT_GT(best.days.high, days);
    EXPECT_NEAR(best.days.high / best.days.low, 1.18 / 0.82, 0.05);
    EXPECT_NEAR(best.money->low, 4 * best.gpu_hours.low, 1e-6 * best.money->low);
    EXPECT_LT(best.mwh.low, best.mwh.high);
}

TEST(Capacity, TheTornadoTurnsEveryInput) {
    const std::vector<Swing> swings = ask(document()).candidates[0].tornado;
    ASSERT_EQ(swings.size(), 4U);
    for (std::size_t i = 1; i < swings.size(); ++i) EXPECT_GE(swings[i - 1].effect, swings[i].effect);
    const auto of = [&](const char* input) {
        return *std::ranges::find_if(swings, [&](const Swing& swing) { return swing.input.starts_with(input); });
    };
    EXPECT_NEAR(of("price").effect, 0.4, 1e-9);
    EXPECT_EQ(of("price").days.low, of("price").days.high);
    EXPECT_GE(of("MTBF").days.low, of("MTBF").days.high);
    EXPECT_GE(of("network").days.low, of("network").days.high);
    EXPECT_LT(of("step time").days.low, of("step time").days.high);
}

TEST(Capacity, MemoryBinds) {
    json large = document();
    large["model"]["name"] = "gpt3-175b";
    const Answer answer = ask(large);
    EXPECT_FALSE(answer.chosen);
    EXPECT_TRUE(answer.candidates[0].binds.starts_with("memory")) << answer.candidates[0].binds;
}

TEST(Capacity, WithoutAPlanTheBestIsSearchedFor) {
    const TemporaryFolder folder("capacity-test");
    json open = document();
    open["candidates"].erase(0);
    open["candidates"][0].erase("strategy");
    const auto with_file = [&] {
        FactsFile known(folder.path() / "predictions");
        return answer(question(open), known);
    };
    const Answer found = with_file();
    const Answer named = ask(document());
    ASSERT_TRUE(found.candidates[0].best);
    EXPECT_LE(found.candidates[0].best->facts.job.step_s, named.candidates[1].best->facts.job.step_s);
    EXPECT_TRUE(found.candidates[0].best->facts.fits);
    const Answer again = with_file();
    EXPECT_EQ(again.predicted, 0U);
    EXPECT_EQ(again.plans[0][0].scenario, found.plans[0][0].scenario);
    open["model"]["name"] = "gpt3-175b";
    FactsFile none("");
    const Answer large = answer(question(open), none);
    EXPECT_FALSE(large.candidates[0].best);
    EXPECT_EQ(large.candidates[0].binds, "no plan fits");
}

/// Nothing that other candidates would be without an answer for.
TEST(Capacity, ACandidateThatAlwaysFailsIsAnAnswer) {
    json asked = document();
    asked["candidates"][0]["reliability"] = {{"node_mtbf", "5 min"}};
    const Answer answer = ask(asked);
    EXPECT_FALSE(answer.candidates[0].best);
    EXPECT_EQ(answer.candidates[0].binds, "failures: no end");
    ASSERT_EQ(answer.candidates[0].refused.size(), 1U);
    EXPECT_NE(answer.candidates[0].refused[0].find("never end"), std::string::npos) << answer.candidates[0].refused[0];
    ASSERT_TRUE(answer.chosen);
    EXPECT_EQ(*answer.chosen, 1U);
    asked["candidates"][0].erase("strategy");  // a plan fits, whichever is found
    EXPECT_EQ(ask(asked).candidates[0].binds, "failures: no end");
}

TEST(Capacity, AnInputAtWhichNoneEndsIsSaidBesideTheOthers) {
    json asked = document();
    const auto with_mtbf = [&](double minutes) {
        asked["candidates"][0]["reliability"] = {{"node_mtbf", std::to_string(minutes) + " min"}};
        return ask(asked).candidates[0];
    };
    double ends = 1000, never = 5;  // the least mean time with which it still ends
    while (ends > 1.2 * never) (with_mtbf(std::sqrt(ends * never)).best ? ends : never) = std::sqrt(ends * never);
    const CandidateAnswer edge = with_mtbf(ends);
    ASSERT_TRUE(edge.best);
    ASSERT_EQ(edge.refused.size(), 1U);
    EXPECT_TRUE(edge.refused[0].starts_with("MTBF of nodes")) << edge.refused[0];
    EXPECT_GE(edge.tornado.size(), 2U);
}

TEST(Capacity, AClusterThatIsNoneIsAnErrorWithoutAPlanToo) {
    json asked = document();
    asked["candidates"][1].erase("strategy");
    asked["candidates"][1]["cluster"]["preset"] = "dgx-a1000";
    try {
        (void)ask(asked);
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.pointer(), "/candidates/1/cluster/preset");
    }
}

TEST(Capacity, ARefusedPlanOfSeveralIsNamedAndOneAloneIsAnError) {
    json several = document();
    several["candidates"][0].erase("strategy");
    several["candidates"].erase(1);
    several["strategies"] = {{{"tensor", 3}}, {{"tensor", 2}}};
    const Answer answer = ask(several);
    EXPECT_EQ(answer.candidates[0].refused.size(), 1U);
    EXPECT_EQ(answer.candidates[0].best->plan, 1U);
    json alone = document();
    alone["candidates"][1]["strategy"]["tensor"] = 3;
    try {
        (void)ask(alone);
        FAIL();
    } catch (const Error& error) {
        EXPECT_TRUE(error.pointer().starts_with("/candidates/1/strategy/")) << error.pointer();
    }
}

/// A plan that the model or batch cannot have on some cluster is that row's answer, unless none has another.
TEST(Capacity, APlanThatTheBatchDoesNotFitIsRefusedBesideOthers) {
    json asked = document();
    asked["candidates"][0]["strategy"]["data"] = 7;
    const Answer answer = ask(asked);
    EXPECT_FALSE(answer.candidates[0].best);
    ASSERT_EQ(answer.candidates[0].refused.size(), 1U);
    EXPECT_TRUE(answer.candidates[0].refused[0].starts_with("/candidates/0/strategy"))
        << answer.candidates[0].refused[0];
    ASSERT_TRUE(answer.chosen);
    EXPECT_EQ(*answer.chosen, 1U);
    asked["candidates"][1]["strategy"]["data"] = 7;
    EXPECT_THROW((void)ask(asked), Error);
    // What one cannot be does not hide that the other never ends.
    asked["candidates"][1]["strategy"]["data"] = 8;
    asked["candidates"][1]["reliability"] = {{"node_mtbf", "5 min"}};
    const Answer none = ask(asked);
    EXPECT_EQ(none.candidates[0].refused.size(), 1U);
    ASSERT_EQ(none.candidates[1].refused.size(), 1U);
    EXPECT_NE(none.candidates[1].refused[0].find("never end"), std::string::npos) << none.candidates[1].refused[0];
}

TEST(Capacity, TheAnswerDoesNotDependOnTheOrder) {
    json asked = document();
    asked["candidates"].push_back(asked["candidates"][0]);
    asked["candidates"][2]["name"] = "unpriced";
    asked["candidates"][2]["cluster"]["nodes"] = 3;
    asked["candidates"][2]["strategy"]["data"] = 8;
    asked["candidates"][2].erase("costs");
    const auto chosen = [&] {
        const Answer answer = ask(asked);
        return answer.candidates.at(answer.chosen.value()).name;
    };
    const std::string first = chosen();
    std::rotate(asked["candidates"].begin(), asked["candidates"].begin() + 1, asked["candidates"].end());
    EXPECT_EQ(chosen(), first);
    std::swap(asked["candidates"][0], asked["candidates"][1]);
    EXPECT_EQ(chosen(), first);
    EXPECT_EQ(first, "dear") << "the quickest, since one has no price";
}

TEST(Capacity, AWholeClusterIsPaid) {
    json asked = document();
    asked["candidates"][0]["strategy"]["data"] = 8;
    const Option half = *ask(asked).candidates[0].best;  // 16 of 32 GPUs
    EXPECT_EQ(half.facts.job.gpus, 16U);
    EXPECT_EQ(half.held, 32);
    // Idle nodes are the spares.
    asked["candidates"][0]["reliability"] = {{"spare_nodes", 2}, {"repair", "1 days"}};
    EXPECT_EQ(ask(asked).candidates[0].best->held, 32);
    asked["candidates"][0]["reliability"]["spare_nodes"] = 3;
    EXPECT_EQ(ask(asked).candidates[0].best->held, 40);
    asked["candidates"][0].erase("reliability");
    asked["candidates"][0]["cluster"]["nodes"] = 2;
    const Option whole = *ask(asked).candidates[0].best;
    EXPECT_EQ(whole.held, 16);
    EXPECT_NEAR(half.money->low, 2 * whole.money->low, 0.05 * half.money->low);
}

/// What takes more of the wall clock than the network of a step, and a tenth of it at least.
TEST(Capacity, InputFailuresAndRepairsBind) {
    json asked = document();
    asked["candidates"][0]["storage"] = {{"tokens_per_second_per_node", 10000}};
    asked["candidates"][1]["reliability"] = {{"node_mtbf", "4 days"}, {"spare_nodes", 0}, {"repair", "2 days"}};
    const Answer answer = ask(asked);
    EXPECT_TRUE(answer.candidates[0].binds.starts_with("data loaders")) << answer.candidates[0].binds;
    EXPECT_TRUE(answer.candidates[1].binds.starts_with("repairs")) << answer.candidates[1].binds;
    const auto& swings = answer.candidates[0].tornado;
    EXPECT_TRUE(std::ranges::any_of(
        swings, [](const Swing& swing) { return swing.input.starts_with("data loaders") && swing.effect > 0.5; }));
}

TEST(Capacity, AnotherPriceReusesEveryPrediction) {
    const TemporaryFolder folder("capacity-test");
    const std::filesystem::path file = folder.path() / "predictions";
    const auto with_file = [&](const json& from) {
        FactsFile known(file);
        return answer(question(from), known);
    };
    const Answer first = with_file(document());
    EXPECT_GT(first.predicted, 0U);
    const Answer again = with_file(document());
    EXPECT_EQ(again.predicted, 0U);
    EXPECT_EQ(again.candidates[0].best->days.low, first.candidates[0].best->days.low);
    json dearer = document();
    dearer["candidates"][0]["costs"]["price_per_gpu_hour"] = 5;
    dearer["candidates"][0]["reliability"] = {{"failures_per_1000_node_days", 100}};
    const Answer other = with_file(dearer);
    EXPECT_EQ(other.predicted, 0U);
    EXPECT_GT(other.candidates[0].best->money->low, first.candidates[0].best->money->low);
    json changed = document();
    changed["training"]["global_batch_size"] = 1024;
    EXPECT_GT(with_file(changed).predicted, 0U);
}

/// All that an answer takes of a prediction is kept.
TEST(Capacity, AKeptPredictionOfAdaptersAnswersTheSame) {
    const TemporaryFolder folder("capacity-test");
    json asked = document();
    asked["training"]["lora_rank"] = 16;
    asked["training"]["fused_attention"] = true;
    for (json& candidate : asked["candidates"]) {
        candidate["reliability"] = {{"node_mtbf", "5 days"}};
        candidate["storage"] = {{"read_rate", "10 MB/s"}};
    }
    const auto seconds = [&] {
        FactsFile known(folder.path() / "predictions");
        return answer(question(asked), known).candidates[0].best->forecast.seconds();
    };
    const double first = seconds();
    EXPECT_EQ(seconds(), first);
}

TEST(Capacity, AFileThatWasCutOffGoesOn) {
    const TemporaryFolder folder("capacity-test");
    const std::filesystem::path file = folder.path() / "predictions";
    const auto predicted = [&] {
        FactsFile known(file);
        return answer(question(document()), known).predicted;
    };
    const std::size_t all = predicted();
    std::filesystem::resize_file(file, std::filesystem::file_size(file) - 20);
    EXPECT_EQ(predicted(), 1U);
    EXPECT_EQ(predicted(), 0U);
    EXPECT_EQ(all, 6U);
    std::ofstream(file) << "something else\n";
    EXPECT_THROW((void)predicted(), Error);
}

}  // namespace
}  // namespace orrery::capacity
