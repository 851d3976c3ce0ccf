// MaxText's configurations.
#include <gtest/gtest.h>

#include "base/read_file.hpp"
#include "scenarios/scenario.hpp"
#include "tests/doors/importing.hpp"

namespace orrery::doors {
namespace {

/// Words KEY=VALUE alone, on so many chips of a cluster.
Imported words(std::vector<std::string> arguments, const std::string& cluster = "tpu-v5p", std::uint64_t chips = 64) {
    Request request;
    request.cluster = cluster;
    request.gpus = chips;
    request.arguments = std::move(arguments);
    return import_scenario(find_importer("maxtext"), request);
}

/// Of a Llama 2 70B.
Imported llama(std::vector<std::string> arguments, const std::string& cluster = "tpu-v5p", std::uint64_t chips = 64) {
    arguments.insert(arguments.begin(), {"model_name=llama2-70b", "per_device_batch_size=4"});
    return words(std::move(arguments), cluster, chips);
}

TEST(MaxText, ReadsTheExample) {
    const Imported job = imported("maxtext", read_file("doors/examples/llama2-70b-maxtext.yml"));
    ASSERT_FALSE(job.refused()) << refusals(job);
    EXPECT_EQ(at(job, "/model/name"), "llama2-70b");
    EXPECT_EQ(at(job, "/cluster/preset"), "tpu-v5p");
    EXPECT_EQ(at(job, "/cluster/nodes"), 128) << "v5p-256 counts cores";
    EXPECT_EQ(at(job, "/strategy/data"), 128);
    EXPECT_EQ(at(job, "/strategy/sharding"), "zero3");
    EXPECT_EQ(at(job, "/strategy/recompute"), "full");
    EXPECT_EQ(at(job, "/strategy/recompute_early_stop"), true);
    EXPECT_EQ(at(job, "/strategy/checkpoint_policy"), "save_only_these_names");
    EXPECT_EQ(at(job, "/strategy/checkpoint_names"), "query_proj,key_proj,value_proj,context,out_proj");
    EXPECT_EQ(at(job, "/training/micro_batch_size"), 4);
    EXPECT_EQ(at(job, "/training/global_batch_size"), 512);
    EXPECT_EQ(at(job, "/training/seq_length"), 4096);
    EXPECT_EQ(at(job, "/training/software"), "jax");
    EXPECT_TRUE(said(job, Verdict::not_modelled).empty());
}

/// configs/base.yml: full checkpoints, fp32 weights, twelve sequences of 2,048 tokens, a Llama of 16 layers.
TEST(MaxText, HasTheDefaultsOfItsBase) {
    const Imported job = words({"steps=10"});
    ASSERT_FALSE(job.refused()) << refusals(job);
    EXPECT_EQ(at(job, "/model/num_hidden_layers"), 16);
    EXPECT_EQ(at(job, "/model/intermediate_size"), 7168);
    EXPECT_EQ(at(job, "/training/micro_batch_size"), 12);
    EXPECT_EQ(at(job, "/training/seq_length"), 2048);
    EXPECT_EQ(at(job, "/training/master_weights"), nullptr);
    EXPECT_EQ(at(job, "/strategy/recompute"), "full");
    EXPECT_EQ(at(job, "/strategy/checkpoint_policy"), nullptr);
    EXPECT_EQ(at(job, "/strategy/data"), 64);
}

/// configs/types.py, get_individual_scales: heads and MLP, then the width, then layers.
TEST(MaxText, ScalesItsDefaultModel) {
    const Imported job = words({"global_parameter_scale=32"});
    ASSERT_FALSE(job.refused()) << refusals(job);
    EXPECT_EQ(at(job, "/model/num_attention_heads"), 16 * 4);
    EXPECT_EQ(at(job, "/model/intermediate_size"), 7168 * 4);
    EXPECT_EQ(at(job, "/model/hidden_size"), 2048 * 4);
    EXPECT_EQ(at(job, "/model/num_hidden_layers"), 16 * 2);
    EXPECT_EQ(at(words({"global_parameter_scale=2"}), "/model/hidden_size"), 2048);
    EXPECT_TRUE(says(words({"global_parameter_scale=3"}), Verdict::refused, "is no power of two"));
}

TEST(MaxText, KnowsSlicesByName) {
    const auto chips = [](const char* topology, const char* count) {
        Request request;
        request.arguments = {"model_name=llama3.1-8b", std::string("compile_topology=") + topology,
                             std::string("compile_topology_num_slices=") + count, "per_device_batch_size=2"};
        return import_scenario(find_importer("maxtext"), request);
    };
    EXPECT_EQ(at(chips("v5e-256", "1"), "/cluster/nodes"), 256);
    EXPECT_EQ(at(chips("v6e-64", "1"), "/cluster/preset"), "tpu-v6e");
    EXPECT_EQ(at(chips("v4-128", "1"), "/cluster/nodes"), 64);
    const Imported two = chips("v6e-256", "2");
    EXPECT_EQ(at(two, "/cluster/nodes"), 512);
    EXPECT_EQ(at(two, "/cluster/fabric"), "multislice");
    EXPECT_EQ(at(two, "/cluster/groups"), 2);
    EXPECT_EQ(at(two, "/strategy/num_distributed_optimizer_instances"), 2) << "whole copies on each slice";
    EXPECT_TRUE(says(chips("v9-16", "1"), Verdict::refused, "this slice is not known here"));
}

/// JAX shows a TPU7x as two devices, which are a chip here.
TEST(MaxText, JoinsTheTwoDevicesOfAChip) {
    const Imported job = llama({"ici_fsdp_parallelism=64", "ici_tensor_parallelism=2"}, "tpu7x", 64);
    ASSERT_FALSE(job.refused()) << refusals(job);
    EXPECT_EQ(at(job, "/strategy/data"), 32);
    EXPECT_EQ(at(job, "/strategy/tensor"), 2);
    EXPECT_EQ(at(job, "/training/micro_batch_size"), 4 * 2 * 2);
    EXPECT_EQ(at(job, "/training/global_batch_size"), 4 * 128);
    Request request;
    request.arguments = {"model_name=llama2-7b", "compile_topology=tpu7x-16", "per_device_batch_size=1"};
    const Imported named = import_scenario(find_importer("maxtext"), request);
    EXPECT_EQ(at(named, "/cluster/nodes"), 8);
    EXPECT_EQ(at(named, "/training/global_batch_size"), 16);
}

TEST(MaxText, DividesByTheAxesOfItsMesh) {
    const Imported job = llama({"ici_fsdp_parallelism=8", "ici_tensor_parallelism=4", "ici_context_parallelism=2",
                                "gradient_accumulation_steps=2"});
    ASSERT_FALSE(job.refused()) << refusals(job);
    EXPECT_EQ(at(job, "/strategy/data"), 8);
    EXPECT_EQ(at(job, "/strategy/tensor"), 4);
    EXPECT_EQ(at(job, "/strategy/sequence_parallel"), true);
    EXPECT_EQ(at(job, "/strategy/context"), 2);
    EXPECT_EQ(at(job, "/strategy/cp_comm_type"), "all_gather");
    EXPECT_EQ(at(job, "/training/micro_batch_size"), 32);
    EXPECT_EQ(at(job, "/training/global_batch_size"), 512);
    EXPECT_EQ(at(llama({"ici_fsdp_parallelism=16", "ici_data_parallelism=-1"}),
                 "/strategy/num_distributed_optimizer_instances"),
              4);
    EXPECT_TRUE(says(llama({"ici_fsdp_parallelism=48"}), Verdict::refused, "devices of a slice"));
    EXPECT_TRUE(says(llama({"ici_pipeline_parallelism=4"}), Verdict::refused, "pipelines"));
    EXPECT_TRUE(says(llama({"ici_autoregressive_parallelism=2"}), Verdict::refused, "not modelled"));
    const Imported experts = words({"model_name=mixtral-8x7b", "per_device_batch_size=8", "ici_expert_parallelism=8"});
    EXPECT_EQ(at(experts, "/strategy/expert"), 8) << refusals(experts);
    EXPECT_EQ(at(experts, "/strategy/data"), 64) << "experts divide the batch, too";
}

TEST(MaxText, KeepsWhatItsPoliciesKeep) {
    const auto names = [](const char* policy) {
        return at(llama({std::string("remat_policy=") + policy}), "/strategy/checkpoint_names");
    };
    EXPECT_EQ(names("full"), nullptr);
    EXPECT_EQ(names("minimal"), "query_proj,key_proj,value_proj,out_proj,mlpwi_0,mlpwi_1,mlpwo");
    EXPECT_EQ(names("minimal_with_context"), "query_proj,key_proj,value_proj,context,out_proj,mlpwi_0,mlpwi_1,mlpwo");
    EXPECT_EQ(names("save_qkv_proj"), "query_proj,key_proj,value_proj");
    EXPECT_EQ(names("save_out_proj"), "out_proj");
    EXPECT_EQ(at(llama({"remat_policy=none"}), "/strategy/recompute"), "none");
    EXPECT_TRUE(says(llama({"remat_policy=half"}), Verdict::refused, "this policy is not known here"));
    const Imported away = llama({"remat_policy=qkv_proj_offloaded"});
    EXPECT_EQ(at(away, "/strategy/checkpoint_names"), "query_proj,key_proj,value_proj");
    EXPECT_EQ(at(away, "/strategy/offload_names"), "query_proj,key_proj,value_proj");
    EXPECT_EQ(at(away, "/strategy/cpu_offloading_num_layers"), 80) << "inputs stay";
    const Imported own = llama({"remat_policy=custom", "decoder_layer_input=offload", "mlpwi=device", "context=remat"});
    EXPECT_EQ(at(own, "/strategy/checkpoint_names"), "mlpwi_0,mlpwi_1");
    EXPECT_EQ(at(own, "/strategy/offload_names"), "decoder_layer_input");
    EXPECT_TRUE(says(llama({"remat_policy=custom", "mlpwo=disk"}), Verdict::refused, "this word is not known here"));
    const Imported experts = words({"model_name=mixtral-8x7b", "remat_policy=minimal"});
    EXPECT_TRUE(at(experts, "/strategy/checkpoint_names").get<std::string>().ends_with("moe_mlpwo"));
}

TEST(MaxText, ReadsFormatsAndOptimizers) {
    const Imported narrow = llama({"weight_dtype=bfloat16", "opt_type=muon", "gradient_clipping_threshold=0"});
    EXPECT_EQ(at(narrow, "/training/master_weights"), false);
    EXPECT_EQ(at(narrow, "/training/optimizer"), "muon");
    EXPECT_EQ(at(narrow, "/training/clip_grad"), 0.0);
    EXPECT_EQ(at(llama({"opt_type=adam_pax"}), "/training/optimizer"), "adam");
    EXPECT_TRUE(says(llama({"quantization=int8"}), Verdict::refused, "int8"));
    EXPECT_EQ(at(llama({"quantization=fp8_full"}, "tpu7x"), "/training/precision"), "fp8");
    EXPECT_EQ(at(llama({"attention=dot_product"}), "/training/fused_attention"), false);
    EXPECT_TRUE(says(llama({"use_qkk=true"}), Verdict::unknown, ""));
    EXPECT_TRUE(says(llama({"steps"}), Verdict::unknown, ""));
}

TEST(MaxText, NamesWhatItDoesNotKnow) {
    EXPECT_TRUE(says(words({"model_name=envy-test"}), Verdict::refused, "the sizes of this model"));
    EXPECT_TRUE(says(words({"decoder_block=deepseek"}), Verdict::refused, "the layers of this decoder"));
    EXPECT_TRUE(says(llama({"per_device_batch_size=0.3"}), Verdict::refused, "0.3 sequences a device"));
    EXPECT_EQ(at(llama({"per_device_batch_size=0.5", "ici_tensor_parallelism=8"}), "/training/micro_batch_size"), 4);
    EXPECT_TRUE(says(words({"num_layers=3"}), Verdict::refused, "names no key of MaxText's"));
    Request nowhere;
    nowhere.arguments = {"model_name=llama2-7b"};
    EXPECT_TRUE(says(import_scenario(find_importer("maxtext"), nowhere), Verdict::refused, "on how many GPUs"));
}

}  // namespace
}  // namespace orrery::doors
