// Whole scenarios: defaults, derived values, aliases and paths.
#include "scenarios/scenario.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "tests/scenarios/bad_scenarios.hpp"
#include "tests/scenarios/expect_error.hpp"

namespace orrery::scenarios {
namespace {

using kernels::Dtype;
using nlohmann::json;

Scenario read(const json& document) { return from_json(document, "folder/x.json"); }

json minimal() {
    return json::parse(R"({"model": {"name": "gpt3-1.3b"}, "cluster": {"preset": "dgx-a100", "nodes": 2},
                           "training": {"seq_length": 1024, "global_batch_size": 16}})");
}

TEST(Scenario, DefaultsAreTheDocumentedOnes) {
    const Scenario scenario = read(minimal());
    EXPECT_EQ(scenario.name, "x");
    EXPECT_EQ(scenario.profile, "a100");
    EXPECT_EQ(scenario.seed, 1U);
    EXPECT_EQ(scenario.gpus, 16U);
    EXPECT_EQ(scenario.plan.strategy.data, 16U) << "derived: every GPU of the cluster";
    EXPECT_EQ(scenario.plan.strategy.schedule, strategies::ScheduleKind::one_f_one_b);
    EXPECT_EQ(scenario.plan.training.micro_batch, 1U);
    EXPECT_EQ(scenario.plan.training.precision.compute, Dtype::bf16);
    EXPECT_EQ(scenario.plan.training.precision.grad_reduce, Dtype::fp32) << "as Megatron-LM does under bf16";
    EXPECT_DOUBLE_EQ(scenario.plan.training.grad_clip, 1.0);
    EXPECT_DOUBLE_EQ(scenario.outputs.token_budget, 0.0);
}

TEST(Scenario, EveryValueReachesItsPlace) {
    const json document = json::parse(R"({
        "name": "n", "profile": "mine.json", "seed": 9007199254740991, "outputs": {"token_budget": "1T"},
        "model": {"name": "gpt3-1.3b"},
        "cluster": {"preset": "ethernet", "nodes": 64, "gpu": "A100-40GB", "gpus_per_node": 8, "nics_per_node": 2,
                    "nic_rate": "100 Gb/s", "oversubscription": 2},
        "strategy": {"tensor": 4, "pipeline": 2, "virtual_pipeline": 3, "data": 8, "sequence_parallel": true,
                     "schedule": "interleaved", "sharding": "zero1", "recompute": "full", "recompute_num_layers": 2,
                     "overlap_grad_reduce": true, "overlap_param_gather": true, "overlap_p2p": true,
                     "scatter_gather": false, "bucket_size": "64 MiB"},
        "training": {"seq_length": 1024, "micro_batch_size": 2, "global_batch_size": 64, "precision": "fp16",
                     "grad_reduce_precision": "fp32", "fused_attention": false, "cuda_graph": true, "clip_grad": 0,
                     "dropout": 0.1, "optimizer": "adam", "software": "orrery"}})");
    const Scenario s = read(document);
    EXPECT_EQ(s.name, "n");
    EXPECT_EQ(s.profile, "folder/mine.json");
    EXPECT_EQ(s.seed, 9007199254740991U);
    EXPECT_DOUBLE_EQ(s.outputs.token_budget, 1e12);
    EXPECT_EQ(s.cluster.gpu, "A100-40GB");
    EXPECT_EQ(s.cluster.gpus_per_node, 8U);
    EXPECT_EQ(s.cluster.nics_per_node, 2U);
    EXPECT_DOUBLE_EQ(s.cluster.nic_bytes_per_second, 12.5e9);
    EXPECT_DOUBLE_EQ(s.cluster.oversubscription, 2.0);
    const strategies::Strategy& strategy = s.plan.strategy;
    EXPECT_EQ(strategy.virtual_pipeline, 3U);
    EXPECT_EQ(strategy.schedule, strategies::ScheduleKind::interleaved);
    EXPECT_EQ(strategy.sharding, strategies::Sharding::zero1);
    EXPECT_EQ(strategy.recompute, strategies::Recompute::full);
    EXPECT_EQ(strategy.recompute_num_layers, 2U);
    EXPECT_TRUE(strategy.sequence_parallel && strategy.overlap_grad_reduce && strategy.overlap_param_gather);
    EXPECT_TRUE(strategy.overlap_p2p && !strategy.scatter_gather);
    EXPECT_EQ(strategy.bucket_bytes, 64U << 20U);
    EXPECT_EQ(s.plan.training.precision.grad_reduce, Dtype::fp32);
    EXPECT_TRUE(s.plan.training.cuda_graph && !s.plan.training.fused_attention);
    EXPECT_EQ(s.plan.training.software, hardware::Software::orrery);
    EXPECT_DOUBLE_EQ(s.plan.training.grad_clip, 0.0);
    EXPECT_DOUBLE_EQ(s.plan.model.dropout, 0.1);
    EXPECT_EQ(s.gpus, 64U) << "of the cluster's 512";
}

