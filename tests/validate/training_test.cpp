#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "tests/validate/sample.hpp"
#include "validate/map_row.hpp"
#include "validate/rows.hpp"

namespace orrery::validate {

using kernels::Dtype;
using nlohmann::json;
using test::mapped;
using test::reason;
using test::with;

namespace {

strategies::Training training(const json& patch) { return mapped(patch).plan.training; }

const json bert = {{"model", {{"name", "bert-large"}}},
                   {"switches", {{"framework", "PyTorch"}}},
                   {"gpus", 8},
                   {"nodes", 1},
                   {"tp", 1},
                   {"gbs", nullptr}};

const json llama = {{"tp", 1},
                    {"dp", 16},
                    {"model",
                     {{"name", "llama-2-7b"},
                      {"layers", 32},
                      {"hidden", 4096},
                      {"heads", 32},
                      {"ffn", 11008},
                      {"vocab", 32000},
                      {"gated", true}}}};

}  // namespace

TEST(MapTraining, Precisions) {
    const auto precision = [](const char* text) { return training({{"precision", text}}).precision.compute; };
    EXPECT_EQ(precision("fp16 mixed (recollection)"), Dtype::fp16);
    EXPECT_EQ(precision("mixed (fp16/AMP)"), Dtype::fp16);
    EXPECT_EQ(precision("BF16"), Dtype::bf16);
    EXPECT_EQ(precision("amp_bf16"), Dtype::bf16);
    EXPECT_EQ(precision("tf32"), Dtype::tf32);
    EXPECT_EQ(precision("fp32"), Dtype::fp32);
    EXPECT_EQ(precision("MXFP8"), Dtype::fp8);
    EXPECT_EQ(precision("FP8-MX/blockwise (value in parentheses)"), Dtype::fp8);
    EXPECT_EQ(precision("NVFP4"), Dtype::fp4);
    EXPECT_EQ(precision("float8 (bf16 master weights)"), Dtype::fp8);
    EXPECT_EQ(reason({{"precision", "bf16, FP8 possible"}}), "precision not understood: bf16, fp8 possible");
    EXPECT_EQ(reason({{"precision", "int4"}}), "precision not understood: int4");
    EXPECT_EQ(reason({{"precision", nullptr}}), "precision not published");
}

TEST(MapTraining, ScalesOfFp8GoByItsName) {
    using strategies::Fp8Recipe;
    const auto recipe = [](const char* text) { return training({{"precision", text}}).fp8_recipe; };
    EXPECT_EQ(recipe("FP8"), Fp8Recipe::delayed);
    EXPECT_EQ(recipe("FP8-CS"), Fp8Recipe::tensorwise);
    EXPECT_EQ(recipe("MXFP8"), Fp8Recipe::mxfp8);
    EXPECT_EQ(recipe("FP8 blockwise"), Fp8Recipe::blockwise);
    EXPECT_EQ(reason({{"precision", "FP8 rowwise"}}), "fp8 with a scale for each row is not supported");
    for (const char* ran : {"LLAMA3_70B_PRETRAIN_CONFIG_H100_FP8_CS_V2", "llama3_70b_pretrain_64gpu_h100_fp8cs_config"})
        EXPECT_EQ(training({{"precision", "FP8"}, {"switches", {{"recipe", ran}}}}).fp8_recipe, Fp8Recipe::tensorwise);
    const json subchannel{{"precision", "FP8-MX/blockwise"},
                          {"switches", {{"recipe", "deepseek_v3.yaml h100 fp8_ss"}}}};
    EXPECT_EQ(training(subchannel).fp8_recipe, Fp8Recipe::blockwise);
}

TEST(MapTraining, OptimizersAreThoseOfTheScripts) {
    using strategies::Optimizer;
    const auto updated = [](const json& patch) {
        const strategies::Training of = training(patch);
        return std::pair{of.optimizer, of.fused_optimizer};
    };
    const json elsewhere = with(bert, {{"gbs", 64}, {"mbs", 8}});
    const json examples = with(elsewhere, {{"source", {{"repo", "NVIDIA/DeepLearningExamples"}}}});
    EXPECT_EQ(updated({}), std::pair(Optimizer::adam, true));
    EXPECT_EQ(updated(elsewhere), std::pair(Optimizer::adam, true));
    EXPECT_EQ(updated(examples), std::pair(Optimizer::lamb, true));
    EXPECT_EQ(updated({{"switches", {{"optimizer", "bnb 8-bit Adam"}}}}), std::pair(Optimizer::adam8bit, false));
    EXPECT_EQ(updated({{"switches", {{"optimizer", "muon"}}}}), std::pair(Optimizer::muon, true));
}

TEST(MapTraining, KernelsAreThoseOfTheFramework) {
    using strategies::KernelFusion;
    const auto fusion = [](const char* framework) {
        return training(with(bert, {{"switches", {{"framework", framework}}}, {"gbs", 64}, {"mbs", 8}})).kernel_fusion;
    };
    EXPECT_EQ(training({}).kernel_fusion, KernelFusion::full);
    EXPECT_EQ(fusion("PyTorch"), KernelFusion::operators);
    EXPECT_EQ(fusion("NGC MXNet"), KernelFusion::operators);
    EXPECT_EQ(fusion("OneFlow-W-O-clip"), KernelFusion::operators);
    EXPECT_EQ(fusion("OneFlow-GPT"), KernelFusion::full);
    EXPECT_EQ(fusion("Megatron + Deepspeed 3D (new branch)"), KernelFusion::full);
    EXPECT_EQ(fusion("gpt2-meg-ds-3d"), KernelFusion::full);
    for (const char* first : {"Megatron + Deepspeed ZeRO (old branch)", "gpt2-meg-ds-zero", "gpt2-meg-ds-3d-old"})
        EXPECT_EQ(fusion(first), KernelFusion::operators) << first;
    EXPECT_EQ(fusion("NGC TensorFlow 1.x"), KernelFusion::primitives);
    using hardware::AttentionKernel;
    EXPECT_EQ(training({}).attention_kernel, AttentionKernel::newest);
    EXPECT_EQ(training(with(bert, {{"gbs", 64}, {"mbs", 8}})).attention_kernel, AttentionKernel::flash_2);
    EXPECT_EQ(training({{"switches", {{"framework", "NeMo"}}}}).attention_kernel, AttentionKernel::cudnn);
    EXPECT_EQ(training({{"source", {{"release", "26.02.01"}}}, {"switches", {{"framework", "NeMo"}}}}).attention_kernel,
              AttentionKernel::cudnn_9_17);
    EXPECT_EQ(training({{"source", {{"release", "25.11"}}}, {"switches", {{"framework", "NeMo"}}}}).attention_kernel,
              AttentionKernel::cudnn);
    EXPECT_EQ(
        training(with(bert, {{"switches", {{"framework", "llm-foundry"}}}, {"gbs", 64}, {"mbs", 8}})).attention_kernel,
        AttentionKernel::flash_triton);
    EXPECT_EQ(fusion("NGC TensorFlow 1.x w/XLA"), KernelFusion::operators);
}

/// TensorFlow's and PaddlePaddle's graphs are rewritten so; PaddlePaddle's O2 keeps everything in 16 bits, and what
/// stands around convolutions is no residual stream.
TEST(MapTraining, RewrittenGraphsKeepResidualsInFp32) {
    const auto widens = [](const char* framework, const char* precision) {
        const auto read = training(
            with(bert, {{"switches", {{"framework", framework}}}, {"gbs", 64}, {"mbs", 8}, {"precision", precision}}));
        EXPECT_EQ(read.fp32_residual_connection, read.fp32_activation_function) << framework;
        return read.fp32_residual_connection;
    };
    EXPECT_TRUE(widens("NGC TensorFlow 1.x", "fp16 AMP"));
    EXPECT_TRUE(widens("PaddlePaddle bsz=160", "fp16 AMP"));
    EXPECT_FALSE(widens("PaddlePaddle 2.5.1", "fp16, level O2"));
    EXPECT_FALSE(widens("PaddlePaddle", "fp32"));
    EXPECT_FALSE(widens("OneFlow", "fp16 AMP"));
}

TEST(MapTraining, NormsOfRootMeanSquaresAreOneKernelWhereTheSoftwareHasOne) {
    const auto fused = [&](const json& switches) {
        return training(with(llama, {{"switches", switches}})).fused_rms_norm;
    };
    EXPECT_TRUE(fused({{"framework", "Megatron-LM"}}));
    EXPECT_FALSE(fused({{"framework", "PyTorch"}}));
    EXPECT_FALSE(fused({{"framework", "LitGPT (PyTorch)"}}));
    EXPECT_TRUE(fused({{"framework", "nanotron (PyTorch)"}}));
    EXPECT_TRUE(fused({{"framework", "PyTorch"}, {"use_fused_rms_norm", true}}));
    EXPECT_FALSE(fused({{"framework", "Megatron-LM"}, {"use_fused_rms_norm", false}}));
    EXPECT_TRUE(fused({{"framework", "PyTorch"}, {"rms_norm_kernel", "fused"}}));
    // Other norms have no such choice.
    EXPECT_TRUE(training({{"switches", {{"framework", "PyTorch"}}}}).fused_rms_norm);
}

/// Hugging Face's and Google's models keep apart what Megatron-LM joins.
TEST(MapTraining, ProductsAreApartWhereTheSoftwareKeepsThem) {
    const auto of = [](const json& row, const char* framework) {
        const auto read = training(with(row, {{"switches", {{"framework", framework}}}}));
        return std::array{read.fused_qkv, read.fused_gate, read.enable_gqa};
    };
    EXPECT_TRUE(training(with(llama, {{"switches", {{"framework", "torchtitan"}}}})).complex_rope);
    EXPECT_FALSE(training(with(llama, {{"switches", {{"framework", "fms-fsdp (PyTorch)"}}}})).complex_rope);
    using Three = std::array<bool, 3>;
    EXPECT_EQ(of(llama, "Megatron-LM"), (Three{true, true, true}));
    EXPECT_EQ(of(llama, "fms-fsdp (PyTorch)"), (Three{false, false, false}));
    EXPECT_EQ(of(llama, "InternEvo (PyTorch)"), (Three{true, false, true}));
    EXPECT_EQ(of(llama, "nanotron (PyTorch)"), (Three{true, true, true}));
    const json small = with(bert, {{"gbs", 64}, {"mbs", 8}});
    EXPECT_EQ(of(small, "NGC TensorFlow 1.x")[0], false);
    EXPECT_EQ(of(small, "MXNet")[0], true);
    EXPECT_EQ(of({}, "PyTorch")[0], true) << "a GPT";
}

/// NeMo's squared ReLU is two operators of PyTorch; a flag takes a GELU or a SwiGLU apart.
TEST(MapTraining, ActivationsAreOneKernelWhereTheSoftwareHasOne) {
    const auto fused = [](const json& patch) { return training(patch).bias_activation_fusion; };
    const json nemotron = {{"model", {{"name", "nemotron4-15b"}, {"gated", false}}}};
    EXPECT_FALSE(fused(with(nemotron, {{"switches", {{"framework", "NeMo"}}}})));
    EXPECT_TRUE(fused(with(nemotron, {{"switches", {{"framework", "Megatron-LM"}}}})));
    EXPECT_TRUE(fused({}));
    EXPECT_FALSE(fused({{"switches", {{"no-bias-gelu-fusion", true}}}}));
    EXPECT_TRUE(fused({{"switches", {{"no-bias-swiglu-fusion", true}}}}));
}

/// What the launch script and the recipe behind it set of two models of NeMo 2, whose tables have no columns for it.
TEST(MapTraining, RowsOfDgxcBenchmarkingAreTheirLaunches) {
    std::size_t latent = 0, hybrid = 0;
    for (const Row& row : load_rows("scenarios/validation/nvidia_dgxc_benchmarking.json").rows) {
        const bool deepseek = row.id().find("/deepseek_v3/") != std::string::npos;
        if (!deepseek && row.id().find("/nemotronh/") == std::string::npos) continue;
        const strategies::Plan plan = map_row(row, [](const std::string&) { return true; }).plan;
        EXPECT_FALSE(plan.strategy.tensor_comm_overlap) << row.id();
        if (!deepseek) {
            EXPECT_FALSE(plan.strategy.overlap_param_gather || plan.training.bias_activation_fusion) << row.id();
            ++hybrid;
            continue;
        }
        ++latent;
        const bool blackwell = row.words("gpu") == "gb200";
        EXPECT_EQ(plan.training.fused_attention, !blackwell) << row.id();
        EXPECT_EQ(plan.model.further_tokens, 1U);
        EXPECT_EQ(plan.strategy.dispatcher, strategies::Dispatcher::alltoall);
        EXPECT_TRUE(plan.training.pad_to_capacity && !plan.training.cuda_graph);
        EXPECT_EQ(plan.strategy.first_stage_layers, plan.strategy.last_stage_layers + 1);
        EXPECT_EQ(plan.strategy.recompute_modules, blackwell ? "core_attn" : "mla_up_proj");
    }
    EXPECT_EQ(latent, 5U);
    EXPECT_EQ(hybrid, 7U);
}

TEST(MapTraining, TheHostRunsTheFrameworksCode) {
    using hardware::Software;
    const auto software = [](const json& patch) { return training(patch).software; };
    const json core = {{"source", {{"paper", nullptr}, {"address", nullptr}, {"repo", "NVIDIA/Megatron-LM"}}}};
    EXPECT_EQ(software({}), Software::megatron_lm);
    EXPECT_EQ(software(core), Software::transformer_engine);
    EXPECT_EQ(software(with(core, {{"switches", {{"transformer-impl", "local"}}}})), Software::megatron_lm);
    EXPECT_EQ(software(with(bert, {{"gbs", 64}, {"mbs", 8}})), Software::pytorch);
    EXPECT_EQ(software(with(bert, {{"gbs", 64}, {"mbs", 8}, {"switches", {{"framework", "TensorFlow2"}}}})),
              Software::tensorflow);
}

TEST(MapTraining, RecipesOfNvidiaCaptureGraphsOnBlackwell) {
    const auto graph = [](const char* gpu, const json& switches) {
        return training({{"gpu", gpu}, {"nodes", nullptr}, {"node", nullptr}, {"switches", switches}}).cuda_graph;
    };
    EXPECT_TRUE(graph("GB200", {{"framework", "NeMo"}}));
    EXPECT_TRUE(graph("B200", {{"framework", "NeMo"}}));
    EXPECT_FALSE(graph("H100", {{"framework", "NeMo"}}));
    EXPECT_FALSE(graph("GB200", {{"framework", "NeMo"}, {"cuda-graph-impl", "none"}}));
    EXPECT_TRUE(graph("GB200", {{"framework", "NeMo"}, {"cuda-graph-impl", "local"}, {"cuda-graph-scope", "full"}}));
    EXPECT_TRUE(training({{"switches", {{"deterministic-mode", true}}}}).deterministic);
}

TEST(MapTraining, GradientsAreReducedAsTheSoftwareDoes) {
    EXPECT_EQ(training({}).precision.grad_reduce, Dtype::fp16);
    EXPECT_EQ(training({{"precision", "tf32"}}).precision.grad_reduce, Dtype::fp32);
    const json core = {{"source", {{"paper", nullptr}, {"address", nullptr}, {"repo", "NVIDIA/Megatron-LM"}}},
                       {"precision", "bf16"}};
    EXPECT_EQ(training(core).precision.grad_reduce, Dtype::fp32);
    EXPECT_EQ(training(with(core, {{"switches", {{"framework", "NeMo"}}}})).precision.grad_reduce, Dtype::bf16);
}

TEST(MapTraining, PairsGoByPrecision) {
    // "Batch size 128 and 256, accumulation 64 and 32" for TF32 and mixed precision.
    const json pair = with(bert, {{"mbs", "128 and 256"}, {"grad_accum", "64 and 32"}});
    const auto mixed = training(with(pair, {{"precision", "mixed (fp16/AMP)"}}));
    EXPECT_EQ(mixed.micro_batch, 256U);
    EXPECT_EQ(mixed.global_batch, 256U * 32 * 8);
    const auto full = training(with(pair, {{"precision", "tf32"}}));
    EXPECT_EQ(full.micro_batch, 128U);
    EXPECT_EQ(full.global_batch, 128U * 64 * 8);
    // The other order of printing says the same.
    const json reversed = with(bert, {{"mbs", "60 , 32"}, {"grad_accum", "64 , 128"}, {"precision", "fp32"}});
    EXPECT_EQ(training(reversed).micro_batch, 32U);
    EXPECT_EQ(training(reversed).global_batch, 32U * 128 * 8);
}

TEST(MapTraining, EqualPairsBesideAccumulationsAreAStepsBatch) {
    const json pair = with(bert, {{"mbs", "4096 and 4096"}, {"grad_accum", "128 and 64"}});
    EXPECT_EQ(training(with(pair, {{"precision", "fp32"}})).micro_batch, 32U);
    EXPECT_EQ(training(with(pair, {{"precision", "mixed"}})).micro_batch, 64U);
    EXPECT_EQ(training(with(pair, {{"precision", "mixed"}})).global_batch, 4096U * 8);
    const json same = with(bert, {{"mbs", "64 , 64"}, {"grad_accum", "128 , 128"}, {"precision", "fp32"}});
    EXPECT_EQ(training(same).micro_batch, 64U);
}

TEST(MapTraining, AbsentBatches) {
    EXPECT_EQ(training({{"mbs", nullptr}, {"grad_accum", 2}}).micro_batch, 4U);
    EXPECT_EQ(training({{"mbs", nullptr}, {"gbs", 8}}).micro_batch, 1U);
    EXPECT_EQ(training({{"mbs", nullptr}, {"pp", 2}, {"tp", 1}}).micro_batch, 1U) << "a pipeline";
    EXPECT_EQ(training({{"mbs", nullptr}, {"model", {{"seq", 8192}}}}).micro_batch, 1U) << "long sequences";
    EXPECT_EQ(reason({{"mbs", nullptr}}), "micro-batch not published");
    EXPECT_EQ(training({{"gbs", nullptr}, {"grad_accum", 4}}).global_batch, 2U * 4 * 8);
    EXPECT_EQ(training({{"gbs", nullptr}}).global_batch, 2U * 8);
    EXPECT_EQ(reason({{"gbs", nullptr}, {"mbs", nullptr}}), "batch not published");
    EXPECT_EQ(reason({{"gbs", nullptr}, {"pp", 2}, {"tp", 1}}), "global batch not published");
    EXPECT_EQ(reason({{"gbs", 65}}), "global batch is no multiple of micro-batch and data parallelism");
    EXPECT_EQ(reason({{"mbs", "many"}}), "field not understood: mbs");
    EXPECT_EQ(reason({{"mbs", "1 2 3"}}), "field not understood: mbs");
    EXPECT_EQ(reason({{"mbs", 2000000000}, {"gbs", nullptr}, {"grad_accum", 2000000000}}),
              "field out of range: grad_accum");
}

TEST(MapTraining, FusedAttentionNeedsAmpereAndSoftwareOfItsTime) {
    const json core = {{"source", {{"paper", nullptr}, {"address", nullptr}, {"repo", "NVIDIA/Megatron-LM"}}}};
    EXPECT_FALSE(training({}).fused_attention);
    EXPECT_TRUE(training(core).fused_attention);
    EXPECT_FALSE(training(with(core, {{"switches", {{"transformer-impl", "local"}}}})).fused_attention);
    EXPECT_FALSE(training(with(core, {{"gpu", "V100-32GB"}, {"switches", {{"attention", "flash"}}}})).fused_attention);
    EXPECT_TRUE(training({{"switches", {{"attention", "TE/flash"}}}}).fused_attention);
    EXPECT_FALSE(training({{"switches", {{"framework", "TensorFlow"}}}}).fused_attention);
}

TEST(MapTraining, KernelsByArgument) {
    const json core = {{"source", {{"paper", nullptr}, {"address", nullptr}, {"repo", "NVIDIA/Megatron-LM"}}}};
    EXPECT_TRUE(training(core).gradient_accumulation_fusion);
    EXPECT_FALSE(training({}).gradient_accumulation_fusion);
    EXPECT_FALSE(
        training(with(core, {{"switches", {{"no-gradient-accumulation-fusion", true}}}})).gradient_accumulation_fusion);
    EXPECT_FALSE(training(core).cuda_graph);
    EXPECT_TRUE(training(with(core, {{"switches", {{"cuda-graph-impl", "transformer_engine"}}}})).cuda_graph);
    EXPECT_FALSE(training(with(core, {{"switches", {{"cuda_graph", false}}}})).cuda_graph);
    EXPECT_EQ(training({{"switches", {{"framework", "OneFlow W/O clip bsz=96"}}}}).grad_clip, 0.0);
    EXPECT_EQ(training({}).grad_clip, 1.0);
}

}  // namespace orrery::validate
