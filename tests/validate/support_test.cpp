// What is named as unsupported rather than predicted as something else.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/validate/sample.hpp"

namespace orrery::validate {

using nlohmann::json;
using test::reason;

TEST(Support, TheSampleItselfIsMapped) { EXPECT_EQ(reason(json::object()), ""); }

TEST(Support, ContradictionsAreLeftOut) {
    EXPECT_EQ(reason({{"flags", {"printed mesh does not multiply"}}}), "row contradicts itself (flags)");
    EXPECT_EQ(reason({{"flags", json::array()}}), "");
}

TEST(Support, OtherFamiliesAreNamed) {
    const auto family = [](const char* name) { return reason({{"model", {{"name", name}}}}); };
    EXPECT_EQ(family("gnmt-v2"), "model family not supported: gnmt");
    EXPECT_EQ(family("AmoebaNet-D(18,256)"), "model family not supported: amoebanet");
    EXPECT_EQ(family("U-Net(5,64)"), "model family not supported: u-net");
    EXPECT_EQ(reason({{"switches", {{"mamba-int-list", "[32 24 16]"}}}}),
              "elastic training of several widths at once is not supported");
    EXPECT_EQ(family("nemotron3-22b"), "");
}

TEST(Support, ExpertsAreNamed) {
    EXPECT_EQ(reason({{"model", {{"experts", 8}}}}), "model dimensions not published: topk");
    EXPECT_EQ(reason({{"ep", 4}}), "model dimensions not published: experts");
}

TEST(Support, OtherWorkIsNamed) {
    EXPECT_EQ(reason({{"switches", {{"task", "LoRA"}}}}), "");
    EXPECT_EQ(reason({{"switches", {{"task", "SFT"}}}}), "");
    EXPECT_EQ(reason({{"cp", 2}, {"dp", nullptr}}), "");
    EXPECT_EQ(reason({{"switches", {{"multi-latent-attention", true}}}}),
              "model dimensions not published: latent attention");
    EXPECT_EQ(reason({{"switches", {{"multi-latent-attention", false}}}}), "");
    EXPECT_EQ(reason({{"switches", {{"optimizer", "muon"}}}}), "");
    EXPECT_EQ(reason({{"switches", {{"optimizer", "Adam"}}}}), "");
    EXPECT_EQ(reason({{"switches", {{"offload", "full CPU offload"}}}}), "");
    EXPECT_EQ(reason({{"switches", {{"offload", "NVMe"}}}}), "offload is not supported");
    EXPECT_EQ(reason({{"switches", {{"Opt Offl", "Y"}}}}), "");
    EXPECT_EQ(reason({{"switches", {{"Opt Offl", "Y"}, {"Par Offl", "Y"}}}}), "");
    EXPECT_EQ(reason({{"switches", {{"Opt Offl", "N"}, {"Par Offl", "N"}, {"offload", "full CPU offload"}}}}), "");
    EXPECT_EQ(reason({{"switches", {{"PA_CPU", "Y"}}}}), "");
    EXPECT_EQ(reason({{"model", {{"name", "gpt:gpt3_mcore_te_tp2_pp1_modelopt_distill_resume"}}}}),
              "a second model teaches: distillation");
}

}  // namespace orrery::validate