TEST(Scenario, NarrowProductsAreTransformerEnginesUnlessItSaysOthers) {
    const auto software = [](const json& training) {
        json document = minimal();
        document["cluster"]["preset"] = "dgx-h100";
        document["training"].update(training);
        return read(document).plan.training.software;
    };
    EXPECT_EQ(software({{"precision", "bf16"}}), hardware::Software::megatron_lm);
    EXPECT_EQ(software({{"precision", "fp8"}}), hardware::Software::transformer_engine);
    EXPECT_EQ(software({{"precision", "fp8"}, {"software", "pytorch"}}), hardware::Software::pytorch);
}

/// What each software and optimizer has, where a scenario says nothing more.
TEST(Scenario, DefaultsFollowTheSoftwareAndTheOptimizer) {
    const auto read_with = [](const json& training) {
        json document = minimal();
        document["training"].update(training);
        return read(document).plan.training;
    };
    using hardware::AttentionKernel;
    EXPECT_EQ(read_with({{"software", "megatron-lm"}}).attention_kernel, AttentionKernel::newest);
    for (const char* said : {"pytorch", "deepspeed"}) {
        EXPECT_EQ(read_with({{"software", said}}).attention_kernel, AttentionKernel::flash_2) << said;
        EXPECT_EQ(read_with({{"software", said}, {"attention_kernel", "cudnn"}}).attention_kernel,
                  AttentionKernel::cudnn);
    }
    const auto apart = [](const strategies::Training& training) {
        return !training.fused_qkv && !training.fused_gate && !training.enable_gqa;
    };
    json llama = minimal();
    llama["model"] = {{"name", "llama2-7b"}};
    EXPECT_FALSE(apart(read(llama).plan.training));
    llama["training"]["software"] = "pytorch";
    EXPECT_TRUE(apart(read(llama).plan.training));
    EXPECT_TRUE(read_with({{"software", "pytorch"}}).fused_qkv) << "a GPT";
    for (const char* by_parameter : {"adafactor", "adam8bit"})
        EXPECT_FALSE(read_with({{"optimizer", by_parameter}}).fused_optimizer) << by_parameter;
    for (const char* together : {"adam", "lamb", "muon"})
        EXPECT_TRUE(read_with({{"optimizer", together}}).fused_optimizer) << together;
}

TEST(Scenario, AttentionIsNotFusedOnGpusBeforeAmpereUnlessItSaysSo) {
    json document = minimal();
    const auto fused = [&](const char* preset) {
        document["cluster"]["preset"] = preset;
        return read(document).plan.training.fused_attention;
    };
    document["training"]["precision"] = "fp16";
    EXPECT_TRUE(fused("dgx-a100"));
    EXPECT_FALSE(fused("dgx-1v"));
    document["training"]["fused_attention"] = true;
    EXPECT_TRUE(fused("dgx-1v"));
}

TEST(Scenario, PartsOfSequencesAreRefusedOnGpusBeforeAmpere) {
    json document = minimal();
    document["cluster"]["preset"] = "dgx-1v";
    document["training"]["precision"] = "fp16";
    json context = document, documents = document;
    context["strategy"]["context"] = 2;
    documents["training"]["document_length"] = 128;
    expect_error([&] { read(context); }, "/strategy/context", "FlashAttention", "Ampere");
    expect_error([&] { read(documents); }, "/training/document_length", "FlashAttention", "Ampere");
    context["training"]["fused_attention"] = true;
    EXPECT_EQ(read(context).plan.strategy.context, 2U);
}

/// Megatron-LM's since September 2021, which its fork on DeepSpeed does not have.
TEST(Scenario, DeepSpeedWaitsForWhatTensorRanksSum) {
    json document = minimal();
    const auto waits = [&] { return !read(document).plan.strategy.async_tensor_allreduce; };
    EXPECT_FALSE(waits());
    document["training"]["software"] = "deepspeed";
    EXPECT_TRUE(waits());
    document["strategy"].update({{"tensor", 2}, {"sequence_parallel", true}});
    EXPECT_FALSE(waits()) << "what is scattered moves beside";
    document["strategy"]["sequence_parallel"] = false;
    document["strategy"]["async_tensor_allreduce"] = true;
    EXPECT_FALSE(waits());
}

