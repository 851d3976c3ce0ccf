// What a row states in the keys of scenario files.
#include "validate/stated_keys.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "documents/write_fields.hpp"
#include "strategies/plan_fields.hpp"
#include "tests/validate/sample.hpp"

namespace orrery::validate {
namespace {

using nlohmann::json;
using test::mapped;
using test::reason;

strategies::Plan plan(const json& stated) { return mapped({{"scenario", stated}}).plan; }

TEST(StatedKeys, GoBeforeRules) {
    const strategies::Plan usual = mapped({}).plan;
    ASSERT_FALSE(usual.training.cross_entropy_fusion);
    ASSERT_EQ(usual.training.lora_rank, 0U);
    const strategies::Plan stated =
        plan({{"strategy", {{"cp_comm_type", "a2a"}, {"bucket_size", "40 MB"}}},
              {"training", {{"cross_entropy_loss_fusion", true}, {"lora_rank", 16}, {"clip_grad", 0.3}}}});
    EXPECT_EQ(stated.strategy.context_exchange, strategies::ContextExchange::a2a);
    EXPECT_EQ(stated.strategy.bucket_bytes, 40'000'000U);
    EXPECT_TRUE(stated.training.cross_entropy_fusion);
    EXPECT_EQ(stated.training.lora_rank, 16U);
    EXPECT_DOUBLE_EQ(stated.training.grad_clip, 0.3);
}

TEST(StatedKeys, LeaveTheRest) {
    const auto keys = [](const strategies::Plan& of) {
        return json{{"strategy", documents::write_fields(strategies::strategy_fields(), of.strategy)},
                    {"training", documents::write_fields(strategies::training_fields(), of.training)}};
    };
    const json usual = keys(mapped({}).plan);
    EXPECT_EQ(keys(plan(json::object())), usual);
    json stated = keys(plan({{"training", {{"lora_rank", 16}}}}));
    EXPECT_NE(stated, usual);
    stated["training"]["lora_rank"] = 0;
    EXPECT_EQ(stated, usual);
}

TEST(StatedKeys, WhatIsNoKeySkipsTheRow) {
    EXPECT_EQ(reason({{"scenario", "fast"}}), "scenario refused at /scenario");
    EXPECT_EQ(reason({{"scenario", {{"model", {{"num_hidden_layers", 2}}}}}}), "scenario refused at /scenario/model");
    EXPECT_EQ(reason({{"scenario", {{"training", {{"lora_rnak", 16}}}}}}),
              "scenario refused at /scenario/training/lora_rnak");
    EXPECT_EQ(reason({{"scenario", {{"training", {{"lora_rank", -1}}}}}}),
              "scenario refused at /scenario/training/lora_rank");
    EXPECT_EQ(reason({{"scenario", {{"strategy", {{"cp_comm_type", "carrier pigeon"}}}}}}),
              "scenario refused at /scenario/strategy/cp_comm_type");
}

}  // namespace
}  // namespace orrery::validate
