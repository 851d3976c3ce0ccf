// DeepSpeed's configurations.
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "base/read_file.hpp"
#include "tests/doors/importing.hpp"

namespace orrery::doors {
namespace {

Request on(std::uint64_t gpus) {
    Request request;
    request.gpu = "A100";
    request.gpus = gpus;
    return request;
}

const std::vector<std::string> gpt2{"model.name=gpt2", "training.seq_length=1024"};

TEST(DeepSpeed, ReadsBatchesPrecisionAndSharding) {
    Request request = on(64);
    request.model = "scenarios/models/llama2-7b.json";
    const Imported read =
        imported("deepspeed", read_file("doors/examples/ds_zero2.json"), request, {"training.seq_length=2048"});
    ASSERT_FALSE(read.refused()) << refusals(read);
    EXPECT_EQ(at(read, "/strategy/sharding"), "zero2");
    EXPECT_EQ(at(read, "/strategy/overlap_grad_reduce"), true);
    EXPECT_EQ(at(read, "/strategy/bucket_size"), "400000000 B");
    EXPECT_EQ(at(read, "/training/micro_batch_size"), 4);
    EXPECT_EQ(at(read, "/training/global_batch_size"), 256);
    EXPECT_EQ(at(read, "/training/precision"), "bf16");
    EXPECT_EQ(at(read, "/model/hidden_size"), 4096);
    for (const char* one : {"fused_rms_norm", "fuse_attention_qkv", "fuse_attention_ffn"})
        EXPECT_EQ(at(read, std::string("/training/") + one), false) << one << ": as transformers writes a Llama";
    EXPECT_EQ(at(read, "/training/cross_entropy"), "torch");
}

/// runtime/engine.py, get_data_types: with ZeRO as what is trained, where nothing else is said.
TEST(DeepSpeed, SumsGradientsInTheFormatThatIsTrained) {
    const auto sums = [](const std::string& keys) {
        return at(
            imported("deepspeed", R"({"train_micro_batch_size_per_gpu": 2, "bf16": {"enabled": true})" + keys + "}",
                     on(8), gpt2),
            "/training/grad_reduce_precision");
    };
    EXPECT_EQ(sums(""), nullptr) << "fp32, as scenarios have it";
    EXPECT_EQ(sums(R"(, "zero_optimization": {"stage": 2})"), "bf16");
    EXPECT_EQ(sums(R"(, "zero_optimization": {"stage": 3}, "data_types": {"grad_accum_dtype": "fp32"})"), "fp32");
}

/// Keys of a section that changes nothing are known by its name alone, but for those that are nearly one that does.
TEST(DeepSpeed, NamesWhatIsNearlyAKeyThatMatters) {
    const auto with = [](const std::string& key) {
        return imported("deepspeed",
                        R"({"train_micro_batch_size_per_gpu": 2, "bf16": {"enabled": true},
                            "zero_optimization": {"stage": 2, ")" +
                            key + R"(": true}})",
                        on(8), gpt2);
    };
    EXPECT_TRUE(says(with("reduce_scater"), Verdict::unknown, "reduce_scater"));
    EXPECT_TRUE(says(with("zero_quantised_weights"), Verdict::unknown, "zero_quantised_weights"));
    EXPECT_FALSE(says(with("round_robin_gradients"), Verdict::unknown, "round_robin_gradients"));
}

TEST(DeepSpeed, MultipliesAccumulatedMicroBatches) {
    const Imported read = imported(
        "deepspeed",
        R"({"train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 4, "fp16": {"enabled": true}})", on(8),
        gpt2);
    ASSERT_FALSE(read.refused()) << refusals(read);
    EXPECT_EQ(at(read, "/training/global_batch_size"), 64);
    EXPECT_EQ(at(read, "/training/precision"), "fp16");
    EXPECT_EQ(at(read, "/training/clip_grad"), 0);
}

/// DeepSpeed ends with an assertion (runtime/config.py, _batch_assertion).
TEST(DeepSpeed, RefusesBatchesThatContradictEachOther) {
    const auto read = [](const char* batch) {
        return imported("deepspeed",
                        std::string(R"({"train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 4,
                                        "bf16": {"enabled": true}, "train_batch_size": )") +
                            batch + "}",
                        on(8), gpt2);
    };
    EXPECT_FALSE(read("64").refused()) << refusals(read("64"));
    EXPECT_TRUE(says(read("128"), Verdict::refused, "4 micro-batches of 2 on 8 data ranks are 64"));
}

