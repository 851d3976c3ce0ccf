// Models of images, and collectives in parts, through the command line.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/cli/predictions.hpp"

namespace orrery::cli {
namespace {

using Json = nlohmann::json;

double step_of(const Json& prediction) { return prediction["step_time_s"].get<double>(); }

TEST(Vision, ATransformerOverPatchesCountsImages) {
    const Result text = orrery({"simulate", "vit-h14-dgx-a100"});
    EXPECT_EQ(text.exit, 0) << text.err;
    expect_words(text.out, {"batch 4,096 x 257 tokens", "images/s"});
    const Json prediction = predicted("vit-h14-dgx-a100");
    EXPECT_NEAR(prediction["tokens_per_s"].get<double>() * step_of(prediction), 4096, 1e-6) << "images";
    const Json pipeline = predicted("vit-h14-dgx-a100", {"strategy.tensor=1", "strategy.pipeline=4", "strategy.data=2",
                                                         "training.micro_batch_size=32"});
    EXPECT_GT(step_of(pipeline), 0);
    const Json full = predicted("vit-h14-dgx-a100", {"strategy.recompute=full"});
    EXPECT_GT(step_of(full), step_of(prediction));
    EXPECT_LT(full["memory_bytes"][0]["peak"], prediction["memory_bytes"][0]["peak"]);
}

/// Twice the side, four times the patches.
TEST(Vision, LargerImagesAreGivenBySizeAndTokens) {
    const Json larger = predicted("vit-h14-dgx-a100",
                                  {"model.image_size=448", "training.seq_length=1025", "training.micro_batch_size=16"});
    EXPECT_GT(step_of(larger), 4 * step_of(predicted("vit-h14-dgx-a100")));
    const Result wrong = orrery({"simulate", "vit-h14-dgx-a100", "--set", "model.image_size=448"});
    EXPECT_EQ(wrong.exit, 2);
    expect_words(wrong.err, {"/training/seq_length: 257, but an image is 1025 tokens of vit-h14", "set it to 1025"});
}

TEST(Vision, AModelByItsFields) {
    const Json prediction = predicted(
        "vit-h14-dgx-a100",
        {R"(model={"model_type": "vit", "num_hidden_layers": 12, "hidden_size": 768, "num_attention_heads": 12,
                   "vocab_size": 1000, "image_size": 224, "patch_size": 16})",
         "training.seq_length=197"});
    EXPECT_DOUBLE_EQ(
        step_of(prediction),
        step_of(predicted("vit-h14-dgx-a100", {"model={\"name\": \"vit-b16\"}", "training.seq_length=197"})));
}

TEST(Vision, ImagesBesideTexts) {
    const Json prediction = predicted("clip-vit-l14-superpod-a100");
    EXPECT_NEAR(prediction["tokens_per_s"].get<double>() * step_of(prediction), 32'768, 1e-6) << "pairs";
    EXPECT_TRUE(prediction["fits"]);
    const Result parts = orrery({"simulate", "clip-vit-l14-superpod-a100", "--set", "training.micro_batch_size=64"});
    EXPECT_EQ(parts.exit, 2);
    expect_words(parts.err, {"/training/global_batch_size: 2 micro-batches", "raise micro_batch_size to 128"});
}

TEST(Vision, ARunRefusesImagesByKey) {
    const Result run = orrery({"run", "vit-h14-dgx-a100"});
    EXPECT_EQ(run.exit, 2);
    expect_words(run.err, {"/model/patch_size: vit-h14, a Transformer over patches of images, cannot be executed yet"});
}

const std::string gpt = "gpt-22b-superpod-h100";

/// Long sequences hide what ranks exchange. Of short ones, 256 tokens a rank, products in parts take longer than what
/// they hide, and the host takes a turn of a loop for each.
TEST(TensorOverlap, HidesWhatTensorRanksExchangeOfLongSequences) {
    const auto step = [](const char* tokens, const char* overlap) {
        return predicted(
            gpt, {std::string("training.seq_length=") + tokens, std::string("model.max_position_embeddings=") + tokens,
                  std::string("strategy.tp_comm_overlap=") + overlap});
    };
    const Json whole = step("8192", "false"), parts = step("8192", "true");
    EXPECT_LT(step_of(parts), step_of(whole));
    EXPECT_GT(step_of(parts), 0.8 * step_of(whole)) << "only collectives can hide";
    EXPECT_NEAR(parts["model_tflops_per_gpu"].get<double>() * step_of(parts),
                whole["model_tflops_per_gpu"].get<double>() * step_of(whole), 1e-6);
    EXPECT_GT(parts["memory_bytes"][0]["peak"], whole["memory_bytes"][0]["peak"]) << "its buffers";
    EXPECT_GT(step_of(step("2048", "true")), step_of(step("2048", "false")));
}

TEST(TensorOverlap, KeysAreCheckedAndARunRefusesThem) {
    const Result alone = orrery(
        {"simulate", gpt, "--set", "strategy.sequence_parallel=false", "--set", "strategy.tp_comm_overlap=true"});
    EXPECT_EQ(alone.exit, 2);
    expect_words(alone.err, {"/strategy/tp_comm_overlap: true, but tensor ranks sum whole tensors"});
    const Result run =
        orrery({"run", "scenarios/gpt-tiny-cpu.json", "--set", "strategy.tensor=2", "--set", "strategy.data=null",
                "--set", "strategy.sequence_parallel=true", "--set", "strategy.tp_comm_overlap=true"});
    EXPECT_EQ(run.exit, 2);
    expect_words(run.err, {"/strategy/tp_comm_overlap: collectives in parts beside products cannot be executed yet"});
}

}  // namespace
}  // namespace orrery::cli
