#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/validate/sample.hpp"

namespace orrery::validate {

using nlohmann::json;
using strategies::OffloadDevice;
using strategies::Recompute;
using strategies::ScheduleKind;
using strategies::Sharding;
using test::mapped;
using test::reason;
using test::with;

namespace {

strategies::Strategy strategy(const json& patch) { return mapped(patch).plan.strategy; }

const json nemo = {{"source", {{"repo", "NVIDIA/NeMo"}, {"paper", nullptr}, {"address", nullptr}}},
                   {"switches", {{"framework", "NeMo"}}},
                   {"gpu", "H100"},
                   {"precision", "BF16"}};

}  // namespace

TEST(MapStrategy, AbsentDegreesAreDerived) {
    EXPECT_EQ(strategy({{"dp", nullptr}}).data, 8U);
    EXPECT_EQ(strategy({{"pp", nullptr}}).pipeline, 1U);
    EXPECT_EQ(strategy({{"tp", nullptr}, {"dp", 16}}).tensor, 1U);
    EXPECT_EQ(reason({{"tp", nullptr}, {"pp", nullptr}, {"dp", nullptr}}), "parallelism not published");
    EXPECT_EQ(reason({{"dp", 4}}), "mesh does not multiply to the GPU count");
    EXPECT_EQ(reason({{"gpus", nullptr}}), "GPU count not published");
}

TEST(MapStrategy, ChunksThatNeMoDoesNotPrintAreItsRecipes) {
    const auto chunks = [](const char* model, const char* task, int tensor, const char* tag) {
        return mapped(with(nemo, {{"model", {{"name", model}, {"layers", 80}}},
                                  {"source", {{"tag", tag}}},
                                  {"switches", {{"task", task}}},
                                  {"gpus", 64},
                                  {"nodes", 8},
                                  {"tp", tensor},
                                  {"pp", 4},
                                  {"vpp", nullptr},
                                  {"dp", 16 / tensor},
                                  {"mbs", 1},
                                  {"gbs", 128}}))
            .plan.strategy.virtual_pipeline;
    };
    EXPECT_EQ(chunks("llama2-70b", "pretrain", 4, "HEAD"), 5U);
    EXPECT_EQ(chunks("llama2-70b", "pretrain", 4, "24.03"), 20U);
    EXPECT_EQ(chunks("llama2-70b", "LoRA", 2, "HEAD"), 1U);
    EXPECT_EQ(reason(with(nemo, {{"model", {{"name", "llama2-70b"}}},
                                 {"switches", {{"task", "pretrain"}}},
                                 {"gpus", 64},
                                 {"nodes", 8},
                                 {"tp", 8},
                                 {"pp", 4},
                                 {"vpp", nullptr},
                                 {"dp", 2}})),
              "virtual pipeline not published");
}

TEST(MapStrategy, Shardings) {
    EXPECT_EQ(strategy({{"sharding", "none (DDP/Horovod)"}}).sharding, Sharding::none);
    EXPECT_EQ(strategy({{"sharding", "ZeRO-1 (Megatron-DeepSpeed)"}}).sharding, Sharding::zero1);
    EXPECT_EQ(strategy({{"sharding", "distributed optimizer (DDP)"}}).sharding, Sharding::zero1);
    EXPECT_EQ(strategy({{"sharding", nullptr}}).sharding, Sharding::none);
    EXPECT_EQ(strategy(with(nemo, {{"sharding", nullptr}})).sharding, Sharding::zero1);
    EXPECT_EQ(strategy({{"sharding", "ZeRO-2"}}).sharding, Sharding::zero2);
    EXPECT_EQ(strategy({{"sharding", "HF+DeepSpeed ZeRO-3"}}).sharding, Sharding::zero3);
    EXPECT_EQ(strategy({{"sharding", "FSDP FULL_SHARD"}}).sharding, Sharding::zero3);
    EXPECT_TRUE(strategy({{"sharding", "FSDP FULL_SHARD"}}).overlap_grad_reduce);
    EXPECT_TRUE(strategy({{"sharding", "FSDP FULL_SHARD"}}).full_sharding.reshard_after_forward);
    EXPECT_EQ(strategy({{"sharding", "FSDP SHARD_GRAD_OP"}}).sharding, Sharding::zero3);
    EXPECT_FALSE(strategy({{"sharding", "FSDP SHARD_GRAD_OP"}}).full_sharding.reshard_after_forward);
    EXPECT_EQ(reason({{"sharding", "FSDP 16 in slice, data parallel between slices"}}),
              "sharding not understood: fsdp 16 in slice, data parallel between");
    EXPECT_EQ(reason({{"sharding", "DeepSpeed ZeRO"}}), "sharding ZeRO of an unpublished stage");
    EXPECT_EQ(reason({{"sharding", "split somehow"}}), "sharding not understood: split somehow");
    EXPECT_EQ(reason({{"sharding", "ZeRO-1 within groups of 4"}}),
              "sharding not understood: zero-1 within groups of 4");
    EXPECT_EQ(strategy({{"sharding", "ZeRO-0"}}).sharding, Sharding::none);
}

TEST(MapStrategy, Recomputation) {
    EXPECT_EQ(strategy({{"recompute", "full activation checkpointing"}}).recompute, Recompute::full);
    EXPECT_EQ(strategy({{"recompute", "full uniform 1"}}).recompute_num_layers, 0U);
    EXPECT_EQ(strategy({{"recompute", "full block 2"}}).recompute_num_layers, 2U);
    EXPECT_EQ(strategy({{"recompute", "selective"}}).recompute, Recompute::selective);
    EXPECT_EQ(strategy({{"recompute", "none (NeMo default)"}}).recompute, Recompute::none);
    EXPECT_EQ(strategy({{"recompute", nullptr}}).recompute, Recompute::none);
    const auto kept = [](const char* policy) {
        const auto found = strategy({{"recompute", policy}, {"switches", {{"framework", "MaxText"}}}});
        EXPECT_EQ(found.recompute, Recompute::full);
        return found.checkpoint_names;
    };
    EXPECT_TRUE(kept("minimal_with_context").starts_with("query_proj,key_proj,value_proj,context,out_proj,mlpwi_0"));
    EXPECT_TRUE(kept("minimal").starts_with("query_proj,key_proj,value_proj,out_proj,mlpwi_0"));
    EXPECT_EQ(kept("save_qkv_out_proj"), "query_proj,key_proj,value_proj,out_proj");
    EXPECT_EQ(kept("save_qkv_proj"), "query_proj,key_proj,value_proj");
    EXPECT_EQ(kept("qkv_proj_offloaded"), "query_proj,key_proj,value_proj");
    const auto early = [](const char* words) {
        return strategy({{"recompute", words}, {"switches", {{"framework", "MaxText"}}}}).recompute_early_stop;
    };
    EXPECT_TRUE(early("full"));
    EXPECT_TRUE(early("save_dot_except_mlp"));
    EXPECT_FALSE(early("none"));
    EXPECT_FALSE(strategy({{"recompute", "full"}}).recompute_early_stop);
    EXPECT_EQ(strategy({{"recompute", "not stated"}}).recompute, Recompute::none);
    EXPECT_EQ(strategy({{"recompute", "selective (core_attn)"}}).recompute, Recompute::selective);
    EXPECT_EQ(strategy({{"recompute", "selective (core attention)"}}).recompute, Recompute::selective);
    EXPECT_EQ(strategy({{"recompute", "selective (core attention)"}}).recompute_modules, "");
    EXPECT_EQ(strategy({{"recompute", "selective: mlp"}}).recompute_modules, "mlp");
    EXPECT_EQ(strategy({{"recompute", "selective   [layernorm moe_act]"}}).recompute_modules, "layernorm,moe_act");
    EXPECT_EQ(strategy({{"recompute", nullptr},
                        {"switches", {{"recompute-granularity", "selective"}, {"recompute-modules", "mlp moe"}}}})
                  .recompute_modules,
              "mlp,moe");
    EXPECT_EQ(reason({{"recompute", "selective [mhc]"}}), "recompute not understood: selective [mhc]");
    EXPECT_EQ(reason({{"recompute", "normal"}}), "recompute not understood: normal");
}

TEST(MapStrategy, Schedules) {
    const json pipeline = {{"pp", 2}, {"tp", 1}};
    EXPECT_EQ(strategy(pipeline).schedule, ScheduleKind::one_f_one_b);
    const auto interleaved = strategy(with(pipeline, {{"vpp", 2}}));
    EXPECT_EQ(interleaved.schedule, ScheduleKind::interleaved);
    EXPECT_EQ(interleaved.virtual_pipeline, 2U);
    const auto named = [&](const char* words) { return with(pipeline, {{"switches", {{"schedule", words}}}}); };
    EXPECT_EQ(strategy(named("GPipe")).schedule, ScheduleKind::gpipe);
    EXPECT_EQ(strategy(named("1F1B (interleave not stated in Table 2)")).schedule, ScheduleKind::one_f_one_b);
    EXPECT_EQ(strategy(named("ZB-1p")).schedule, ScheduleKind::zb_h1);
    EXPECT_EQ(strategy(named("zb_h2")).schedule, ScheduleKind::zb_h2);
    EXPECT_EQ(strategy(named("ZB-V")).virtual_pipeline, 2U);
    EXPECT_EQ(strategy(named("DualPipe")).schedule, ScheduleKind::dual_pipe);
    EXPECT_EQ(strategy(named("DualPipe")).virtual_pipeline, 1U);
    EXPECT_EQ(strategy(named("PipeDream-2BW")).schedule, ScheduleKind::pipedream_2bw);
    EXPECT_EQ(strategy(named("PipeDream-Flush")).schedule, ScheduleKind::one_f_one_b);
    EXPECT_EQ(reason(named("wave-like")), "schedule not understood: wave-like");
    EXPECT_EQ(strategy(with(pipeline, {{"vpp", nullptr}})).virtual_pipeline, 1U);
    EXPECT_EQ(reason(with(with(nemo, pipeline), {{"vpp", nullptr}})), "virtual pipeline not published");
    const json bridge = {{"source", {{"repo", "NVIDIA-NeMo/Megatron-Bridge"}}}, {"vpp", nullptr}};
    EXPECT_EQ(strategy(with(with(nemo, pipeline), bridge)).virtual_pipeline, 1U);  // its tables have the column
    EXPECT_EQ(strategy({{"vpp", 4}}).virtual_pipeline, 1U) << "chunks without a pipeline";
    EXPECT_EQ(reason(with(pipeline, {{"vpp", 3}})), "how stages of unequal depth are divided is not published");
    EXPECT_EQ(reason(with(pipeline, {{"vpp", 2}, {"gbs", 48}})),
              "interleaving needs micro-batches in multiples of the stages");
}

/// DeepSpeed's offload_optimizer, and its checkpoints on the host (Jean Zay's tables, experiments/gpt2.md).
TEST(MapStrategy, WhatLiesOnTheHost) {
    const json zero = {{"tp", 1}, {"gpus", 8}, {"dp", nullptr}, {"sharding", "ZeRO-3"}};
    const auto optimizer = strategy(with(zero, {{"switches", {{"Opt Offl", "Y"}, {"Par Offl", "N"}}}}));
    EXPECT_TRUE(optimizer.optimizer_cpu_offload);
    EXPECT_TRUE(optimizer.overlap_optimizer_copies);
    EXPECT_EQ(optimizer.optimizer_offload_fraction, 1);
    EXPECT_EQ(optimizer.cpu_offloading_num_layers, 0U);
    EXPECT_EQ(optimizer.param_device, OffloadDevice::none);
    EXPECT_FALSE(strategy(with(zero, {{"switches", {{"Opt Offl", "N"}}}})).optimizer_cpu_offload);
    const auto both = strategy(with(zero, {{"switches", {{"Opt Offl", "Y"}, {"Par Offl", "Y"}}}}));
    EXPECT_TRUE(both.optimizer_cpu_offload);
    EXPECT_EQ(both.param_device, OffloadDevice::cpu);
    const auto full = strategy(with(zero, {{"switches", {{"offload", "full CPU offload"}}}}));
    EXPECT_EQ(full.param_device, OffloadDevice::cpu) << "where no column says otherwise";
    EXPECT_TRUE(full.optimizer_cpu_offload);
    const json columns{{"Opt Offl", "N"}, {"Par Offl", "N"}, {"offload", "full CPU offload"}};
    EXPECT_EQ(strategy(with(zero, {{"switches", columns}})).param_device, OffloadDevice::none);
    const auto checkpoints = strategy(with(zero, {{"switches", {{"PA_CPU", "Y"}}}, {"model", {{"layers", 12}}}}));
    EXPECT_EQ(checkpoints.cpu_offloading_num_layers, 12U);
    EXPECT_FALSE(checkpoints.optimizer_cpu_offload);
}

TEST(MapStrategy, StagesOfUnequalDepth) {
    const json pipeline = {{"pp", 4}, {"tp", 1}, {"dp", nullptr}, {"model", {{"layers", 12}}}};
    const auto ends = strategy(with(pipeline, {{"switches", {{"decoder-first-pipeline-num-layers", 3}}}}));
    EXPECT_EQ(ends.first_stage_layers, 3U);
    const auto layout =
        strategy(with(pipeline, {{"switches", {{"pipeline-model-parallel-layout", "Ettt|ttt|ttt|tttL"}}}}));
    EXPECT_EQ(layout.pipeline_layers, "3,3,3,3");
    EXPECT_EQ(reason(with(pipeline, {{"switches", {{"pipeline-model-parallel-layout", "Et|tt|tt|mL"}}}})),
              "pipeline layout of other parts than decoder layers");
}

TEST(MapStrategy, ContextRanksAndGroupsThatShare) {
    EXPECT_EQ(strategy({{"cp", 2}, {"tp", 1}, {"gpus", 8}, {"dp", nullptr}}).context, 2U);
    EXPECT_EQ(strategy({{"cp", 2}, {"tp", 1}, {"gpus", 8}, {"dp", nullptr}}).data, 4U);
    const auto hybrid = strategy({{"tp", 1}, {"gpus", 8}, {"dp", nullptr}, {"sharding", "FSDP4+DP"}});
    EXPECT_EQ(hybrid.sharding, Sharding::zero3);
    EXPECT_EQ(hybrid.optimizer_instances, 2U);
    EXPECT_EQ(
        strategy({{"tp", 1}, {"gpus", 8}, {"dp", nullptr}, {"sharding", "FSDP 8 in the VM, data parallel between VMs"}})
            .optimizer_instances,
        1U);
    EXPECT_EQ(reason({{"tp", 1}, {"gpus", 8}, {"dp", nullptr}, {"sharding", "FSDP3+DP"}}),
              "sharding not understood: fsdp3+dp");
}

/// DeepSpeed's ZeRO-3 up to 0.5.10 waits for the device around every gather; on V100, and of 2021.
TEST(MapStrategy, TheFirstZero3GathersInTurn) {
    const json zero = {{"tp", 1}, {"pp", 1}, {"dp", 16}, {"gpus", 16}, {"sharding", "ZeRO-3"}};
    const auto of = [&](const char* framework, const char* gpu, const json& source) {
        return strategy(with(zero, {{"gpu", gpu}, {"switches", {{"framework", framework}}}, {"source", source}}));
    };
    const json undated = {{"repo", "a/b"}, {"paper", nullptr}, {"address", nullptr}};
    for (const char* framework :
         {"HF + Deepspeed Zero 3", "Megatron + Deepspeed ZeRO (old branch)", "gpt2-meg-ds-zero"}) {
        const auto first = of(framework, "V100-SXM2-32GB", undated);
        EXPECT_FALSE(first.overlap_grad_reduce) << framework;
        EXPECT_EQ(first.full_sharding.prefetch, 0U) << framework;
        const auto later = of(framework, "A100-SXM4-80GB", undated);
        EXPECT_TRUE(later.overlap_grad_reduce) << framework;
        EXPECT_EQ(later.full_sharding.prefetch, 1U) << framework;
    }
    EXPECT_EQ(strategy(with(zero, {{"gpu", "A100-SXM4-80GB"}})).full_sharding.prefetch, 0U) << "a paper of 2021";
    EXPECT_EQ(of("PyTorch", "V100-SXM2-32GB", undated).full_sharding.prefetch, 1U) << "its own FSDP";
}

TEST(MapStrategy, PaddlesSecondStageWaitsForEveryReduction) {
    const auto overlaps = [](const char* framework) {
        return strategy({{"tp", 1},
                         {"pp", 1},
                         {"dp", 16},
                         {"gpus", 16},
                         {"sharding", "ZeRO-2"},
                         {"switches", {{"framework", framework}}}})
            .overlap_grad_reduce;
    };
    EXPECT_FALSE(overlaps("PaddlePaddle 2.5.1 (PaddleNLP)"));
    EXPECT_TRUE(overlaps("PyTorch"));
}

TEST(MapStrategy, ScattersAreBroughtAboutAsTheFrameworkDoes) {
    const auto by = [](const char* framework, const char* sharding) {
        return strategy({{"tp", 1},
                         {"pp", 1},
                         {"dp", 16},
                         {"gpus", 16},
                         {"sharding", sharding},
                         {"switches", {{"framework", framework}}}})
            .grad_reduce_collective;
    };
    using strategies::GradReduceCollective;
    EXPECT_EQ(by("PaddlePaddle 2.5.1 (PaddleNLP)", "ZeRO-2"), GradReduceCollective::reduce);
    EXPECT_EQ(by("HF + Deepspeed Zero 3 + Full Offload", "HF+DeepSpeed ZeRO-3"), GradReduceCollective::all_reduce);
    EXPECT_EQ(by("Megatron + Deepspeed ZeRO (old branch)", "ZeRO-3"), GradReduceCollective::reduce_scatter);
    EXPECT_EQ(by("PyTorch", "ZeRO-2"), GradReduceCollective::reduce_scatter);
}

TEST(MapStrategy, OverlapFollowsTheSoftware) {
    EXPECT_FALSE(strategy({}).overlap_grad_reduce) << "Megatron-LM of 2021, its own DDP";
    EXPECT_TRUE(strategy({{"overlap", true}}).overlap_grad_reduce);
    EXPECT_FALSE(strategy({{"overlap", false}, {"pp", 2}, {"tp", 1}}).overlap_grad_reduce);
    EXPECT_TRUE(strategy({{"switches", {{"overlap-grad-reduce", true}}}}).overlap_grad_reduce);
    EXPECT_FALSE(
        strategy({{"switches", {{"framework", "PyTorch"}, {"gradient_bucket_overlap", false}}}}).overlap_grad_reduce);
    EXPECT_TRUE(strategy({{"switches", {{"framework", "PyTorch"}}}}).overlap_grad_reduce);
    const auto modern = strategy(with(nemo, {{"sharding", nullptr}}));
    EXPECT_TRUE(modern.overlap_grad_reduce);
    EXPECT_TRUE(modern.overlap_param_gather);
    EXPECT_TRUE(modern.async_tensor_allreduce);
    EXPECT_FALSE(strategy({}).async_tensor_allreduce);
    EXPECT_TRUE(strategy(with(nemo, {{"pp", 2}, {"tp", 1}, {"vpp", 2}})).overlap_p2p);
    EXPECT_FALSE(strategy({{"pp", 2}, {"tp", 1}, {"vpp", 2}}).overlap_p2p);
}

TEST(MapStrategy, SequenceParallelismNeedsTensorParallelism) {
    EXPECT_TRUE(strategy({{"sp", true}}).sequence_parallel);
    EXPECT_FALSE(strategy({{"sp", true}, {"tp", 1}, {"dp", 16}}).sequence_parallel);
    EXPECT_FALSE(strategy({{"sp", nullptr}}).sequence_parallel);
    EXPECT_TRUE(strategy(with(nemo, {{"sp", nullptr}})).sequence_parallel);
}

TEST(MapStrategy, OneStageHasNothingToDivide) {
    const json flags = {{"account-for-embedding-in-pipeline-split", true},
                        {"account-for-loss-in-pipeline-split", true}};
    EXPECT_FALSE(strategy({{"pp", 1}, {"dp", nullptr}, {"switches", flags}}).embedding_as_layer);
    EXPECT_TRUE(strategy({{"pp", 2}, {"dp", nullptr}, {"switches", flags}}).embedding_as_layer);
}

TEST(MapStrategy, TrainersOnPyTorch) {
    const auto of = [](const char* framework) { return json{{"switches", {{"framework", framework}}}}; };
    EXPECT_EQ(software_of(test::row_with(of("nanotron"))), Software::data_parallel);
    EXPECT_FALSE(strategy(of("torchtitan")).async_tensor_allreduce);
    EXPECT_EQ(reason(with(of("nanotron"), {{"tp", 2}})),
              "products in a ring of nanotron's tensor ranks are not supported");
}

TEST(Software, ByFrameworkThenSource) {
    const auto software = [](const json& patch) { return software_of(test::row_with(patch)); };
    const json undated = {{"paper", nullptr}, {"address", nullptr}, {"repo", "NVIDIA/Megatron-LM"}};
    EXPECT_EQ(software({}), Software::megatron_2021);
    EXPECT_EQ(software({{"source", undated}}), Software::megatron_core);
    EXPECT_EQ(software({{"source", undated}, {"gpu", "V100-32GB"}}), Software::megatron_2021);
    EXPECT_EQ(software({{"source", undated}, {"switches", {{"framework", "Megatron-LM (2021-05)"}}}}),
              Software::megatron_2021);
    const auto paper = [&](const char* number) { return json{{"source", {{"paper", number}, {"address", nullptr}}}}; };
    EXPECT_EQ(software(paper("arXiv 2104.04473")), Software::megatron_2021);
    EXPECT_EQ(software(paper("MLSys 2023, arXiv 2205.05198")), Software::megatron_local) << "older than its conference";
    EXPECT_EQ(software(paper("of 2022")), Software::megatron_local);
    EXPECT_EQ(software(paper("arXiv 2402.15627")), Software::megatron_local);
    EXPECT_EQ(software(paper("arXiv 2405.20000")), Software::megatron_core);
    EXPECT_TRUE(strategy(paper("arXiv 2205.05198")).async_tensor_allreduce);
    EXPECT_FALSE(strategy(paper("arXiv 2104.04473")).async_tensor_allreduce);
    EXPECT_EQ(software({{"switches", {{"framework", "microsoft/Megatron-DeepSpeed"}}}}), Software::megatron_deepspeed);
    EXPECT_EQ(software({{"switches", {{"framework", "MaxText"}}}}), Software::jax);
    EXPECT_EQ(software({{"switches", nullptr}, {"source", {{"repo", "NVIDIA-NeMo/Megatron-Bridge"}}}}), Software::nemo);
    EXPECT_EQ(software({{"switches", {{"framework", "NGC TensorFlow 1.x"}}}}), Software::data_parallel);
    EXPECT_EQ(software({{"switches", nullptr}, {"source", {{"repo", "lab/own"}}}}), Software::other);
}

}  // namespace orrery::validate