/// torch.distributed.tensor has neither of Megatron-LM's, nor do products beside parts of collectives need the first.
TEST(Scenario, TensorRanksOfPyTorchKeepWhatTheyGather) {
    json document = minimal();
    document["strategy"]["tensor"] = 2;
    const auto of = [&] { return read(document).plan.strategy; };
    EXPECT_TRUE(of().recompute_allgather && of().async_tensor_allreduce);
    document["training"]["software"] = "pytorch";
    EXPECT_FALSE(of().recompute_allgather || of().async_tensor_allreduce);
    document["strategy"].update({{"sequence_parallel", true}, {"tp_comm_overlap", true}});
    EXPECT_FALSE(of().async_tensor_allreduce);
}

/// Its activations lie sequence by sequence, and its context ranks merge by operators; but its ring knows no windows.
TEST(Scenario, RanksOfPyTorchCopyAndMerge) {
    json document = minimal();
    const auto of = [&] { return read(document).plan.strategy; };
    EXPECT_FALSE(of().batch_first || of().templated_ring);
    document["training"]["software"] = "pytorch";
    EXPECT_TRUE(of().batch_first && of().templated_ring);
    document["model"]["sliding_window"] = 64;
    EXPECT_FALSE(of().templated_ring);
    document["strategy"]["batch_first"] = false;
    EXPECT_FALSE(of().batch_first);
}

/// Megatron-LM's fused addition needs its main_grad, its joined loss a flag that its fork on DeepSpeed does not know.
TEST(Scenario, DeepSpeedAddsGradientsAndFormsLossesByKernelsOfTheirOwn) {
    json document = minimal();
    const auto of = [&] { return read(document).plan.training; };
    EXPECT_TRUE(of().gradient_accumulation_fusion && of().cross_entropy_fusion);
    document["training"]["software"] = "deepspeed";
    EXPECT_FALSE(of().gradient_accumulation_fusion || of().cross_entropy_fusion);
    document["training"].update({{"gradient_accumulation_fusion", true}, {"cross_entropy_loss_fusion", true}});
    EXPECT_TRUE(of().gradient_accumulation_fusion && of().cross_entropy_fusion);
}

/// Megatron-LM's T5 has a table of them in place of the catalog's biases by distance.
TEST(Scenario, AT5OfTheCatalogTakesLearnedPositions) {
    json document = minimal();
    document["model"] = {{"name", "t5-small"}};
    document["training"].update({{"seq_length", 512}, {"decoder_seq", 64}});
    const auto model = [&] { return read(document).plan.model; };
    EXPECT_EQ(model().relative_buckets, 32U);
    document["model"].update({{"position_embedding_type", "learned"}, {"max_position_embeddings", 512}});
    EXPECT_EQ(model().relative_buckets, 0U);
    EXPECT_EQ(model().max_positions, 512U);
}

/// 5e7 elements: more than a layer of GPT-2 has, a quarter of one of Llama 2 7B.
TEST(Scenario, DeepSpeedAsksForPartsOfLargeLayers) {
    json document = minimal();
    document["strategy"].update({{"sharding", "zero3"}, {"fsdp_implementation", "deepspeed"}});
    const auto prefetch = [&](const char* model) {
        document["model"] = {{"name", model}};
        return read(document).plan.strategy.full_sharding.prefetch;
    };
    EXPECT_EQ(prefetch("gpt2"), 1U);
    EXPECT_EQ(prefetch("llama2-7b"), 0U);
    document["strategy"]["fsdp_prefetch"] = 1;
    EXPECT_EQ(prefetch("llama2-7b"), 1U);
    document["strategy"].erase("fsdp_prefetch");
    document["strategy"]["offload_param_device"] = "cpu";
    EXPECT_EQ(prefetch("llama2-7b"), 1U) << "what is offloaded comes in an order of its own";
}

/// PEFT's adapters stand beside each product, and these are apart.
TEST(Scenario, AdaptersAreOfEachProductWhereProductsAreApart) {
    json document = minimal();
    document["model"] = {{"name", "llama2-7b"}};
    document["training"]["lora_rank"] = 8;
    EXPECT_FALSE(read(document).plan.training.canonical_lora);
    document["training"]["software"] = "pytorch";
    EXPECT_TRUE(read(document).plan.training.canonical_lora);
    EXPECT_TRUE(read(document).plan.training.wide_adapters) << "autocast_adapter_dtype";
    document["model"] = {{"name", "gpt3-1.3b"}};
    EXPECT_FALSE(read(document).plan.training.canonical_lora);
}

