// A prediction held against what another program traced.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "report/compare.hpp"

namespace orrery::report {
namespace {

using Json = nlohmann::json;

/// Two stages of one rank each; rank 1 has layers 4 and 5.
Json predicted() {
    Json breakdown;
    for (const char* key : {"gemm", "attention", "memory_bound", "tensor_comm", "expert_comm", "pipeline_comm",
                            "data_comm", "offload", "optimizer", "launch", "bubble"})
        breakdown[key] = 0.0;
    Json second = breakdown;
    second.update({{"gemm", 3.0}, {"tensor_comm", 0.5}, {"data_comm", 0.25}, {"launch", 1.0}, {"bubble", 2.0}});
    return {{"step_time_s", 8.0},
            {"provenance", {{"gpus", 2}}},
            {"scenario", {{"model", {{"num_hidden_layers", 6}}}}},
            {"stages", {{{"breakdown_s", breakdown}}, {{"breakdown_s", second}}}},
            {"operations",
             {{"names", {"up"}},
              {"roles",
               {{{"name", Json::array()}},
                {{"name", {0, 0, 0, 0}},
                 {"phase", {"forward", "forward", "gradient", "gradient"}},
                 {"kind", {"gemm", "gemm", "communication", "memory-bound"}},
                 {"layer", {4, 5, -1, 5}}}}},
              {"ranks",
               {{{"rank", 0}, {"role", 0}, {"begin_s", Json::array()}, {"end_s", Json::array()}},
                {{"rank", 1}, {"role", 1}, {"begin_s", {0, 1, 3, 3}}, {"end_s", {1, 3, 4, 3.5}}}}}}}};
}

Json group(const Json& layer, const char* phase, const char* kind, double seconds) {
    return {{"layer", layer}, {"phase", phase}, {"kind", kind}, {"count", 1}, {"seconds", seconds}};
}

/// The same rank's trace, which numbers its layers from 0.
Json traced() {
    return {{"step_time_s", 10.0},
            {"trace",
             {{"rank", 1},
              {"ranks", 2},
              {"step_spread_s", 0.1},
              {"breakdown_s",
               {{"gemm", 4.0},
                {"attention", 0.0},
                {"memory_bound", 0.0},
                {"optimizer", 0.0},
                {"communication", 1.5},
                {"copies", 0.0},
                {"idle", 4.5}}},
              {"groups",
               {group(0, "forward", "gemm", 2.0), group(1, "forward", "gemm", 2.0),
                group(nullptr, "", "communication", 1.5), group(1, "backward", "memory-bound", 0.5)}}}}};
}

double error_of(const Comparison& c, const std::string& name) {
    for (const OpGroup& g : c.groups)
        if (g.seconds.name == name) return g.seconds.error();
    ADD_FAILURE() << "no group " << name;
    return 0;
}

TEST(CompareTraced, HoldsTheRanksStageAgainstIt) {
    const Comparison c = compare(predicted(), "p", traced(), "m");
    EXPECT_TRUE(c.traced);
    EXPECT_DOUBLE_EQ(c.step.error(), -0.2);
    EXPECT_DOUBLE_EQ(c.step_spread, 0.01);
    ASSERT_EQ(c.categories.size(), 7U);
    EXPECT_DOUBLE_EQ(c.categories[0].predicted, 3.0);
    EXPECT_EQ(c.categories[4].name, "communication exposed");
    EXPECT_DOUBLE_EQ(c.categories[4].error(), -0.5) << "of all axes";
    EXPECT_DOUBLE_EQ(c.categories[6].predicted, 3.0) << "host and bubble";
    const std::string text = to_text(c, {});
    for (const char* word : {"-20.0%", "layer 4 (forward)", "kinds of work of the traced rank"})
        EXPECT_NE(text.find(word), std::string::npos) << word << " is missing from\n" << text;
    EXPECT_EQ(text.find("peak memory"), std::string::npos);
}

TEST(CompareTraced, MatchesLayersInTheirOrder) {
    const Comparison c = compare(predicted(), "p", traced(), "m");
    EXPECT_DOUBLE_EQ(error_of(c, "layer 4 (forward)"), -0.5);
    EXPECT_DOUBLE_EQ(error_of(c, "layer 5 (forward)"), 0);
    EXPECT_DOUBLE_EQ(error_of(c, "layer 5 (backward)"), 0) << "gradients are of the backward pass";
    EXPECT_NEAR(error_of(c, "communication"), -1.0 / 3, 1e-12);
}

TEST(CompareTraced, FallsBackToKindsWhereLayersAreNotKnown) {
    Json few = traced();
    few["trace"]["groups"].push_back(group(nullptr, "forward", "gemm", 4.0));
    few["trace"]["groups"][1]["seconds"] = 1.0;
    EXPECT_NEAR(error_of(compare(predicted(), "p", few, "m"), "forward"), -4.0 / 7, 1e-12);
    Json others = traced();
    others["trace"]["groups"][0]["layer"] = 7;
    others["trace"]["groups"][2]["layer"] = 8;
    EXPECT_DOUBLE_EQ(error_of(compare(predicted(), "p", others, "m"), "forward"), -0.25) << "three layers against two";
    Json none = predicted();
    none.erase("operations");
    EXPECT_TRUE(compare(none, "p", traced(), "m").groups.empty());
}

TEST(CompareTraced, RefusesAnotherJobAndDamage) {
    const auto pointer_of = [](const Json& measured) -> std::string {
        try {
            (void)compare(predicted(), "p", measured, "m");
        } catch (const Error& error) {
            EXPECT_FALSE(error.hint().empty());
            return error.pointer();
        }
        return "taken";
    };
    const auto with = [](const char* at, const Json& value) {
        Json changed = traced();
        changed[Json::json_pointer(at)] = value;
        return changed;
    };
    EXPECT_EQ(pointer_of(with("/trace/ranks", 16)), "/trace/ranks");
    EXPECT_EQ(pointer_of(with("/trace/rank", 2)), "/trace/rank");
    EXPECT_EQ(pointer_of(with("/trace/rank", -1)), "/trace/rank");
    EXPECT_EQ(pointer_of(with("/trace/breakdown_s/idle", "x")), "/trace/breakdown_s/idle");
    EXPECT_EQ(pointer_of(with("/trace/groups", 3)), "/trace/groups");
    EXPECT_EQ(pointer_of(with("/trace/groups/0/seconds", -1)), "/trace/groups/0/seconds");
    EXPECT_EQ(pointer_of(with("/step_time_s", 0)), "/step_time_s");
}

}  // namespace
}  // namespace orrery::report
