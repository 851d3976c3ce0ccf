// "profile" of clusters with one and with several kinds of GPU.
#include "scenarios/gpu_profiles.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "scenarios/scenario.hpp"
#include "tests/scenarios/bad_scenarios.hpp"
#include "tests/scenarios/expect_error.hpp"

namespace orrery::scenarios {
namespace {

using nlohmann::json;

Scenario read(const json& profile, std::vector<std::string> more = {"2 x H100"}) {
    json document = sound_scenario();
    document["cluster"] = {{"preset", "dgx-a100"}, {"nodes", 2}};
    if (!more.empty()) document["cluster"]["more_nodes"] = std::move(more);
    document["strategy"] = {{"tensor", 2}};
    document["training"]["precision"] = "bf16";
    document["training"]["global_batch_size"] = 96;
    if (!profile.is_null()) document["profile"] = profile;
    return from_json(document, "folder/x.json");
}

using Map = std::map<std::string, std::string>;

TEST(GpuProfiles, EveryGpuHasItsOwnUnlessNamed) {
    EXPECT_EQ(read({}).profile, "a100");
    EXPECT_EQ(read({}).more_profiles, (Map{{"H100-SXM5-80GB", "h100"}}));
    const Scenario named = read({{"H100", "mine.json"}, {"A100-80GB", "h200"}});
    EXPECT_EQ(named.profile, "h200");
    EXPECT_EQ(named.more_profiles, (Map{{"H100-SXM5-80GB", "folder/mine.json"}}));
    EXPECT_EQ(read({{"A100", "h200"}}, {}).profile, "h200") << "an object is legal with one kind too";
    EXPECT_TRUE(read({{"A100", "h200"}}, {}).more_profiles.empty());
}

TEST(GpuProfiles, OneTextIsForBoardsOfOneChip) {
    EXPECT_EQ(read("mine.json", {"1 x A100-40GB"}).more_profiles, (Map{{"A100-SXM4-40GB", "folder/mine.json"}}));
    expect_error([] { (void)read("a100"); }, "/profile", "would time both A100-SXM4-80GB and H100-SXM5-80GB",
                 R"({"A100-SXM4-80GB": "a100", "H100-SXM5-80GB": "h100"})");
}

TEST(GpuProfiles, RefusesGpusThatAreNotThere) {
    expect_error([] { (void)read({{"V100", "v100"}}); }, "/profile/V100", "no V100-SXM2-16GB", "A100-SXM4-80GB");
    expect_error([] { (void)read({{"H1000", "h100"}}); }, "/profile/H1000", "unknown GPU", "H100");
    expect_error(
        [] {
            (void)read({{"H100", "h100"}, {"H100-80GB", "h200"}});
        },
        "/profile/H100-80GB", "the same GPU", "keep one");
}

TEST(GpuProfiles, EveryKindMustOfferThePrecision) {
    json document = sound_scenario();
    document["cluster"] = {{"preset", "dgx-h100"}, {"nodes", 1}, {"more_nodes", {"1 x A100-80GB"}}};
    document["strategy"] = {{"tensor", 2}};
    document["training"]["precision"] = "fp8";
    expect_error([&] { (void)from_json(document, "x.json"); }, "/training/precision", "A100-SXM4-80GB has no fp8",
                 "bf16");
}

TEST(GpuProfiles, MxFp8IsBlackwells) {
    json document = sound_scenario();
    document["cluster"] = {{"preset", "dgx-h100"}, {"nodes", 4}};
    document["training"]["precision"] = "fp8";
    EXPECT_NO_THROW((void)from_json(document, "x.json"));
    document["training"]["fp8_recipe"] = "mxfp8";
    expect_error([&] { (void)from_json(document, "x.json"); }, "/training/fp8_recipe",
                 "H100-SXM5-80GB has no tensor cores for mxfp8 (NVIDIA H100 SXM datasheet)", "blockwise");
    document["cluster"]["preset"] = "hgx-b200";
    EXPECT_NO_THROW((void)from_json(document, "x.json"));
    document["cluster"]["preset"] = "pcie-rtx-pro-6000";
    expect_error([&] { (void)from_json(document, "x.json"); }, "/training/fp8_recipe",
                 "RTX-PRO-6000 has tensor cores for mxfp8 that Transformer Engine does not use", "tensorwise");
}

TEST(GpuProfiles, InstinctHasAttentionOfItsOwn) {
    json document = sound_scenario();
    document["cluster"] = {{"preset", "mi355x"}, {"nodes", 4}};
    document["training"]["precision"] = "fp8";
    document["training"]["attention_kernel"] = "aotriton";
    EXPECT_EQ(from_json(document, "x.json").plan.training.attention_kernel, hardware::AttentionKernel::flash_triton);
    for (const char* const kernel : {"aiter", "composable-kernel", "flash-2"}) {
        document["training"]["attention_kernel"] = kernel;
        EXPECT_NO_THROW((void)from_json(document, "x.json")) << kernel;
    }
    document["training"]["attention_kernel"] = "cudnn-9.17";
    expect_error([&] { (void)from_json(document, "x.json"); }, "/training/attention_kernel", "MI355X has no cuDNN",
                 "aotriton");
    document["training"].erase("attention_kernel");
    document["training"]["fp8_recipe"] = "mxfp8";
    expect_error([&] { (void)from_json(document, "x.json"); }, "/training/fp8_recipe", "of which no times are known",
                 "tensorwise");
    document["training"].erase("fp8_recipe");
    document["training"]["precision"] = "fp4";
    expect_error([&] { (void)from_json(document, "x.json"); }, "/training/precision",
                 "has units for fp4, of which no times are known", "fp8");
    document["cluster"]["preset"] = "frontier";
    document["training"]["precision"] = "fp8";
    expect_error([&] { (void)from_json(document, "x.json"); }, "/training/precision", "MI250X has no fp8 matrix cores",
                 "bf16");
}

/// scaled_dot_product_attention is AOTriton's there, what DeepSpeed's users install beside it Composable Kernel's.
TEST(GpuProfiles, InstinctHasPytorchsOwnAttentionUnlessTold) {
    using enum hardware::AttentionKernel;
    json document = sound_scenario();
    const auto kernel = [&](const char* preset, const char* software) {
        document["cluster"] = {{"preset", preset}, {"nodes", 4}};
        document["training"]["software"] = software;
        return from_json(document, "x.json").plan.training.attention_kernel;
    };
    EXPECT_EQ(kernel("mi300x", "pytorch"), flash_triton);
    EXPECT_EQ(kernel("mi300x", "deepspeed"), flash_2);
    EXPECT_EQ(kernel("mi300x", "megatron-lm"), newest);
    EXPECT_EQ(kernel("dgx-h100", "pytorch"), flash_2);
    document["training"]["attention_kernel"] = "aotriton";
    expect_error([&] { (void)kernel("dgx-h100", "pytorch"); }, "/training/attention_kernel",
                 "has none of AMD's kernels (aotriton)", "flash-2");
}

/// Of all kinds of GPU that a cluster has.
TEST(GpuProfiles, BlackwellTakesFp8InEitherOrder) {
    const auto either = [](json cluster) {
        json document = sound_scenario();
        document["cluster"] = std::move(cluster);
        document["training"]["precision"] = "fp8";
        return from_json(document, "x.json").plan.fp8_either_order;
    };
    EXPECT_FALSE(either({{"preset", "dgx-h100"}, {"nodes", 4}}));
    EXPECT_TRUE(either({{"preset", "hgx-b200"}, {"nodes", 4}}));
    EXPECT_FALSE(either({{"preset", "hgx-b200"}, {"nodes", 3}, {"more_nodes", {"1 x H100"}}}));
}

TEST(GpuProfiles, ChipsHaveNothingOfCuda) {
    json document = sound_scenario();
    document["cluster"] = {{"preset", "tpu-v4"}, {"nodes", 16}};
    document["strategy"] = {{"tensor", 2}};
    document["training"]["precision"] = "bf16";
    document["training"].erase("cuda_graph");
    EXPECT_NO_THROW((void)from_json(document, "x.json"));
    const auto refused = [&](const char* key, const json& value, const char* what, const char* remedy) {
        json with = document;
        with["training"][key] = value;
        expect_error([&] { (void)from_json(with, "x.json"); }, std::string("/training/") + key, what, remedy);
    };
    refused("cuda_graph", true, "TPU-v4 runs programs that are compiled whole", "leave cuda_graph out");
    refused("attention_kernel", "flash-2", "none of the generations", "leave attention_kernel out");
    refused("precision", "fp32", "TPU-v4 has no fp32 products", "bf16");
}

}  // namespace
}  // namespace orrery::scenarios