TEST(DeepSpeed, AsksForWhatAnotherProgramFillsIn) {
    const std::string text = R"({"train_batch_size": "auto", "train_micro_batch_size_per_gpu": "auto",
        "zero_optimization": {"stage": 3}, "bf16": {"enabled": "auto"}})";
    const Imported read = imported("deepspeed", text, on(8));
    for (const char* word : {"/train_batch_size", "/train_micro_batch_size_per_gpu", "/bf16/enabled",
                             "how long sequences", "do not describe the model"})
        EXPECT_TRUE(says(read, Verdict::refused, word)) << word << " is missing from\n" << refusals(read);
    std::vector<std::string> changes = gpt2;
    changes.insert(changes.end(),
                   {"training.micro_batch_size=1", "training.global_batch_size=8", "training.precision=bf16"});
    const Imported told = imported("deepspeed", text, on(8), changes);
    EXPECT_FALSE(told.refused()) << refusals(told);
    EXPECT_EQ(at(told, "/strategy/sharding"), "zero3");
}

/// A config.json's and the catalog's Llama are one model, computed as transformers does.
TEST(DeepSpeed, TakesAModelOfTheCatalogByName) {
    const std::string text = R"({"train_batch_size": 8, "train_micro_batch_size_per_gpu": 1,
        "zero_optimization": {"stage": 3, "offload_param": {"device": "cpu"}}, "bf16": {"enabled": true}})";
    const auto of = [&](const char* model) {
        Request request = on(8);
        request.model = model;
        return imported("deepspeed", text, request, {"training.seq_length=4096"});
    };
    const Imported named = of("llama2-7b"), read = of("scenarios/models/llama2-7b.json");
    EXPECT_FALSE(named.refused()) << refusals(named);
    for (const char* key : {"/model/hidden_size", "/model/num_hidden_layers", "/training/fuse_attention_qkv",
                            "/training/fuse_attention_ffn", "/training/fused_rms_norm", "/training/cross_entropy"})
        EXPECT_EQ(at(named, key), at(read, key)) << key;
    EXPECT_EQ(at(named, "/training/fuse_attention_qkv"), false);
    EXPECT_EQ(at(of("gpt2"), "/training/fuse_attention_qkv"), true);
    EXPECT_TRUE(says(of("llama2-8b"), Verdict::refused, "cannot be read"));
}

TEST(DeepSpeed, ReadsStatesInBf16Alone) {
    const auto with = [](const std::string& keys) {
        return imported(
            "deepspeed",
            R"({"train_batch_size": 8, "train_micro_batch_size_per_gpu": 1, "bf16": {"enabled": true, )" + keys + "}}",
            on(8), gpt2);
    };
    const Imported pure = with(R"("bf16_master_weights_and_grads": true, "bf16_optimizer_states": true)");
    EXPECT_EQ(at(pure, "/training/master_weights"), false) << refusals(pure);
    const Imported half = with(R"("bf16_master_weights_and_grads": true)");
    EXPECT_EQ(at(half, "/training/master_weights"), nullptr);
    EXPECT_TRUE(says(half, Verdict::not_modelled, "bf16_master_weights_and_grads"));
    const Imported off = imported("deepspeed", R"({"train_batch_size": 8, "train_micro_batch_size_per_gpu": 1,
        "fp16": {"enabled": true}, "bf16": {"enabled": false, "bf16_master_weights_and_grads": true,
        "bf16_optimizer_states": true}})",
                                  on(8), gpt2);
    EXPECT_EQ(at(off, "/training/master_weights"), nullptr) << refusals(off);
}

