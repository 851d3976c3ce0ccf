// Rows of Transformer-XL.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/validate/sample.hpp"
#include "validate/carry.hpp"

namespace orrery::validate {

using nlohmann::json;
using test::mapped;
using test::reason;
using test::with;

namespace {

const json row = {{"model",
                   {{"name", "transformer-xl"},
                    {"layers", nullptr},
                    {"hidden", nullptr},
                    {"heads", nullptr},
                    {"ffn", nullptr},
                    {"seq", nullptr},
                    {"vocab", nullptr}}},
                  {"source", {{"repo", "NVIDIA/DeepLearningExamples"}, {"paper", nullptr}, {"address", nullptr}}},
                  {"switches", {{"framework", "PyTorch"}}},
                  {"precision", "mixed (fp16/AMP)"},
                  {"gpu", "A100-40GB"},
                  {"gpus", 8},
                  {"nodes", 1},
                  {"tp", 1},
                  {"pp", 1},
                  {"dp", 8},
                  {"mbs", 32},
                  {"gbs", nullptr}};

}  // namespace

TEST(MapRecurrent, TheHeadingSaysWhichModelItIs) {
    const auto under = [](const char* section) { return with(row, {{"switches", {{"section", section}}}}); };
    const strategies::Plan base = mapped(under("Training performance: NVIDIA DGX A100 / Base model")).plan;
    EXPECT_EQ(base.model.name, "transformer-xl-base");
    EXPECT_EQ(base.training.seq, 192U);
    EXPECT_EQ(base.training.global_batch, 256U);
    EXPECT_FALSE(base.training.fused_attention);
    EXPECT_EQ(base.training.optimizer, strategies::Optimizer::lamb);
    EXPECT_FALSE(base.training.fused_optimizer) << "TorchScript, parameter by parameter";
    const strategies::Plan large = mapped(under("DGX-1 / Large model")).plan;
    EXPECT_EQ(large.model.hidden, 1024U);
    EXPECT_EQ(large.training.seq, 384U);
    EXPECT_EQ(mapped(with(row, {{"model", {{"variant", "large"}}}})).plan.model.name, "transformer-xl-large");
    EXPECT_EQ(reason(row), "model dimensions not published: base or large");
    EXPECT_EQ(reason(with(row, {{"model", {{"variant", "xl"}}}})),
              "model family not supported: another transformer-xl");
}

/// The heading itself is prose that is not carried.
TEST(MapRecurrent, TheVariantIsCarried) {
    const json whole = {{"source", "s"},
                        {"rows",
                         {{{"id", "r"},
                           {"model", {{"name", "transformer-xl"}}},
                           {"switches", {{"section", "Training / Base model"}}}}}}};
    const json again = json::parse(carried(parse_rows(whole.dump(), "s.json")));
    EXPECT_EQ(again["rows"][0]["model"]["variant"], "base");
    EXPECT_FALSE(again["rows"][0].contains("switches") && again["rows"][0]["switches"].contains("section"));
}

}  // namespace orrery::validate
