// NeMo's configurations.
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "base/read_file.hpp"
#include "doors/documents/interpolation.hpp"
#include "tests/doors/importing.hpp"

namespace orrery::doors {
namespace {

Imported read(const std::string& text) {
    Request request;
    request.gpu = "A100";
    return imported("nemo", text, request);
}

const std::string small = R"(
trainer: {num_nodes: 2, devices: 8, precision: bf16-mixed}
model:
  mcore_gpt: true
  micro_batch_size: 1
  global_batch_size: 64
  encoder_seq_length: 2048
  max_position_embeddings: 2048
  num_layers: 24
  hidden_size: 2048
  num_attention_heads: 16
  tokenizer: {library: megatron, type: GPT2BPETokenizer}
)";

TEST(NeMo, ReadsTheExample) {
    const Imported job = read(read_file("doors/examples/gpt3-5b.yaml"));
    ASSERT_FALSE(job.refused()) << refusals(job);
    EXPECT_EQ(at(job, "/model/intermediate_size"), 16384) << "${multiply:4, ${.hidden_size}}";
    EXPECT_EQ(at(job, "/model/max_position_embeddings"), 2048);
    EXPECT_EQ(at(job, "/strategy/tensor"), 2);
    EXPECT_EQ(at(job, "/strategy/data"), 64);
    EXPECT_EQ(at(job, "/strategy/sharding"), "zero1");
    EXPECT_EQ(at(job, "/strategy/overlap_grad_reduce"), true);
    EXPECT_EQ(at(job, "/strategy/overlap_param_gather"), nullptr);
    EXPECT_EQ(at(job, "/cluster/nodes"), 16);
    EXPECT_EQ(at(job, "/training/precision"), "bf16");
}

TEST(NeMo, TakesAVocabularysSizeWhereItsTokenizerIsNotKnown) {
    std::string own = small;
    own.replace(own.find("{library: megatron, type: GPT2BPETokenizer}"), 43,
                "{library: sentencepiece, model: own.model, vocab_size: 32000}");
    EXPECT_EQ(at(read(own), "/model/vocab_size"), 32000) << refusals(read(own));
    EXPECT_EQ(at(read(own + "  make_vocab_size_divisible_by: 64\n"), "/model/make_vocab_size_divisible_by"), 64);
    own.replace(own.find(", vocab_size: 32000"), 19, "");
    EXPECT_TRUE(says(read(own), Verdict::refused, "the size of this tokenizer's vocabulary"));
}

TEST(NeMo, ReadsLayersThatRunAgainAsMegatronDoes) {
    const auto with = [](const char* method, int layers) {
        return read(small + "  activations_checkpoint_granularity: full\n  activations_checkpoint_method: " + method +
                    "\n  activations_checkpoint_num_layers: " + std::to_string(layers) + '\n');
    };
    EXPECT_EQ(at(with("block", 5), "/strategy/recompute_num_layers"), 5);
    EXPECT_EQ(at(with("block", 24), "/strategy/recompute_num_layers"), nullptr) << "all of them";
    EXPECT_EQ(at(with("block", 0), "/strategy/recompute"), "none");
    EXPECT_EQ(at(with("uniform", 1), "/strategy/recompute"), "full");
    EXPECT_TRUE(says(with("uniform", 2), Verdict::not_modelled, "activations_checkpoint_num_layers"));
}

TEST(NeMo, ReadsDropouts) {
    const Imported alone = read(small + "  hidden_dropout: 0.1\n  attention_dropout: 0.0\n");
    EXPECT_EQ(at(alone, "/training/dropout"), 0.1) << refusals(alone);
    EXPECT_EQ(at(alone, "/model/hidden_dropout_alone"), true);
}

TEST(NeMo, ReadsFullSharding) {
    const Imported full = read(small + "  fsdp: true\n");
    EXPECT_EQ(at(full, "/strategy/sharding"), "zero3") << refusals(full);
    EXPECT_EQ(at(full, "/strategy/fsdp_implementation"), "fsdp1");
    EXPECT_EQ(at(full, "/strategy/fsdp_reshard_after_forward"), nullptr);
    const Imported grad = read(small + "  fsdp: true\n  fsdp_sharding_strategy: grad\n");
    EXPECT_EQ(at(grad, "/strategy/fsdp_reshard_after_forward"), false) << refusals(grad);
    EXPECT_TRUE(says(read(small + "  fsdp: true\n  fsdp_sharding_strategy: hybrid\n"), Verdict::refused,
                     "how many ranks share is not said here"));
}

TEST(NeMo, ReadsHowWeightsAreKeptInFp8) {
    const Imported job = read(small + "  fp8: true\n  fp8_params: true\n  disable_parameter_transpose_cache: true\n");
    EXPECT_EQ(at(job, "/training/fp8_param_gather"), true) << refusals(job);
    EXPECT_EQ(at(job, "/training/disable_parameter_transpose_cache"), true);
    EXPECT_EQ(at(read(small + "  fp8_params: true\n"), "/training/fp8_param_gather"), nullptr) << "of bf16";
}

TEST(NeMo, ReadsWhoseLayersRun) {
    for (const char* key : {"  transformer_engine: true\n", "  fp8: true\n"})
        EXPECT_EQ(at(read(small + key), "/training/software"), "transformer-engine") << key;
    EXPECT_EQ(at(read(small), "/training/software"), nullptr) << "NeMo's own";
}

TEST(NeMo, ReadsLlamasWords) {
    const Imported job = read(small +
                              "  activation: fast-swiglu\n  bias: false\n  normalization: rmsnorm\n"
                              "  position_embedding_type: rope\n  share_embeddings_and_output_weights: false\n"
                              "  num_query_groups: 8\n  ffn_hidden_size: 5504\n  hidden_dropout: 0.0\n"
                              "  fp8: true\n  sequence_parallel: true\n");
    EXPECT_EQ(at(job, "/model/swiglu"), true) << refusals(job);
    EXPECT_EQ(at(job, "/model/add_qkv_bias"), false);
    EXPECT_EQ(at(job, "/model/normalization"), "rmsnorm");
    EXPECT_EQ(at(job, "/model/tie_word_embeddings"), false);
    EXPECT_EQ(at(job, "/model/num_key_value_heads"), 8);
    EXPECT_EQ(at(job, "/strategy/sequence_parallel"), false) << "of one tensor rank";
    EXPECT_EQ(at(job, "/training/precision"), "fp8");
}

TEST(NeMo, ReadsASquaredRelu) {
    const Imported job = read(small + "  activation: squared-relu\n  bias: false\n");
    EXPECT_EQ(at(job, "/model/hidden_act"), "relu2") << refusals(job);
    EXPECT_EQ(at(job, "/model/swiglu"), false);
    EXPECT_EQ(at(job, "/training/bias_activation_fusion"), false) << "which is PyTorch's operators there";
}

/// Where sequences are packed the file does not say of what.
TEST(NeMo, SaysThatPackedDocumentsAreTimedAsWholeSequences) {
    const Imported packed = read(small + "  data: {train_ds: {packed_sequence: true}}\n");
    EXPECT_FALSE(packed.refused()) << refusals(packed);
    EXPECT_TRUE(says(packed, Verdict::not_modelled, "/model/data/train_ds/packed_sequence"));
    EXPECT_EQ(at(packed, "/training/document_length"), nullptr);
    const Imported whole = read(small + "  data: {train_ds: {packed_sequence: false}, reset_attention_mask: false}\n");
    EXPECT_FALSE(says(whole, Verdict::not_modelled, "/model/data/train_ds/packed_sequence"));
    EXPECT_FALSE(says(whole, Verdict::not_modelled, "/model/data/reset_attention_mask"));
}

TEST(NeMo, NamesKeysByTheirPointers) {
    const Imported job = read(small + "  context_parallel_size: two\n  sharp: true\n  made_up: 3\n  hidden: 1\n");
    EXPECT_TRUE(says(job, Verdict::refused, "/model/context_parallel_size")) << refusals(job);
    EXPECT_TRUE(says(job, Verdict::not_modelled, "/model/sharp"));
    EXPECT_TRUE(says(job, Verdict::unknown, "/model/made_up"));
    EXPECT_TRUE(says(read("model: {encoder: {num_layers: 12}}\n"), Verdict::refused, "encoder-decoders"));
}

TEST(NeMo, RefusesWhatIsNoYamlAndEndlessAliases) {
    EXPECT_THROW((void)read("model: [1, 2"), Error);
    EXPECT_THROW((void)read("- 1\n- 2\n"), Error);
    std::string laughs = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
    for (int i = 1; i < 10; ++i) {
        laughs += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
        for (int k = 0; k < 10; ++k) laughs += (k > 0 ? ", *a" : "*a") + std::to_string(i - 1);
        laughs += "]\n";
    }
    EXPECT_THROW((void)read(laughs), Error);
    EXPECT_THROW((void)read(std::string(5000, '[')), Error);
}

TEST(Interpolation, FollowsNamesAndReckons) {
    auto document = nlohmann::ordered_json::parse(R"({"a": {"b": 8, "c": "${.b}", "d": "${multiply:4, ${.b}}",
        "e": "${divide_ceil:${a.b}, 3}", "f": "${oc.env:HOME}", "g": "${.missing}", "h": "${..top}", "i": "x${.b}"},
        "top": 5, "loop": "${loop}"})");
    interpolate(document);
    EXPECT_EQ(document["a"]["c"], 8);
    EXPECT_EQ(document["a"]["d"], 32);
    EXPECT_EQ(document["a"]["e"], 3);
    EXPECT_EQ(document["a"]["f"], "${oc.env:HOME}");
    EXPECT_EQ(document["a"]["g"], "${.missing}");
    EXPECT_EQ(document["a"]["h"], 5);
    EXPECT_EQ(document["a"]["i"], "x${.b}");
    EXPECT_EQ(document["loop"], "${loop}");
}

}  // namespace
}  // namespace orrery::doors