TEST(DeepSpeed, RefusesBothHalves) {
    const auto with = [](const char* fp16, const char* bf16) {
        return imported("deepspeed",
                        std::string(R"({"train_batch_size": 8, "train_micro_batch_size_per_gpu": 1, )") +
                            R"("fp16": {"enabled": )" + fp16 + R"(}, "bf16": {"enabled": )" + bf16 + "}}",
                        on(8), gpt2);
    };
    EXPECT_TRUE(says(with("true", "true"), Verdict::refused, "both fp16 and bf16"));
    EXPECT_FALSE(says(with("\"auto\"", "\"auto\""), Verdict::refused, "both")) << "one of them, by an argument";
    EXPECT_FALSE(says(with("false", "true"), Verdict::refused, "both"));
}

TEST(DeepSpeed, ReadsTheOptimizerInHostMemory) {
    const auto read = [](const std::string& zero) {
        return imported("deepspeed",
                        R"({"train_batch_size": 8, "train_micro_batch_size_per_gpu": 1, "bf16": {"enabled": true},
                            "zero_optimization": )" +
                            zero + "}",
                        on(8), gpt2);
    };
    const Imported whole = read(R"({"stage": 2, "offload_optimizer": {"device": "cpu", "pin_memory": true}})");
    EXPECT_EQ(at(whole, "/strategy/optimizer_cpu_offload"), true) << refusals(whole);
    EXPECT_EQ(at(whole, "/strategy/overlap_cpu_optimizer_d2h_h2d"), true);
    EXPECT_EQ(at(whole, "/strategy/optimizer_offload_fraction"), nullptr);
    EXPECT_FALSE(whole.refused()) << refusals(whole);
    const Imported part = read(R"({"stage": 3, "offload_optimizer": {"device": "cpu", "ratio": 0.3}})");
    EXPECT_EQ(at(part, "/strategy/optimizer_offload_fraction"), 0.3) << refusals(part);
    EXPECT_EQ(at(read(R"({"stage": 2, "cpu_offload": true})"), "/strategy/optimizer_cpu_offload"), true);
    EXPECT_EQ(at(read(R"({"stage": 2, "cpu_offload": false})"), "/strategy/optimizer_cpu_offload"), nullptr);
    EXPECT_TRUE(
        says(read(R"({"stage": 3, "offload_optimizer": {"device": "tape"}})"), Verdict::refused, "no device that is"));
}

/// Since 0.12.4 it sums all in buckets, unless it is asked for a reduce to each rank; its third stage scatters.
TEST(DeepSpeed, ReadsWhatBringsSumsToTheirRanks) {
    const auto by = [](const std::string& zero) {
        const Imported read = imported("deepspeed",
                                       R"({"train_batch_size": 8, "train_micro_batch_size_per_gpu": 1,
                                           "bf16": {"enabled": true}, "zero_optimization": {)" +
                                           zero + "}}",
                                       on(8), gpt2);
        EXPECT_FALSE(read.refused()) << refusals(read);
        return at(read, "/strategy/grad_reduce_collective");
    };
    EXPECT_EQ(by(R"("stage": 0)"), nullptr);
    EXPECT_EQ(by(R"("stage": 1)"), "all_reduce");
    EXPECT_EQ(by(R"("stage": 2, "reduce_scatter": true)"), "all_reduce");
    EXPECT_EQ(by(R"("stage": 2, "use_multi_rank_bucket_allreduce": false)"), "reduce");
    EXPECT_EQ(by(R"("stage": 2, "use_multi_rank_bucket_allreduce": false, "reduce_scatter": false)"), "all_reduce");
    EXPECT_EQ(by(R"("stage": 3)"), nullptr);
    EXPECT_EQ(by(R"("stage": 3, "reduce_scatter": false)"), "all_reduce");
    EXPECT_EQ(by(R"("stage": 3, "reduce_scatter": false, "contiguous_gradients": false)"), nullptr);
    EXPECT_EQ(by(R"("stage": 2, "use_multi_rank_bucket_allreduce": false, "contiguous_gradients": false)"),
              "all_reduce");
}

