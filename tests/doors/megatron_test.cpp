// Arguments and launch scripts of Megatron-LM.
#include <gtest/gtest.h>

#include "base/read_file.hpp"
#include "tests/doors/importing.hpp"

namespace orrery::doors {
namespace {

const std::string small =
    "--num-layers 24 --hidden-size 2048 --num-attention-heads 16 --seq-length 2048 --max-position-embeddings 2048 "
    "--micro-batch-size 2 --global-batch-size 256 --bf16 ";

Imported with(const std::string& more) { return of_arguments(small + more); }

TEST(Megatron, ReadsSizesBatchesAndParallelism) {
    const Imported read = with(
        "--tensor-model-parallel-size 4 --pipeline-model-parallel-size=2 --sequence-parallel "
        "--use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather");
    ASSERT_FALSE(read.refused()) << refusals(read);
    EXPECT_EQ(at(read, "/model/num_hidden_layers"), 24);
    EXPECT_EQ(at(read, "/model/vocab_size"), 50257);
    EXPECT_EQ(at(read, "/model/max_position_embeddings"), 2048);
    EXPECT_EQ(at(read, "/strategy/tensor"), 4);
    EXPECT_EQ(at(read, "/strategy/pipeline"), 2);
    EXPECT_EQ(at(read, "/strategy/data"), 8);
    EXPECT_EQ(at(read, "/strategy/sequence_parallel"), true);
    EXPECT_EQ(at(read, "/strategy/sharding"), "zero1");
    EXPECT_EQ(at(read, "/strategy/overlap_param_gather"), true);
    EXPECT_EQ(at(read, "/training/global_batch_size"), 256);
    EXPECT_EQ(at(read, "/training/precision"), "bf16");
    EXPECT_EQ(at(read, "/training/dropout"), 0.1);
    EXPECT_EQ(at(read, "/cluster"), nlohmann::json({{"preset", "dgx-a100"}, {"nodes", 8}}));
}

TEST(Megatron, ReadsALlama) {
    const Imported read = of_arguments(
        "--num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 --num-attention-heads 32 --group-query-attention "
        "--num-query-groups 8 --seq-length 8192 --position-embedding-type rope --rotary-base 500000 --swiglu "
        "--normalization RMSNorm --untie-embeddings-and-output-weights --disable-bias-linear --hidden-dropout 0 "
        "--attention-dropout 0 --micro-batch-size 1 --bf16 --tokenizer-type Llama3Tokenizer");
    ASSERT_FALSE(read.refused()) << refusals(read);
    EXPECT_EQ(at(read, "/model/num_key_value_heads"), 8);
    EXPECT_EQ(at(read, "/model/intermediate_size"), 14336);
    EXPECT_EQ(at(read, "/model/vocab_size"), 128256);
    EXPECT_EQ(at(read, "/model/position_embedding_type"), "rope");
    EXPECT_EQ(at(read, "/model/tie_word_embeddings"), false);
    EXPECT_EQ(at(read, "/model/add_bias_linear"), false);
    EXPECT_EQ(at(read, "/model/add_qkv_bias"), false);
    EXPECT_EQ(at(read, "/training/global_batch_size"), 64) << "a micro-batch of every replica";
}

TEST(Megatron, NotesWeightGradientsThatAreNotInFp8) {
    EXPECT_TRUE(says(with("--bf16 --fp8-format hybrid --no-fp8-wgrad"), Verdict::not_modelled, "no-fp8-wgrad"));
}

TEST(Megatron, RefusesTwoPrecisionsAtOnce) {
    EXPECT_TRUE(says(with("--bf16 --fp16"), Verdict::refused, "given beside --bf16"));
    const Imported narrow = with("--bf16 --fp8-format hybrid --fp4-format e2m1");
    EXPECT_TRUE(says(narrow, Verdict::refused, "given beside --fp8-format")) << refusals(narrow);
}

TEST(Megatron, KnowsTheDefaultsOfWhatIsNotGiven) {
    EXPECT_EQ(at(with("--swiglu"), "/model/intermediate_size"), 5440) << "two thirds of 4 x 2048, in tiles of 64";
    EXPECT_EQ(at(with("--group-query-attention"), "/model/num_key_value_heads"), 1);
    EXPECT_EQ(at(with("--num-query-groups 4"), "/model/num_key_value_heads"), nullptr);
    EXPECT_EQ(at(with("--sequence-parallel"), "/strategy/sequence_parallel"), nullptr) << "of one tensor rank";
    const Imported padded = with("--vocab-size 50000 --make-vocab-size-divisible-by 1024");
    EXPECT_EQ(at(padded, "/model/vocab_size"), 50000);
    EXPECT_EQ(at(padded, "/model/make_vocab_size_divisible_by"), 1024);
    EXPECT_EQ(at(with("--vocab-size 1000 --tokenizer-type NullTokenizer"), "/model/vocab_size"), 1001);
    EXPECT_EQ(at(with("--transformer-impl local"), "/training/fused_attention"), false);
    EXPECT_EQ(at(with("--transformer-impl local --use-flash-attn"), "/training/fused_attention"), true);
    EXPECT_EQ(at(with("--fp8-format hybrid --fp8-recipe blockwise"), "/training/precision"), "fp8");
    EXPECT_EQ(at(with("--bf16"), "/training/software"), "transformer-engine") << "today's layers";
    EXPECT_EQ(at(with("--bf16 --transformer-impl local"), "/training/software"), nullptr);
    EXPECT_EQ(at(with("--bf16 --DDP-impl local"), "/training/software"), nullptr) << "of 2022";
    EXPECT_EQ(at(with("--fp8-format hybrid"), "/training/software"), "transformer-engine");
    EXPECT_EQ(at(with("--bf16 --fp4-format e2m1 --fp4-recipe nvfp4"), "/training/precision"), "fp4");
    EXPECT_EQ(
        at(with("--fp8-format hybrid --fp8-param-gather --use-distributed-optimizer"), "/training/fp8_param_gather"),
        true);
    EXPECT_EQ(
        at(with("--fp4-format e2m1 --fp4-param-gather --use-distributed-optimizer"), "/training/fp8_param_gather"),
        true);
    const Imported ends = with("--bf16 --fp8-format hybrid --first-last-layers-bf16 --num-layers-at-end-in-bf16 14");
    EXPECT_EQ(at(ends, "/training/num_layers_at_start_in_bf16"), 1);
    EXPECT_EQ(at(ends, "/training/num_layers_at_end_in_bf16"), 14);
    EXPECT_EQ(at(with("--num-layers-at-end-in-bf16 14"), "/training/num_layers_at_end_in_bf16"), nullptr);
}

TEST(Megatron, ReadsInterleavingByLayersAndByStages) {
    const Imported layers = with("--pipeline-model-parallel-size 4 --num-layers-per-virtual-pipeline-stage 3");
    EXPECT_EQ(at(layers, "/strategy/virtual_pipeline"), 2) << refusals(layers);
    EXPECT_EQ(at(layers, "/strategy/overlap_p2p"), true);
    const Imported stages = with(
        "--pipeline-model-parallel-size 4 --num-virtual-stages-per-pipeline-rank 3 "
        "--no-overlap-p2p-communication");
    EXPECT_EQ(at(stages, "/strategy/virtual_pipeline"), 3);
    EXPECT_EQ(at(stages, "/strategy/overlap_p2p"), nullptr);
    EXPECT_TRUE(says(with("--pipeline-model-parallel-size 4 --num-layers-per-virtual-pipeline-stage 4"),
                     Verdict::refused, "4 does not divide the 6 layers of a stage"));
}

TEST(Megatron, ReadsRecomputation) {
    EXPECT_EQ(at(with("--recompute-activations"), "/strategy/recompute"), "selective");
    EXPECT_EQ(at(with("--recompute-granularity full --recompute-method uniform --recompute-num-layers 1"),
                 "/strategy/recompute"),
              "full");
    EXPECT_EQ(at(with("--recompute-granularity full --recompute-method block --recompute-num-layers 5"),
                 "/strategy/recompute_num_layers"),
              5);
    EXPECT_EQ(at(with("--recompute-granularity full --recompute-method block --recompute-num-layers 24"),
                 "/strategy/recompute_num_layers"),
              nullptr)
        << "all of them";
    EXPECT_EQ(at(with("--checkpoint-activations"), "/strategy/recompute"), "full");
    EXPECT_EQ(
        at(with("--recompute-granularity selective --recompute-modules mlp layernorm"), "/strategy/recompute_modules"),
        "mlp,layernorm");
    EXPECT_EQ(
        at(with("--recompute-granularity selective --recompute-modules core_attn"), "/strategy/recompute_modules"),
        nullptr);
    EXPECT_EQ(at(with("--moe-layer-recompute"), "/strategy/recompute_modules"), "moe");
    EXPECT_TRUE(says(with("--recompute-granularity selective --recompute-modules mhc"), Verdict::refused,
                     "modules that are known"));
}

/// arguments.py: --optimizer {adam,sgd}, --sgd-momentum 0.9.
TEST(Megatron, ReadsOptimizers) {
    EXPECT_EQ(at(with("--optimizer adam"), "/training/optimizer"), "adam");
    EXPECT_EQ(at(with("--optimizer sgd"), "/training/optimizer"), "momentum");
    EXPECT_EQ(at(with("--optimizer sgd --sgd-momentum 0"), "/training/optimizer"), "sgd");
    EXPECT_EQ(at(with("--sgd-momentum 0.9"), "/training/optimizer"), nullptr);
    EXPECT_EQ(at(with("--optimizer muon --muon-num-ns-steps 10"), "/training/optimizer"), "muon");
    EXPECT_EQ(at(with("--optimizer muon --muon-num-ns-steps 10"), "/training/muon_num_ns_steps"), 10);
    EXPECT_EQ(at(with("--optimizer dist_muon"), "/strategy/sharding"), "zero1");
}

TEST(Megatron, ReadsExperts) {
    const Imported read = with(
        "--num-experts 8 --moe-router-topk 2 --expert-model-parallel-size 8 --moe-grouped-gemm "
        "--moe-token-dispatcher-type alltoall --moe-layer-freq ([1]*24)");
    ASSERT_FALSE(read.refused()) << refusals(read);
    EXPECT_EQ(at(read, "/model/num_experts"), 8);
    EXPECT_EQ(at(read, "/model/moe_layer_freq"), 1);
    EXPECT_EQ(at(read, "/strategy/expert"), 8);
    EXPECT_EQ(at(read, "/training/moe_permute_fusion"), false) << "a switch, and not given";
    const Imported flex = with(
        "--num-experts 8 --moe-token-dispatcher-type flex --moe-enable-deepep --moe-permute-fusion "
        "--cuda-graph-impl transformer_engine --cuda-graph-scope attn moe_router moe_preprocess");
    EXPECT_EQ(at(flex, "/strategy/moe_token_dispatcher_type"), "flex");
    EXPECT_EQ(at(flex, "/training/moe_permute_fusion"), true);
    EXPECT_EQ(at(flex, "/training/cuda_graph_scope"), "outside_experts");
    EXPECT_EQ(at(with("--num-experts 8 --cuda-graph-scope full_iteration"), "/training/cuda_graph_scope"),
              "full_iteration");
    EXPECT_EQ(at(with("--num-experts 8 --cuda-graph-scope moe_router moe_preprocess"), "/training/cuda_graph_scope"),
              "routers");
    const Imported first_dense = with("--num-experts 8 --moe-layer-freq ([0]*1+[1]*23)");
    EXPECT_FALSE(first_dense.refused()) << refusals(first_dense);
    EXPECT_EQ(at(first_dense, "/model/first_k_dense_replace"), 1);
    EXPECT_TRUE(says(with("--num-experts 8 --moe-layer-freq ([1]*23+[0]*1)"), Verdict::refused, "--moe-layer-freq"));
    EXPECT_FALSE(with("--moe-router-topk 4").refused()) << "a dense model reads nothing of it";
}

TEST(Megatron, ReadsDeepSpeedsArguments) {
    const Imported read = with(
        "--deepspeed --deepspeed_config ds.json --zero-stage 2 --num-experts 64 --topk 1 "
        "--moe-expert-parallel-size 64");
    EXPECT_EQ(at(read, "/strategy/sharding"), "zero2") << refusals(read);
    EXPECT_TRUE(says(read, Verdict::not_modelled, "--deepspeed_config")) << "its ZeRO stage may be another";
    EXPECT_EQ(at(read, "/model/moe_layer_freq"), 2);
    EXPECT_EQ(at(read, "/model/num_experts_per_tok"), 1);
    EXPECT_EQ(at(read, "/training/fused_attention"), false);
    EXPECT_EQ(at(with("--deepspeed --num-experts 1"), "/model/num_experts"), nullptr);
    EXPECT_EQ(at(with("--deepspeed --zero-stage 0"), "/strategy/sharding"), "zero1") << "its bf16 optimizer shards";
    EXPECT_EQ(at(read, "/strategy/grad_reduce_collective"), "all_reduce");
    EXPECT_EQ(at(with("--deepspeed --zero-stage 0"), "/strategy/grad_reduce_collective"), "all_reduce");
    EXPECT_EQ(at(with("--deepspeed --zero-stage 3"), "/strategy/grad_reduce_collective"), nullptr);
    EXPECT_EQ(at(with("--use-distributed-optimizer"), "/strategy/grad_reduce_collective"), nullptr);
    EXPECT_EQ(at(with("--deepspeed --zero-stage 3"), "/strategy/fsdp_implementation"), "deepspeed");
    EXPECT_EQ(at(with("--deepspeed --zero-stage 2"), "/strategy/fsdp_implementation"), nullptr);
    EXPECT_EQ(at(with("--deepspeed --zero-stage 2"), "/training/broadcast_data"), true);
    EXPECT_EQ(at(with("--deepspeed --zero-stage 2"), "/training/software"), "deepspeed");
    EXPECT_EQ(at(with("--use-distributed-optimizer"), "/training/broadcast_data"), nullptr);
}

/// PyTorch's, and Megatron-LM's own, whose groups sum behind the last micro-batch.
TEST(Megatron, ReadsFullSharding) {
    const Imported torch = with("--use-torch-fsdp2");
    EXPECT_EQ(at(torch, "/strategy/sharding"), "zero3") << refusals(torch);
    EXPECT_EQ(at(torch, "/strategy/fsdp_implementation"), "fsdp2");
    const std::string own = "--use-megatron-fsdp --data-parallel-sharding-strategy optim_grads_params";
    EXPECT_EQ(at(with(own), "/strategy/sharding"), "zero3");
    EXPECT_EQ(at(with(own), "/strategy/fsdp_implementation"), nullptr);
    EXPECT_EQ(at(with(own), "/strategy/gradient_sync"), nullptr);
    const Imported groups = with(own + " --num-distributed-optimizer-instances 2");
    EXPECT_EQ(at(groups, "/strategy/num_distributed_optimizer_instances"), 2) << refusals(groups);
    EXPECT_EQ(at(groups, "/strategy/gradient_sync"), "two_hop");
}

TEST(Megatron, ReadsTheOptimizerInHostMemory) {
    const Imported read = with(
        "--use-distributed-optimizer --optimizer-cpu-offload --optimizer-offload-fraction 0.75 "
        "--overlap-cpu-optimizer-d2h-h2d --use-precision-aware-optimizer");
    EXPECT_EQ(at(read, "/strategy/optimizer_cpu_offload"), true) << refusals(read);
    EXPECT_EQ(at(read, "/strategy/optimizer_offload_fraction"), 0.75);
    EXPECT_EQ(at(read, "/strategy/overlap_cpu_optimizer_d2h_h2d"), true);
    EXPECT_EQ(at(with("--deepspeed --zero-stage 2 --cpu-optimizer"), "/strategy/optimizer_cpu_offload"), true);
}

TEST(Megatron, ReadsTheOverlapOfTensorParallelCollectives) {
    const std::string flag = "--tp-comm-overlap --tp-comm-overlap-cfg some.yaml";
    const Imported read = with("--tensor-model-parallel-size 2 --sequence-parallel " + flag);
    EXPECT_EQ(at(read, "/strategy/tp_comm_overlap"), true) << refusals(read);
    const Imported whole = with("--tensor-model-parallel-size 2 " + flag);
    EXPECT_EQ(at(whole, "/strategy/tp_comm_overlap"), nullptr);
    EXPECT_TRUE(says(whole, Verdict::harmless, "--tp-comm-overlap"));
}

TEST(Megatron, NamesWhatHasNoEffectWhatIsNotModelledAndWhatIsUnknown) {
    const Imported read = with("--lr 1e-4 --use-sharp --num-lairs 3 --save some/path");
    EXPECT_FALSE(read.refused()) << refusals(read);
    EXPECT_TRUE(says(read, Verdict::harmless, "--lr"));
    EXPECT_TRUE(says(read, Verdict::harmless, "--save"));
    EXPECT_TRUE(says(read, Verdict::not_modelled, "--use-sharp"));
    EXPECT_TRUE(says(read, Verdict::unknown, "--num-lairs"));
}

/// No argument says how long documents are, and none is made up.
TEST(Megatron, SaysThatDocumentsAreTimedAsWholeSequences) {
    const Imported read = with("--reset-attention-mask");
    EXPECT_FALSE(read.refused()) << refusals(read);
    EXPECT_TRUE(says(read, Verdict::not_modelled, "--reset-attention-mask"));
    EXPECT_EQ(at(read, "/training/document_length"), nullptr);
}

TEST(Megatron, SaysAllThatIsWrongAtOnce) {
    const Imported read = of_arguments(
        "--num-layers many --hidden-size 0 --num-attention-heads --context-parallel-size two "
        "--optimizer-offload-fraction "
        "half --hybrid-layer-pattern M --micro-batch-size 1 --bf16 --tokenizer-type HuggingFaceTokenizer");
    for (const char* word : {"--num-layers: many", "--hidden-size: 0", "--num-attention-heads: has no value",
                             "--context-parallel-size: two", "--optimizer-offload-fraction: half",
                             "layers of several kinds", "--seq-length", "vocabulary"})
        EXPECT_TRUE(says(read, Verdict::refused, word)) << word << " is missing from\n" << refusals(read);
    for (const Finding& each : read.findings)
        EXPECT_TRUE(each.verdict == Verdict::harmless || !each.remedy.empty()) << each.what;
    EXPECT_FALSE(with("--context-parallel-size 1").refused());
}

TEST(Megatron, ReadsLatentAttention) {
    const Imported read = with(
        "--multi-latent-attention --kv-lora-rank 512 --q-lora-rank 1536 --qk-head-dim 128 "
        "--swiglu --disable-bias-linear --position-embedding-type rope --normalization RMSNorm");
    EXPECT_EQ(at(read, "/model/kv_lora_rank"), 512) << refusals(read);
    EXPECT_EQ(at(read, "/model/q_lora_rank"), 1536);
    EXPECT_EQ(at(read, "/model/head_dim"), 192);
    EXPECT_EQ(at(read, "/model/qk_rope_head_dim"), 64);
    EXPECT_EQ(at(read, "/model/v_head_dim"), 128);
    const Imported normed = with(
        "--multi-latent-attention --qk-layernorm --kv-lora-rank 512 --swiglu --disable-bias-linear "
        "--position-embedding-type rope --normalization RMSNorm");
    EXPECT_EQ(at(normed, "/model/qk_layernorm"), nullptr) << "of what is latent";
    EXPECT_FALSE(says(normed, Verdict::refused, "qk_layernorm")) << refusals(normed);
}

/// One rate, and whether attention has none.
TEST(Megatron, ReadsDropouts) {
    const Imported alone = with("--hidden-dropout 0.1 --attention-dropout 0");
    EXPECT_EQ(at(alone, "/training/dropout"), 0.1) << refusals(alone);
    EXPECT_EQ(at(alone, "/model/hidden_dropout_alone"), true);
    EXPECT_EQ(at(with("--hidden-dropout 0.1"), "/model/hidden_dropout_alone"), nullptr);
    EXPECT_TRUE(says(with("--attention-dropout 0.2"), Verdict::not_modelled, "like that of hidden states"));
}

/// Each flag is of one activation, and says nothing of the other.
TEST(Megatron, ReadsActivations) {
    const char* const key = "/training/bias_activation_fusion";
    EXPECT_EQ(at(with(""), key), nullptr);
    EXPECT_EQ(at(with("--no-bias-gelu-fusion"), key), false);
    EXPECT_EQ(at(with("--no-bias-swiglu-fusion"), key), nullptr);
    EXPECT_EQ(at(with("--swiglu --no-bias-swiglu-fusion"), key), false);
    EXPECT_EQ(at(with("--swiglu --no-bias-gelu-fusion"), key), nullptr);
    const Imported squared = with("--squared-relu");
    EXPECT_EQ(at(squared, "/model/hidden_act"), "relu2") << refusals(squared);
    EXPECT_EQ(at(squared, key), nullptr) << "which is compiled";
    EXPECT_EQ(at(with("--squared-relu --no-bias-gelu-fusion"), key), nullptr) << "as Megatron-LM demands";
}

TEST(Megatron, ReadsWindows) {
    const Imported read = with("--window-size 127,0 --window-attn-skip-freq 2");
    EXPECT_EQ(at(read, "/model/sliding_window"), 128) << refusals(read);
    EXPECT_EQ(at(read, "/model/sliding_window_pattern"), 2);
    EXPECT_TRUE(says(with("--window-size many"), Verdict::refused, "--window-size"));
}

TEST(Megatron, ReadsContextRanks) {
    const Imported ring = with("--context-parallel-size 2");
    EXPECT_EQ(at(ring, "/strategy/context"), 2) << refusals(ring);
    EXPECT_EQ(at(ring, "/strategy/data").get<int>() * 2, at(with("--context-parallel-size 1"), "/strategy/data"));
    EXPECT_EQ(at(with("--context-parallel-size 2 --cp-comm-type a2a"), "/strategy/cp_comm_type"), "a2a");
    EXPECT_EQ(at(with("--context-parallel-size 2 --cp-comm-type p2p p2p"), "/strategy/cp_comm_type"), "p2p");
    const auto levels = [&](const std::string& sizes) {
        return with("--context-parallel-size 8 --cp-comm-type a2a+p2p --hierarchical-context-parallel-sizes " + sizes);
    };
    EXPECT_EQ(at(levels("2 4"), "/strategy/cp_comm_type"), "a2a+p2p");
    EXPECT_EQ(at(levels("2 4"), "/strategy/ulysses_degree"), 2);
    EXPECT_EQ(at(levels("1 8"), "/strategy/cp_comm_type"), "p2p");
    EXPECT_EQ(at(levels("8 1"), "/strategy/cp_comm_type"), "a2a");
    EXPECT_TRUE(says(levels("2 2"), Verdict::refused, "--hierarchical-context-parallel-sizes"));
    EXPECT_TRUE(says(with("--context-parallel-size 2 --cp-comm-type p2p a2a"), Verdict::refused, "--cp-comm-type"));
    EXPECT_TRUE(says(with("--context-parallel-size 2 --cp-comm-type a2a+p2p"), Verdict::refused, "--cp-comm-type"));
    const Imported ulysses = with("--ds-sequence-parallel-size 4");
    EXPECT_EQ(at(ulysses, "/strategy/context"), 4);
    EXPECT_EQ(at(ulysses, "/strategy/cp_comm_type"), "a2a");
}

TEST(Megatron, ReadsStagesOfUnequalDepth) {
    const std::string four = "--pipeline-model-parallel-size 4 ";
    const Imported ends = with(four + "--decoder-first-pipeline-num-layers 3 --decoder-last-pipeline-num-layers 5");
    EXPECT_EQ(at(ends, "/strategy/num_layers_in_first_pipeline_stage"), 3) << refusals(ends);
    EXPECT_EQ(at(ends, "/strategy/num_layers_in_last_pipeline_stage"), 5);
    const Imported layout = with(four + "--pipeline-model-parallel-layout Et*5|(t*6,|)*2t*7L");
    EXPECT_EQ(at(layout, "/strategy/pipeline_layers"), "5,6,6,7") << refusals(layout);
    EXPECT_TRUE(says(with(four + "--pipeline-model-parallel-layout Et*3|(tt|)*6mL"), Verdict::refused,
                     "a layout of other layers"));
    EXPECT_TRUE(says(with(four + "--pipeline-model-parallel-layout Et|t|t|tL"), Verdict::refused, "4 layers in all"));
}

TEST(Megatron, HoldsTheScenarioAgainstItsOwnRules) {
    EXPECT_TRUE(says(with("--tensor-model-parallel-size 32"), Verdict::refused, "32 does not divide the 16 heads"));
    const Imported read = with("--pipeline-model-parallel-size 16");
    EXPECT_TRUE(says(read, Verdict::refused, "--pipeline-model-parallel-size: /strategy/pipeline")) << refusals(read);
    EXPECT_TRUE(says(with("--tensor-model-parallel-size 3"), Verdict::refused, "no multiple of tensor 3"));
}

TEST(Megatron, ReadsTheExampleScript) {
    Request request;
    request.cluster = "dgx-a100";
    const Imported read = imported("megatron", read_file("doors/examples/gpt-1.7b.sh"), request);
    ASSERT_FALSE(read.refused()) << refusals(read);
    EXPECT_EQ(at(read, "/cluster/nodes"), 4);
    EXPECT_EQ(at(read, "/strategy/data"), 32);
    EXPECT_EQ(at(read, "/training/global_batch_size"), 512);
    EXPECT_EQ(at(read, "/strategy/overlap_param_gather"), true);
    EXPECT_EQ(at(read, "/strategy/recompute"), "selective");
    request.defines = {{"NNODES", "2"}, {"MICRO_BATCH", "4"}};
    const Imported smaller = imported("megatron", read_file("doors/examples/gpt-1.7b.sh"), request);
    EXPECT_EQ(at(smaller, "/cluster/nodes"), 2);
    EXPECT_EQ(at(smaller, "/training/micro_batch_size"), 4);
}

TEST(Megatron, NamesTheLineOfEveryProblemInAScript) {
    Request request;
    request.gpu = "H100";
    request.gpus = 8;
    const Imported read =
        imported("megatron",
                 "#!/bin/bash\nARGS=(\n  --num-layers 24\n  --hidden-size 1001\n  --context-parallel-size two\n"
                 "  --seq-length $SEQ\n)\ntorchrun pretrain_gpt.py ${ARGS[@]} --num-attention-heads 16 "
                 "--max-position-embeddings 2048 --micro-batch-size 1 --bf16\n",
                 request);
    EXPECT_TRUE(says(read, Verdict::refused, "5 --context-parallel-size")) << refusals(read);
    EXPECT_TRUE(says(read, Verdict::refused, "6 --seq-length: its value is $SEQ")) << refusals(read);
}

TEST(Megatron, RefusesScriptsThatStartNoTrainingAndModelsOfOtherKinds) {
    Request request;
    request.gpu = "A100";
    EXPECT_TRUE(says(imported("megatron", "echo hello\n", request), Verdict::refused, "starts no training"));
    EXPECT_TRUE(says(imported("megatron", "python pretrain_t5.py --num-layers 12", request), Verdict::refused,
                     "encoder-decoders"));
    EXPECT_TRUE(says(imported("megatron", "python pretrain_mamba.py --num-layers 12", request), Verdict::refused,
                     "state-space"));
}

TEST(Megatron, ReadsABert) {
    Request request;
    request.gpu = "A100";
    const Imported read =
        imported("megatron",
                 "torchrun --nproc_per_node 8 --nnodes 1 pretrain_bert.py --num-layers 24 --hidden-size "
                 "1024 --num-attention-heads 16 --seq-length 512 --max-position-embeddings 512 "
                 "--micro-batch-size 4 --fp16",
                 request);
    ASSERT_FALSE(read.refused()) << refusals(read);
    EXPECT_EQ(at(read, "/model/model_type"), "bert");
    EXPECT_EQ(at(read, "/model/post_norm"), false);
    EXPECT_EQ(at(read, "/model/vocab_size"), 30522);
    EXPECT_EQ(at(read, "/training/global_batch_size"), 32);
}

}  // namespace
}  // namespace orrery::doors
