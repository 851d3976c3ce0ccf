// TorchTitan's job configurations.
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "base/read_file.hpp"
#include "tests/doors/importing.hpp"

namespace orrery::doors {
namespace {

Imported read(const std::string& text, std::uint64_t gpus = 64) {
    Request request;
    request.gpu = "H100";
    request.gpus = gpus;
    return imported("torchtitan", text, request);
}

const std::string llama =
    "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nlocal_batch_size = 2\nseq_len = 8192\n";

TEST(TorchTitan, ReadsTheExample) {
    Request request;
    request.cluster = "dgx-h100";
    const Imported job = imported("torchtitan", read_file("doors/examples/llama3-8b.toml"), request);
    ASSERT_FALSE(job.refused()) << refusals(job);
    EXPECT_EQ(at(job, "/model/name"), "llama3-8b");
    EXPECT_EQ(at(job, "/strategy/sharding"), "zero3");
    EXPECT_EQ(at(job, "/strategy/tensor"), 2);
    EXPECT_EQ(at(job, "/strategy/data"), 32);
    EXPECT_EQ(at(job, "/strategy/sequence_parallel"), true);
    EXPECT_EQ(at(job, "/cluster/nodes"), 8);
    EXPECT_EQ(at(job, "/training/global_batch_size"), 128);
    EXPECT_EQ(at(job, "/training/kernel_fusion"), "full");
    EXPECT_EQ(at(job, "/training/enable_gqa"), true);
    EXPECT_EQ(at(job, "/training/complex_rope"), true);
}

/// Neither TPUs nor AMD's GPUs have cuDNN.
TEST(TorchTitan, NamesCudnnWhereThereIsOne) {
    const auto kernel = [](const char* cluster, const char* gpu) {
        Request request;
        request.cluster = cluster;
        request.gpu = gpu;
        request.gpus = 64;
        const Imported job = imported("torchtitan", llama, request);
        EXPECT_FALSE(job.refused()) << refusals(job);
        return at(job, "/training/attention_kernel");
    };
    EXPECT_EQ(kernel("dgx-h100", ""), "cudnn");
    EXPECT_EQ(kernel("", "H100"), "cudnn");
    EXPECT_EQ(kernel("mi300x", ""), nlohmann::json());
    EXPECT_EQ(kernel("", "MI355X"), nlohmann::json());
    EXPECT_EQ(kernel("tpu-v5p", ""), nlohmann::json());
}

/// Shares of weights, gradients and states in host memory (FSDP2's CPUOffloadPolicy).
TEST(TorchTitan, ReadsWhatTheHostKeeps) {
    const Imported job = read(llama + "enable_cpu_offload = true\n", 8);
    ASSERT_FALSE(job.refused()) << refusals(job);
    EXPECT_EQ(at(job, "/strategy/offload_param_device"), "cpu");
    EXPECT_EQ(at(job, "/strategy/optimizer_cpu_offload"), true);
    EXPECT_EQ(at(job, "/strategy/fsdp_implementation"), "fsdp2");
    EXPECT_EQ(at(read(llama + "enable_cpu_offload = false\n", 8), "/strategy/offload_param_device"), nullptr);
}

TEST(TorchTitan, ReadsWhatPyTorchRuns) {
    const auto with = [](const char* mode) {
        return read(llama + "[activation_checkpoint]\nmode = \"" + mode + "\"\n");
    };
    EXPECT_EQ(at(with("full"), "/strategy/recompute_early_stop"), true) << refusals(with("full"));
    EXPECT_EQ(at(with("none"), "/strategy/recompute_early_stop"), nullptr);
    EXPECT_EQ(at(with("none"), "/training/attention_kernel"), "cudnn");
    EXPECT_EQ(at(with("none"), "/training/software"), "pytorch");
}

TEST(TorchTitan, TakesALocalBatchFromEveryRank) {
    const Imported job = read(llama + "[parallelism]\ndata_parallel_shard_degree = -1\n");
    ASSERT_FALSE(job.refused()) << refusals(job);
    EXPECT_EQ(at(job, "/strategy/data"), 64);
    EXPECT_EQ(at(job, "/training/global_batch_size"), 128);
    EXPECT_EQ(at(job, "/training/kernel_fusion"), "operators") << "nothing is compiled";
}

TEST(TorchTitan, ReadsFp8AndReplicas) {
    const Imported job = read("[parallelism]\ndata_parallel_replicate_degree = 64\ndata_parallel_shard_degree = 1\n" +
                              llama + "[quantize.linear.float8]\nrecipe_name = \"tensorwise\"\n");
    EXPECT_EQ(at(job, "/strategy/sharding"), "none") << refusals(job);
    std::string fp8 = llama;
    fp8.insert(fp8.find("[training]"), "converters = [\"float8\"]\n");
    EXPECT_EQ(at(read(fp8), "/training/precision"), "fp8");
    EXPECT_EQ(at(read(fp8), "/training/fp8_recipe"), "tensorwise");
    EXPECT_EQ(at(read(fp8), "/training/fp8_param_gather"), nullptr);
    const std::string gathers = fp8 + "\n[float8]\nenable_fsdp_float8_all_gather = true\n";
    EXPECT_EQ(at(read(gathers), "/training/fp8_param_gather"), true);
    EXPECT_EQ(at(read(gathers + "recipe_name = \"rowwise\"\n"), "/training/fp8_param_gather"), nullptr);
}

TEST(TorchTitan, CastsWeightsForEachProductWhereNothingIsSharded) {
    const std::string replicas = "[parallelism]\ndata_parallel_replicate_degree = 64\ndata_parallel_shard_degree = 1\n";
    const std::string divided =
        "[parallelism]\ndata_parallel_replicate_degree = 32\ndata_parallel_shard_degree = 1\n"
        "tensor_parallel_degree = 2\n";
    const Imported job = read(replicas + llama);
    EXPECT_EQ(at(job, "/training/autocast"), true) << refusals(job);
    EXPECT_EQ(at(job, "/training/precision"), "bf16");
    EXPECT_EQ(at(read(llama), "/training/autocast"), nullptr) << "fully_shard casts them";
    EXPECT_EQ(at(read(divided + llama), "/training/autocast"), nullptr);
    EXPECT_EQ(at(read(divided + llama), "/training/precision"), "fp32") << "nothing is cast at all";
    EXPECT_EQ(at(read(replicas + llama + "dtype = \"bfloat16\"\n"), "/training/autocast"), nullptr);
    const std::string reduces = "mixed_precision_reduce = \"bfloat16\"\n";
    EXPECT_EQ(at(read(replicas + llama + reduces), "/training/grad_reduce_precision"), nullptr) << "FSDP's alone";
    EXPECT_EQ(at(read(llama + reduces), "/training/grad_reduce_precision"), "bf16");
}

/// Micro-batches of one, unless a size is given.
TEST(TorchTitan, CutsALocalBatchForItsPipeline) {
    const Imported piped = read(llama + "[parallelism]\npipeline_parallel_degree = 4\n");
    EXPECT_EQ(at(piped, "/training/micro_batch_size"), 1) << refusals(piped);
    EXPECT_EQ(at(piped, "/training/global_batch_size"), 2 * at(piped, "/strategy/data").get<int>());
}

/// train.py runs the schedule once for each step of accumulation.
TEST(TorchTitan, NotesPipelinesThatFollowEachOther) {
    const std::string piped = "[parallelism]\npipeline_parallel_degree = 4\ndata_parallel_shard_degree = 16\n";
    const auto noted = [](const std::string& text) {
        return says(read(text), Verdict::not_modelled, "not once for each step of accumulation");
    };
    EXPECT_FALSE(noted(llama + piped));
    EXPECT_FALSE(noted(llama + "global_batch_size = 32\n" + piped));
    EXPECT_TRUE(noted(llama + "global_batch_size = 64\n" + piped));
    EXPECT_FALSE(noted(llama + "global_batch_size = 512\n")) << "no pipeline";
}

TEST(TorchTitan, NamesWhatIsNearlyAKeyThatMatters) {
    EXPECT_TRUE(says(read(llama + "[activation_checkpoint]\nmod = \"full\"\n"), Verdict::unknown, "mod"));
}

TEST(TorchTitan, ReadsWhetherWeightsAreGivenBack) {
    const auto with = [](const char* word, const char* stages) {
        return read(llama + "[parallelism]\npipeline_parallel_degree = " + stages +
                    "\nfsdp_reshard_after_forward = \"" + word + "\"\n");
    };
    const char* const key = "/strategy/fsdp_reshard_after_forward";
    EXPECT_EQ(at(with("never", "1"), key), false);
    EXPECT_EQ(at(with("default", "2"), key), false);
    EXPECT_TRUE(at(with("default", "1"), key).is_null());
    EXPECT_TRUE(at(with("always", "2"), key).is_null());
    EXPECT_TRUE(says(with("sometimes", "1"), Verdict::refused, "fsdp_reshard_after_forward"));
}

TEST(TorchTitan, RefusesWhatIsNotModelledAllAtOnce) {
    const Imported job = read(
        "[model]\nname = \"deepseek_v3\"\nflavor = \"16B\"\n[training]\nlocal_batch_size = \"two\"\n"
        "[parallelism]\npipeline_parallel_degree = 4\npipeline_parallel_schedule = \"LoopedBFS\"\n");
    for (const char* word : {"sizes of deepseek_v3 16B", "LoopedBFS", "seq_len"})
        EXPECT_TRUE(says(job, Verdict::refused, word)) << word << " is missing from\n" << refusals(job);
}

Imported pipelined(const std::string& keys, const char* schedule = "1F1B", int stages = 4) {
    return read("[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nlocal_batch_size = 16\nseq_len = 8192\n" +
                std::string("[parallelism]\npipeline_parallel_degree = ") + std::to_string(stages) +
                "\npipeline_parallel_schedule = \"" + schedule + "\"\n" + keys + "\n");
}

TEST(TorchTitan, ReadsPipelinesInAV) {
    for (const auto& [name, here] : {std::pair("DualPipeV", "dualpipe-v"), std::pair("ZBVZeroBubble", "zb-v")}) {
        const Imported job = pipelined("", name);
        EXPECT_EQ(at(job, "/strategy/schedule"), here) << refusals(job);
        EXPECT_EQ(at(job, "/strategy/virtual_pipeline"), 2);
    }
}

/// Of a Llama 3 8B, with these lines.
Imported with(const std::string& lines) {
    return read("[model]\nname = \"llama3\"\nflavor = \"8B\"\n" + lines +
                "\n[training]\nlocal_batch_size = 16\nseq_len = 8192\n");
}

TEST(TorchTitan, ReadsWhatProductsAndStatesAreIn) {
    for (const char* converter : {"quantize.linear.mx", "mx"}) {
        const Imported job = with(std::string("converters = [\"") + converter + "\"]\n[" + converter +
                                  "]\nrecipe_name = \"mxfp8_cublas\"");
        EXPECT_EQ(at(job, "/training/precision"), "fp8") << refusals(job);
        EXPECT_EQ(at(job, "/training/fp8_recipe"), "mxfp8");
        EXPECT_EQ(at(job, "/training/software"), "pytorch");
    }
    for (const std::string section : {"float8", "quantize.linear.float8", "quantize.dense.float8"}) {
        const Imported job =
            with("converters = [\"" + section + "\"]\n[" + section + "]\nenable_fsdp_float8_all_gather = true");
        EXPECT_EQ(at(job, "/training/precision"), "fp8") << refusals(job);
        EXPECT_EQ(at(job, "/training/fp8_param_gather"), true) << section;
    }
    EXPECT_TRUE(says(with("converters = [\"quantize.grouped_mm.mx\"]"), Verdict::not_modelled, "grouped_mm.mx"));
    EXPECT_TRUE(says(with("converters = [\"mx\"]\n[mx]\nrecipe_name = \"mxfp4_cutlass\""), Verdict::refused, "mx"));
    const Imported pure = read(
        "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nlocal_batch_size = 1\nseq_len = 8192\n"
        "dtype = \"bfloat16\"\n[optimizer]\nimplementation = \"for-loop\"\n");
    EXPECT_EQ(at(pure, "/training/master_weights"), false) << refusals(pure);
    EXPECT_EQ(at(pure, "/training/fused_optimizer"), false);
}

TEST(TorchTitan, ReadsHowManyMicroBatchesThereAre) {
    const std::string number = "[experimental]\npipeline_parallel_microbatches = ";
    EXPECT_EQ(at(pipelined(number + "8"), "/training/micro_batch_size"), 2);
    EXPECT_EQ(at(pipelined(number + "8"), "/strategy/gradient_sync"), "step");
    EXPECT_TRUE(says(pipelined(number + "3"), Verdict::refused, "3 micro-batches do not divide 16"));
}

TEST(TorchTitan, ReadsWhetherExpertsAreWhole) {
    const auto experts = [](const std::string& more) {
        return with("[parallelism]\ntensor_parallel_degree = 2\nexpert_parallel_degree = 4\n" + more);
    };
    EXPECT_EQ(at(experts(""), "/strategy/expert_tensor"), 1);
    EXPECT_EQ(at(experts("expert_tensor_parallel_degree = 1"), "/strategy/expert_tensor"), 1);
    EXPECT_EQ(at(experts("expert_tensor_parallel_degree = 2"), "/strategy/expert_tensor"), nullptr);
    EXPECT_TRUE(says(experts("expert_tensor_parallel_degree = 4"), Verdict::refused, "experts are whole"));
}

TEST(TorchTitan, ReadsWhatAPolicyOfCheckpointsKeeps) {
    const auto option = [](const std::string& model, const char* word) {
        return read(model + "[activation_checkpoint]\nmode = \"selective\"\nselective_ac_option = \"" + word + "\"\n");
    };
    EXPECT_EQ(at(option(llama, "op"), "/strategy/recompute"), "full") << refusals(option(llama, "op"));
    EXPECT_EQ(at(option(llama, "op"), "/strategy/checkpoint_policy"), "every_second_mm");
    EXPECT_EQ(at(option(llama, "op"), "/strategy/recompute_early_stop"), true);
    EXPECT_EQ(at(option(llama, "1"), "/strategy/recompute"), "full") << "every layer";
    EXPECT_EQ(at(option(llama, "1"), "/strategy/checkpoint_policy"), nullptr);
    EXPECT_TRUE(says(option(llama, "2"), Verdict::not_modelled, "activation_checkpoint.mode"));
    std::string experts = llama;
    experts.replace(experts.find("llama3"), 6, "qwen3").replace(experts.find("8B"), 2, "30B-A3B");
    EXPECT_EQ(at(option(experts, "op"), "/strategy/checkpoint_policy"), "every_second_mm");
}

TEST(TorchTitan, KnowsWhatItDoesWhereNothingIsSaid) {
    const Imported job = with("");
    EXPECT_EQ(at(job, "/strategy/recompute"), "selective") << refusals(job);
    EXPECT_TRUE(says(job, Verdict::not_modelled, "activation_checkpoint.mode"));
    EXPECT_EQ(at(with("[activation_checkpoint]\nmode = \"none\""), "/strategy/recompute"), "none");
    EXPECT_EQ(at(with("[compile]\nenable = true"), "/training/kernel_fusion"), "full");
    EXPECT_EQ(at(with("[compile]\nenable = true\ncomponents = [\"loss\"]"), "/training/kernel_fusion"), "operators");
    EXPECT_EQ(at(job, "/training/cross_entropy"), "torch");
    EXPECT_EQ(at(with("[compile]\nenable = true"), "/training/cross_entropy"), "fused");
    EXPECT_EQ(at(with("[compile]\nenable = true\ncomponents = [\"model\"]"), "/training/cross_entropy"), "torch");
}

TEST(TorchTitan, ReadsStagesOfUnequalSize) {
    const std::string points = "pipeline_parallel_split_points = ";
    const Imported list = pipelined(points + "[\"layers.7\", \"layers.16\", \"layers.25\"]");
    EXPECT_EQ(at(list, "/strategy/pipeline_layers"), "7,9,9,7") << refusals(list);
    EXPECT_EQ(at(pipelined(points + "\"layers.7,layers.16,layers.25\""), "/strategy/pipeline_layers"), "7,9,9,7");
    const Imported chunks = pipelined(points + "[\"layers.7\", \"layers.16\", \"layers.25\"]", "Interleaved1F1B", 2);
    EXPECT_EQ(at(chunks, "/strategy/virtual_pipeline"), 2) << refusals(chunks);
    EXPECT_EQ(at(chunks, "/strategy/pipeline_layers"), "7,9,9,7");
    EXPECT_EQ(at(pipelined(points + "[]"), "/strategy/pipeline_layers"), nullptr);
}

TEST(TorchTitan, ReadsModulesOfEachPart) {
    const auto part = [](int first, int last, const std::string& before, const std::string& behind) {
        std::string text = "[" + before;
        for (int layer = first; layer < last; ++layer) text += "\"layers." + std::to_string(layer) + "\", ";
        return text + behind + "]";
    };
    const std::string first = part(0, 15, "\"tok_embeddings\", ", ""), last = part(15, 32, "", "\"norm\", \"output\"");
    const std::string modules = "module_fqns_per_model_part = ";
    const Imported read = pipelined(modules + "[" + first + ", " + last + "]", "1F1B", 2);
    EXPECT_EQ(at(read, "/strategy/pipeline_layers"), "15,17") << refusals(read);
    const Imported gap = pipelined(modules + "[" + part(0, 14, "", "") + ", " + last + "]", "1F1B", 2);
    EXPECT_TRUE(says(gap, Verdict::refused, "no layers that follow each other")) << refusals(gap);
}

TEST(TorchTitan, RefusesStagesThatItCannotPlace) {
    const std::string points = "pipeline_parallel_split_points = ";
    const auto refuses = [&](const std::string& value, const char* word, const char* schedule = "1F1B") {
        const Imported read = pipelined(points + value, schedule, 2);
        EXPECT_TRUE(says(read, Verdict::refused, word)) << value << '\n' << refusals(read);
    };
    refuses("[\"layers.7\", \"layers.16\"]", "3 parts do not divide among 2 stages");
    refuses("[\"layers.40\"]", "no layers that follow each other");
    refuses("[\"norm\"]", "no layers that follow each other");
    refuses("[7]", "no layers that follow each other");
    refuses("[\"layers.7\", \"layers.16\", \"layers.25\"]", "parts in a V", "DualPipeV");
    refuses("[\"layers.7\", \"layers.16\", \"layers.25\"]", "parts in a V", "ZBVZeroBubble");
}

TEST(TorchTitan, ReadsContextRanksAndGroupsThatShare) {
    const char* const file =
        "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nlocal_batch_size = 1\nseq_len = 8192\n"
        "[parallelism]\ncontext_parallel_degree = 2\ndata_parallel_replicate_degree = 2\n"
        "data_parallel_shard_degree = 4\n";
    const Imported job = read(file);
    EXPECT_EQ(at(job, "/strategy/context"), 2);
    EXPECT_EQ(at(job, "/strategy/cp_comm_type"), "all_gather");
    EXPECT_EQ(at(job, "/strategy/sharding"), "zero3");
    EXPECT_EQ(at(job, "/strategy/num_distributed_optimizer_instances"), 2);
    EXPECT_EQ(at(job, "/strategy/fsdp_implementation"), "fsdp2");
    EXPECT_EQ(at(job, "/strategy/gradient_sync"), nullptr) << "behind every micro-batch";
    EXPECT_EQ(at(job, "/training/gradient_accumulation_fusion"), false);
    const Imported ring = read(std::string(file) + "context_parallel_rotate_method = \"alltoall\"\n");
    EXPECT_EQ(at(ring, "/strategy/cp_comm_type"), "p2p");
}

TEST(TorchTitan, SaysWhereTomlEnds) {
    try {
        (void)read("[model\nname = 1\n");
        FAIL() << "it was read";
    } catch (const Error& error) {
        EXPECT_EQ(error.pointer().substr(0, 2), "1:");
        EXPECT_FALSE(error.hint().empty());
    }
}

}  // namespace
}  // namespace orrery::doors