/// As its documentation has it (docs/code-docs/source/zero3.rst, ZeRO-Infinity).
TEST(DeepSpeed, ReadsZeroInfinity) {
    const auto read = [](const std::string& zero) {
        return imported("deepspeed",
                        R"({"train_batch_size": 8, "train_micro_batch_size_per_gpu": 1, "fp16": {"enabled": true},
                            "zero_optimization": )" +
                            zero + "}",
                        on(8), gpt2);
    };
    const Imported all = read(R"({"stage": 3,
        "offload_param": {"device": "nvme", "nvme_path": "/local_nvme", "buffer_count": 5, "pin_memory": true},
        "offload_optimizer": {"device": "nvme", "nvme_path": "/local_nvme", "pipeline_read": true,
                              "pipeline_write": false, "buffer_count": 4}})");
    EXPECT_FALSE(all.refused()) << refusals(all);
    EXPECT_EQ(at(all, "/strategy/fsdp_implementation"), "deepspeed");
    EXPECT_EQ(at(all, "/strategy/offload_param_device"), "nvme");
    EXPECT_EQ(at(all, "/strategy/optimizer_cpu_offload"), true);
    EXPECT_EQ(at(all, "/strategy/overlap_cpu_optimizer_d2h_h2d"), true);
    EXPECT_EQ(at(all, "/strategy/offload_optimizer_device"), "nvme");
    EXPECT_EQ(at(all, "/strategy/offload_optimizer_pipeline_read"), true);
    EXPECT_EQ(at(all, "/strategy/offload_optimizer_pipeline_write"), false);
    const Imported old = read(R"({"stage": 3, "cpu_offload": true, "cpu_offload_params": true})");
    EXPECT_EQ(at(old, "/strategy/offload_param_device"), "cpu") << refusals(old);
    EXPECT_EQ(at(old, "/strategy/offload_optimizer_device"), nullptr);
    EXPECT_EQ(at(read(R"({"stage": 3, "offload_param": {"device": "none"}})"), "/strategy/offload_param_device"),
              nullptr);
    const Imported whole = read(R"({"stage": 2, "offload_param": {"device": "cpu"}})");
    EXPECT_TRUE(says(whole, Verdict::refused, "shares of zero3")) << refusals(whole);
    EXPECT_EQ(at(whole, "/strategy/fsdp_implementation"), nullptr);
}

TEST(DeepSpeed, ReadsOneBitAdam) {
    // As the tutorial has it (docs/_tutorials/onebit-adam.md).
    const Imported read = imported("deepspeed", R"({"train_batch_size": 4096, "train_micro_batch_size_per_gpu": 16,
        "optimizer": {"type": "OneBitAdam", "params": {"lr": 4e-4, "freeze_step": 23000, "cuda_aware": false,
        "comm_backend_name": "nccl"}}, "fp16": {"enabled": true}})",
                                   on(8), gpt2);
    EXPECT_FALSE(read.refused()) << refusals(read);
    EXPECT_EQ(at(read, "/strategy/compression"), "onebit-adam");
    EXPECT_EQ(at(read, "/strategy/freeze_step"), 23000);
    const Imported usual = imported("deepspeed", R"({"train_batch_size": 8, "train_micro_batch_size_per_gpu": 1,
        "optimizer": {"type": "OneBitAdam"}, "fp16": {"enabled": true}, "zero_optimization": {"stage": 1}})",
                                    on(8), gpt2);
    EXPECT_EQ(at(usual, "/strategy/freeze_step"), nullptr);
    EXPECT_TRUE(says(usual, Verdict::refused, "not compatible with ZeRO")) << refusals(usual);
}

/// The example of its tutorial (docs/_tutorials/zeropp.md), on nodes of eight GPUs.
TEST(DeepSpeed, ReadsZeroPlusPlus) {
    const auto read = [](const std::string& part) {
        return imported("deepspeed",
                        R"({"train_batch_size": 64, "train_micro_batch_size_per_gpu": 1,
            "fp16": {"enabled": true}, "zero_optimization": {"stage": 3, "reduce_bucket_size": 10000000,
            "reduce_scatter": true, "zero_quantized_weights": true, "zero_hpz_partition_size": )" +
                            part + R"(, "zero_quantized_gradients": true,
            "contiguous_gradients": true, "overlap_comm": true}})",
                        on(64), gpt2);
    };
    const Imported all = read("8");
    EXPECT_FALSE(all.refused()) << refusals(all);
    EXPECT_EQ(at(all, "/strategy/sharding"), "zero3");
    EXPECT_EQ(at(all, "/strategy/zero_quantized_weights"), true);
    EXPECT_EQ(at(all, "/strategy/zero_hpz_partition_size"), 8);
    EXPECT_EQ(at(all, "/strategy/zero_quantized_gradients"), true);
    EXPECT_EQ(at(all, "/training/grad_reduce_precision"), "fp16");
    const Imported odd = read("6");
    EXPECT_TRUE(says(odd, Verdict::refused, "6 ranks do not divide the 64")) << refusals(odd);
    const Imported frozen = imported("deepspeed", R"({"train_batch_size": 8, "train_micro_batch_size_per_gpu": 1,
        "fp16": {"enabled": true}, "zero_optimization": {"stage": 3, "zero_quantized_nontrainable_weights": true}})",
                                     on(8), gpt2);
    EXPECT_TRUE(says(frozen, Verdict::refused, "frozen weights")) << refusals(frozen);
}

