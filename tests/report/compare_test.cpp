#include "report/compare.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/error.hpp"

namespace orrery::report {
namespace {

using Json = nlohmann::json;

constexpr const char* keys[]{"gemm",      "attention", "memory_bound", "tensor_comm", "expert_comm", "pipeline_comm",
                             "data_comm", "offload",   "optimizer",    "launch",      "bubble"};

/// A step of three operations: two products of one name, and an optimizer.
Json sample(double first, double second, double adam) {
    Json breakdown;
    for (const char* key : keys) breakdown[key] = 0.0;
    breakdown["gemm"] = first + second;
    breakdown["optimizer"] = adam;
    const double end = first + second;
    return {{"step_time_s", end + adam},
            {"stages", {{{"stage", 0}, {"breakdown_s", breakdown}}}},
            {"peak_memory_bytes", {1000}},
            {"operations",
             {{"names", {"up", "adam"}},
              {"roles",
               {{{"name", {0, 0, 1}},
                 {"phase", {"forward", "forward", "optimizer"}},
                 {"kind", {"gemm", "gemm", "memory-bound"}}}}},
              {"ranks",
               {{{"rank", 0}, {"role", 0}, {"begin_s", {0.0, first, end}}, {"end_s", {first, end, end + adam}}}}}}}};
}

TEST(Compare, JoinsOperationsByRankAndOrder) {
    const Comparison c = compare(sample(1, 2, 1), "p", sample(2, 2, 1), "m");
    EXPECT_DOUBLE_EQ(c.step.error(), -0.2);
    EXPECT_EQ(c.joined, 3U);
    ASSERT_EQ(c.groups.size(), 2U);
    EXPECT_EQ(c.groups[0].seconds.name, "up (forward)");
    EXPECT_DOUBLE_EQ(c.groups[0].seconds.difference(), -1);
    EXPECT_DOUBLE_EQ(c.groups[0].median_error, 0.25);
    EXPECT_DOUBLE_EQ(c.groups[1].seconds.difference(), 0);
    EXPECT_DOUBLE_EQ(c.median_op_error, 0);
    const std::string text = to_text(c, {});
    for (const char* word : {"-20.0%", "up (forward)", "3 operations joined", "GEMM"})
        EXPECT_NE(text.find(word), std::string::npos) << word << " is missing from\n" << text;
    EXPECT_EQ(to_json(c)["joined"], 3);
}

TEST(Compare, NamesTheCommunicationOfContextRanksAsReportsDo) {
    Json predicted = sample(1, 2, 1);
    EXPECT_EQ(compare(predicted, "p", sample(1, 2, 1), "m").categories[3].name, "TP comm");
    predicted["scenario"] = {{"strategy", {{"tensor", 1}, {"context", 2}}}};
    EXPECT_EQ(compare(predicted, "p", sample(1, 2, 1), "m").categories[3].name, "CP comm");
    predicted["scenario"]["strategy"]["tensor"] = 2;
    EXPECT_EQ(compare(predicted, "p", sample(1, 2, 1), "m").categories[3].name, "TP, CP comm");
}

/// Of model, strategy and training: what a run has of its own (its name, its cluster) is none.
TEST(Compare, SaysWhereAnotherPlanWasMeasured) {
    Json predicted = sample(1, 2, 1), measured = sample(1, 2, 1);
    predicted["scenario"] = {{"name", "a"}, {"strategy", {{"tensor", 1}}}, {"training", {{"seq_length", 64}}}};
    measured["scenario"] = predicted["scenario"];
    measured["scenario"]["name"] = "b";
    measured["scenario"]["cluster"] = {{"nodes", 2}};
    measured["scenario"]["seed"] = 7;
    EXPECT_TRUE(compare(predicted, "p", measured, "m").differs.empty());
    measured["scenario"]["training"]["seq_length"] = 32;
    const Comparison c = compare(predicted, "p", measured, "m");
    ASSERT_EQ(c.differs.size(), 1U);
    EXPECT_NE(to_text(c, {}).find("/training/seq_length (64 predicted, 32 measured)"), std::string::npos)
        << to_text(c, {});
    EXPECT_EQ(to_json(c)["differs"][0]["key"], "/training/seq_length");
}

/// A run's report says that it measured.
TEST(Compare, RefusesTwoFilesInTheOtherOrder) {
    const Json predicted = sample(1, 2, 1);
    Json measured = predicted;
    measured["measured"] = {{"steps", 20}};
    EXPECT_EQ(compare(predicted, "p.json", measured, "m.json").joined, 3U);
    try {
        compare(measured, "m.json", predicted, "p.json");
        ADD_FAILURE() << "was taken";
    } catch (const Error& error) {
        EXPECT_EQ(error.file(), "m.json");
        EXPECT_EQ(error.pointer(), "/measured");
    }
}

TEST(Compare, LeavesOperationsOutWhereOneSideHasNone) {
    Json predicted = sample(1, 2, 1);
    predicted.erase("operations");
    const Comparison c = compare(predicted, "p", sample(1, 2, 1), "m");
    EXPECT_TRUE(c.groups.empty());
    EXPECT_DOUBLE_EQ(c.step.error(), 0);
    EXPECT_NE(to_text(c, {}).find("--operations"), std::string::npos);
}

TEST(Compare, NamesTheFileAndPlaceOfWhatIsWrong) {
    const Json good = sample(1, 2, 1);
    struct Case {
        const char* pointer;
        Json value;
    };
    const Case cases[]{{"/step_time_s", 0.0},
                       {"/step_time_s", "fast"},
                       {"/stages", Json::array()},
                       {"/operations/names", Json::array({"up"})},
                       {"/operations/ranks/0/begin_s", Json::array({0.0})},
                       {"/operations/ranks/0/end_s/1", nullptr}};
    for (const Case& one : cases) {
        Json bad = good;
        bad[Json::json_pointer(one.pointer)] = one.value;
        try {
            compare(good, "p.json", bad, "m.json");
            ADD_FAILURE() << one.pointer << " was taken";
        } catch (const Error& error) {
            EXPECT_EQ(error.file(), "m.json");
            EXPECT_EQ(error.pointer(), one.pointer);
        }
    }
    EXPECT_THROW(compare(Json::array(), "p", good, "m"), Error);
    // Both sides alike wrong: the predicted one is read.
    for (const Case& one : {Case{"/operations/ranks/0/role", "first"}, Case{"/operations/roles/0/name/0", -1},
                            Case{"/operations/roles/0/name/0", 99}, Case{"/operations/roles/0/kind/0", 7},
                            Case{"/operations/roles/0/phase/0", nullptr}}) {
        Json bad = good;
        bad[Json::json_pointer(one.pointer)] = one.value;
        EXPECT_THROW(compare(bad, "p.json", bad, "m.json"), Error) << one.pointer << ' ' << one.value;
    }
}

}  // namespace
}  // namespace orrery::report
