// A model alone, trained as --set says.
#include <gtest/gtest.h>

#include "base/read_file.hpp"
#include "tests/doors/importing.hpp"

namespace orrery::doors {
namespace {

Request on_h100() {
    Request request;
    request.gpu = "H100";
    request.gpus = 64;
    return request;
}

TEST(HuggingFace, TakesTheModelWhole) {
    const Imported read =
        imported("hf", read_file("scenarios/models/llama3-8b.json"), on_h100(),
                 {"training.seq_length=8192", "training.global_batch_size=128", "strategy.sharding=zero3"});
    ASSERT_FALSE(read.refused()) << refusals(read);
    EXPECT_EQ(at(read, "/model/hidden_size"), 4096);
    EXPECT_EQ(at(read, "/model/num_key_value_heads"), 8);
    EXPECT_EQ(at(read, "/strategy/sharding"), "zero3");
    EXPECT_EQ(at(read, "/cluster/nodes"), 8);
}

TEST(HuggingFace, KnowsHowManyTokensAnImageIs) {
    const std::vector<std::string> batch{"training.global_batch_size=4096"};
    const Imported vit = imported("hf", read_file("scenarios/models/vit-b16.json"), on_h100(), batch);
    ASSERT_FALSE(vit.refused()) << refusals(vit);
    EXPECT_EQ(at(vit, "/training/seq_length"), 197);
    EXPECT_EQ(at(vit, "/training/decoder_seq"), nullptr);
    const Imported clip = imported("hf", read_file("scenarios/models/clip-vit-l14.json"), on_h100(),
                                   {"training.global_batch_size=4096", "training.micro_batch_size=64"});
    ASSERT_FALSE(clip.refused()) << refusals(clip);
    EXPECT_EQ(at(clip, "/training/seq_length"), 257);
    EXPECT_EQ(at(clip, "/training/decoder_seq"), 77);
    EXPECT_EQ(at(clip, "/model/text_hidden_size"), 768);
}

TEST(HuggingFace, AsksForTheTraining) {
    const Imported read = imported("hf", read_file("scenarios/models/gpt2.json"), on_h100());
    EXPECT_TRUE(says(read, Verdict::refused, "no sequence length")) << refusals(read);
    EXPECT_TRUE(says(read, Verdict::refused, "no batch size"));
}

TEST(HuggingFace, SaysWhatIsWrongWithTheModelAndWithTheRest) {
    const Imported read = imported("hf", R"({"model_type": "mamba"})", {}, {"training.seq_len=1"});
    EXPECT_TRUE(says(read, Verdict::refused, "/model_type")) << refusals(read);
    EXPECT_TRUE(says(read, Verdict::refused, "on which GPUs"));
    EXPECT_TRUE(says(read, Verdict::refused, "on how many GPUs"));
    EXPECT_TRUE(says(read, Verdict::refused, "no batch size"));
}

}  // namespace
}  // namespace orrery::doors