TEST(DeepSpeed, ReadsLamb) {
    const Imported read = imported("deepspeed", R"({"train_batch_size": 64, "train_micro_batch_size_per_gpu": 8,
        "optimizer": {"type": "Lamb", "params": {"lr": 11e-3, "max_coeff": 0.3}}, "fp16": {"enabled": true}})",
                                   on(8), gpt2);
    EXPECT_FALSE(read.refused()) << refusals(read);
    EXPECT_EQ(at(read, "/training/optimizer"), "lamb");
}

TEST(DeepSpeed, ReadsMuon) {
    const auto read = [](const std::string& stage) {
        return imported("deepspeed",
                        R"({"train_batch_size": 64, "train_micro_batch_size_per_gpu": 8,
            "optimizer": {"type": "Muon", "params": {"lr": 2e-4}}, "bf16": {"enabled": true},
            "zero_optimization": {"stage": )" +
                            stage + "}}",
                        on(8), gpt2);
    };
    EXPECT_EQ(at(read("1"), "/training/optimizer"), "muon") << refusals(read("1"));
    EXPECT_TRUE(says(read("3"), Verdict::refused, "Muon under zero3")) << refusals(read("3"));
}

TEST(DeepSpeed, ReadsRanksThatExchangeHeads) {
    const auto with = [](const char* ranks) {
        return imported("deepspeed",
                        R"({"train_micro_batch_size_per_gpu": 1, "gradient_accumulation_steps": 2,
                            "zero_optimization": {"stage": 1}, "sequence_parallel_size": )" +
                            std::string(ranks) + "}",
                        on(8), gpt2);
    };
    const Imported four = with("4");
    EXPECT_FALSE(four.refused()) << refusals(four);
    EXPECT_EQ(at(four, "/strategy/context"), 4);
    EXPECT_EQ(at(four, "/strategy/cp_comm_type"), "a2a");
    EXPECT_EQ(at(four, "/strategy/data"), 2);
    EXPECT_EQ(at(four, "/training/global_batch_size"), 4);
    EXPECT_EQ(at(with("1"), "/strategy/cp_comm_type"), nullptr);
}

TEST(DeepSpeed, RefusesOtherDevicesAndOptimizersWithTheirPointers) {
    const Imported read = imported("deepspeed", R"({"train_batch_size": 8, "train_micro_batch_size_per_gpu": 1,
        "optimizer": {"type": "Shampoo"}, "zero_optimization": {"stage": 3, "offload_param": {"device": "hpu"},
        "offload_optimizer": {"device": "none"}, "mics_shard_size": 8}, "made_up": 1})",
                                   on(8), gpt2);
    EXPECT_TRUE(says(read, Verdict::refused, "/zero_optimization/offload_param/device")) << refusals(read);
    EXPECT_TRUE(says(read, Verdict::refused, "/optimizer/type"));
    EXPECT_TRUE(says(read, Verdict::refused, "/zero_optimization/mics_shard_size"));
    EXPECT_FALSE(says(read, Verdict::refused, "offload_optimizer"));
    EXPECT_TRUE(says(read, Verdict::unknown, "made_up"));
}

TEST(DeepSpeed, RefusesWhatIsNoConfiguration) {
    EXPECT_THROW((void)imported("deepspeed", "{", on(8)), Error);
    EXPECT_THROW((void)imported("deepspeed", "[1, 2]", on(8)), Error);
}

}  // namespace
}  // namespace orrery::doors