TEST(Scenario, MegatronSpellingsReadTheSame) {
    json megatron = sound_scenario();
    megatron["strategy"] = json::parse(R"({"tensor_model_parallel_size": 4, "pipeline_model_parallel_size": 2,
        "data_parallel_size": 4, "sequence_parallel": true, "use_distributed_optimizer": true,
        "overlap_grad_reduce": true, "overlap_param_gather": true, "recompute_granularity": "selective"})");
    megatron["training"].erase("precision");
    megatron["training"].update(
        {{"bf16", true}, {"use_flash_attn", false}, {"accumulate_allreduce_grads_in_fp32", true}});
    const Scenario scenario = read(megatron);
    EXPECT_EQ(scenario.plan.strategy.tensor, 4U);
    EXPECT_EQ(scenario.plan.strategy.sharding, strategies::Sharding::zero1);
    EXPECT_EQ(scenario.plan.strategy.recompute, strategies::Recompute::selective);
    EXPECT_EQ(scenario.plan.training.precision.compute, Dtype::bf16);
    EXPECT_FALSE(scenario.plan.training.fused_attention);
}

TEST(Scenario, ErrorsPointAtTheSpellingThatTheFileUses) {
    json document = sound_scenario();
    document["strategy"].erase("tensor");
    document["strategy"]["tensor_model_parallel_size"] = 3;
    document["strategy"]["data"] = 1;
    expect_error([&] { (void)read(document); }, "/strategy/tensor_model_parallel_size", "3 does not divide");
    json model = sound_scenario();
    model["model"]["num_query_groups"] = 3;
    expect_error([&] { (void)read(model); }, "/model/num_query_groups", "3");
}

TEST(Scenario, GradientsAreReducedInTheFormatOfMegatron) {
    const auto reduce = [](const char* precision) {
        json document = minimal();
        document["cluster"]["preset"] = "dgx-h100";
        document["training"]["precision"] = precision;
        return read(document).plan.training.precision.grad_reduce;
    };
    EXPECT_EQ(reduce("fp32"), Dtype::fp32);
    EXPECT_EQ(reduce("tf32"), Dtype::fp32);
    EXPECT_EQ(reduce("fp16"), Dtype::fp16);
    EXPECT_EQ(reduce("bf16"), Dtype::fp32);
    EXPECT_EQ(reduce("fp8"), Dtype::fp32);
}

TEST(Scenario, QuantizedGradientsAreExchangedWithinNodesFirst) {
    json document = minimal();
    document["training"]["precision"] = "fp16";
    document["strategy"] = {{"sharding", "zero3"}, {"zero_quantized_gradients", true}};
    EXPECT_EQ(read(document).plan.strategy.node_ranks, 8U);
    document["strategy"]["zero_ranks_per_node"] = 4;
    EXPECT_EQ(read(document).plan.strategy.node_ranks, 4U);
    document["strategy"].erase("zero_quantized_gradients");
    expect_error([&] { (void)read(document); }, "/strategy/zero_ranks_per_node", "not quantized", "leave it out");
}

TEST(Scenario, ChunksImplyTheInterleavedSchedule) {
    json document = minimal();
    document["strategy"] = {{"pipeline", 2}, {"virtual_pipeline", 2}};
    EXPECT_EQ(read(document).plan.strategy.schedule, strategies::ScheduleKind::interleaved);
}

TEST(Scenario, RanksAreHeldAgainstTheCluster) {
    json document = minimal();
    document["strategy"] = {{"tensor", 8}, {"data", 4}};
    expect_error([&] { (void)read(document); }, "/strategy/data", "32 ranks, but the cluster has 16 GPUs",
                 "nearest legal value: 2");
    document["strategy"] = {{"tensor", 16}, {"pipeline", 2}};
    expect_error([&] { (void)read(document); }, "/strategy/tensor", "32 ranks");
    document["strategy"] = {{"tensor", 2}, {"context", 16}};
    expect_error([&] { (void)read(document); }, "/strategy/context", "32 ranks", "lower tensor, context or pipeline");
    document["strategy"] = {{"tensor", 16}};
    EXPECT_EQ(read(document).plan.strategy.data, 1U) << "tensor over two nodes is slow, not illegal";
    document["strategy"] = {{"pipeline", 3}};
    expect_error([&] { (void)read(document); }, "/strategy/data", "do not divide the 16 GPUs", "\"data\": 5");
}

TEST(Scenario, ProfilesAreNamesOrPathsBesideTheFile) {
    const auto profile = [](const char* text) {
        json document = minimal();
        document["profile"] = text;
        return read(document).profile;
    };
    EXPECT_EQ(profile("h100"), "h100");
    EXPECT_EQ(profile("mine.json"), "folder/mine.json");
    EXPECT_EQ(profile("deep/mine"), "folder/deep/mine");
    EXPECT_EQ(profile("/abs/mine.json"), "/abs/mine.json");
}

}  // namespace
}  // namespace orrery::scenarios
