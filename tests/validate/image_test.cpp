// Rows of networks over images.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/validate/sample.hpp"

namespace orrery::validate {

using nlohmann::json;
using strategies::KernelFusion;
using test::mapped;
using test::reason;
using test::with;

namespace {

const json resnet = {{"model",
                      {{"name", "resnet50-v1.5"},
                       {"layers", nullptr},
                       {"hidden", nullptr},
                       {"heads", nullptr},
                       {"ffn", nullptr},
                       {"seq", nullptr},
                       {"vocab", nullptr}}},
                     {"source", {{"repo", "Oneflow-Inc/DLPerf"}, {"paper", nullptr}, {"address", nullptr}}},
                     {"switches", {{"framework", "OneFlow"}}},
                     {"gpu", "V100-SXM2-16GB"},
                     {"node", "8 V100 hybrid cube mesh"},
                     {"gpus", 8},
                     {"nodes", 1},
                     {"tp", 1},
                     {"dp", 8},
                     {"mbs", 256},
                     {"gbs", 2048}};

strategies::Plan plan(const json& patch) { return mapped(with(resnet, patch)).plan; }

KernelFusion fusion(const char* framework, const char* precision) {
    return plan({{"switches", {{"framework", framework}}}, {"precision", precision}}).training.kernel_fusion;
}

}  // namespace

TEST(MapImage, AResNetIsTheCatalogsOnImagesWithoutALength) {
    const strategies::Plan of = plan({});
    EXPECT_EQ(of.model.name, "resnet-50");
    EXPECT_EQ(of.model.image.size, 224U);
    EXPECT_EQ(of.training.seq, 1U);
    EXPECT_EQ(of.training.micro_batch, 256U);
    EXPECT_EQ(of.training.grad_clip, 0);
    EXPECT_TRUE(of.strategy.overlap_grad_reduce);
    EXPECT_NO_THROW(strategies::validate(of));
    EXPECT_EQ(plan({{"model", {{"name", "ResNet-101"}}}}).model.name, "resnet-101");
}

TEST(MapImage, OtherDepthsClassifiersAndBatchesAreNamed) {
    const auto named = [](const char* name) { return reason(with(resnet, {{"model", {{"name", name}}}})); };
    EXPECT_EQ(named("resnet-18"), "model family not supported: resnet of another depth");
    EXPECT_EQ(named("resnet500"), "model family not supported: resnet of another depth");
    EXPECT_EQ(named("ResNet50 DP + FC split, 1M classes"),
              "model family not supported: resnet with another classifier");
    EXPECT_EQ(named("ResNet50 hardware-aware DP over equal batch"), "unequal batches are not supported");
    EXPECT_EQ(named("ResNet50 data parallel, Whale"), "");
}

TEST(MapImage, NormsAreFusedWhereTheFrameworkDoes) {
    EXPECT_EQ(fusion("OneFlow", "fp16 AMP"), KernelFusion::full);
    EXPECT_EQ(fusion("OneFlow", "fp32"), KernelFusion::operators);
    EXPECT_EQ(fusion("NGC MXNet", "fp16 AMP"), KernelFusion::full);
    EXPECT_EQ(fusion("MXNet", "fp16 AMP"), KernelFusion::operators);  // Gluon
    EXPECT_EQ(fusion("NGC PyTorch", "fp16 AMP"), KernelFusion::operators);
    EXPECT_EQ(fusion("TensorFlow 2.x", "fp16 AMP"), KernelFusion::full);
    EXPECT_EQ(fusion("TensorFlow 2.x", "fp32"), KernelFusion::operators);
    EXPECT_EQ(fusion("NGC TensorFlow 1.x w/XLA bsz=224", "fp32"), KernelFusion::full);
    EXPECT_EQ(fusion("PaddlePaddle w/DALI", "fp16 AMP"), KernelFusion::full);
}

TEST(MapImage, ChannelsComeFirstWhereNoCodePutsThemLast) {
    using strategies::MemoryFormat;
    const auto format = [](const char* framework, const char* precision, const char* repo = "Oneflow-Inc/DLPerf") {
        const json patch = {
            {"switches", {{"framework", framework}}}, {"precision", precision}, {"source", {{"repo", repo}}}};
        return plan(patch).training.memory_format;
    };
    EXPECT_EQ(format("NGC PyTorch", "fp16 AMP"), MemoryFormat::channels_first) << "without --memory-format nhwc";
    EXPECT_EQ(format("MXNet", "fp16 AMP"), MemoryFormat::channels_first) << "Gluon";
    EXPECT_EQ(format("PyTorch", "fp16 AMP", "NVIDIA/DeepLearningExamples"), MemoryFormat::channels_last);
    EXPECT_EQ(format("PyTorch", "tf32", "NVIDIA/DeepLearningExamples"), MemoryFormat::channels_first);
    EXPECT_EQ(format("TensorFlow", "tf32", "NVIDIA/DeepLearningExamples"), MemoryFormat::channels_first);
    for (const char* last : {"OneFlow", "NGC MXNet", "TensorFlow 2.x", "PaddlePaddle w/DALI"})
        EXPECT_EQ(format(last, "fp16 AMP"), MemoryFormat::channels_last) << last;
}

TEST(MapImage, NvidiasExamplesSayTheirBatch) {
    const json example = {{"source", {{"repo", "NVIDIA/DeepLearningExamples"}}},
                          {"switches", {{"framework", "PyTorch"}}},
                          {"node", "NVIDIA DGX-1 16GB (8x V100 16GB)"},
                          {"mbs", nullptr},
                          {"gbs", nullptr}};
    EXPECT_EQ(plan(example).training.micro_batch, 256U);
    EXPECT_EQ(plan(with(example, {{"precision", "fp32"}})).training.micro_batch, 112U);
    EXPECT_EQ(plan(with(example, {{"precision", "fp32"}, {"node", "NVIDIA DGX-2"}})).training.micro_batch, 256U);
    EXPECT_EQ(reason(with(with(resnet, example), {{"source", {{"repo", "Oneflow-Inc/DLPerf"}}}})),
              "batch not published");
    const json both = with(example, {{"mbs", "128 (FP32) / 256 (AMP)"}});
    EXPECT_EQ(plan(both).training.micro_batch, 256U);  // the digits of FP32 are none of its numbers
    EXPECT_EQ(plan(with(both, {{"precision", "fp32"}})).training.micro_batch, 128U);
}

}  // namespace orrery::validate
