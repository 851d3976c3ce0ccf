#include "tests/scenarios/clashes.hpp"

namespace orrery::scenarios {

namespace {

/// Meshes, schedules and passes.
std::vector<Clash> mesh_clashes() {
    return {
        {"tensor-3-of-16-heads",
         {{"/strategy/tensor", "3"}, {"/strategy/data", "1"}},
         "/strategy/tensor",
         "3 does not"},
        {"tensor-beyond-cluster", {{"/strategy/tensor", "32"}}, "/strategy/tensor", "64"},
        {"pipeline-beyond-cluster", {{"/strategy/pipeline", "24"}}, "/strategy/pipeline", "96"},
        {"data-beyond-cluster", {{"/strategy/data", "5"}}, "/strategy/data", "40"},
        {"pipeline-5-of-24-layers", {{"/strategy/pipeline", "5"}, {"/strategy/data", "1"}}, "/strategy/pipeline", "5"},
        {"data-not-derivable", {{"/strategy/pipeline", "3"}, {"/strategy/data", ""}}, "/strategy/data", "32"},
        {"chunks-under-1f1b",
         {{"/strategy/virtual_pipeline", "2"}, {"/strategy/schedule", "\"1f1b\""}},
         "/strategy/virtual_pipeline",
         "2"},
        {"chunks-under-gpipe",
         {{"/strategy/virtual_pipeline", "3"}, {"/strategy/schedule", "\"gpipe\""}},
         "/strategy/virtual_pipeline",
         "3"},
        {"chunks-not-dividing", {{"/strategy/virtual_pipeline", "5"}}, "/strategy/virtual_pipeline", "5"},
        {"chunks-without-stages",
         {{"/strategy/virtual_pipeline", "2"}, {"/strategy/pipeline", "1"}},
         "/strategy/virtual_pipeline",
         "2"},
        {"overlap-p2p-without-chunks", {{"/strategy/overlap_p2p", "true"}}, "/strategy/overlap_p2p", "true"},
        {"param-gather-without-zero1", {{"/strategy/sharding", "\"none\""}}, "/strategy/overlap_param_gather", "true"},
        {"param-gather-without-grad-overlap",
         {{"/strategy/overlap_grad_reduce", "false"}},
         "/strategy/overlap_param_gather",
         "true"},
        {"recompute-layers-without-full",
         {{"/strategy/recompute_num_layers", "2"}},
         "/strategy/recompute_num_layers",
         "2"},
        {"recompute-more-than-chunk",
         {{"/strategy/recompute", "\"full\""}, {"/strategy/recompute_num_layers", "13"}},
         "/strategy/recompute_num_layers",
         "13"},
        {"chunks-in-a-v", {{"/strategy/schedule", "\"zb-v\""}}, "/strategy/virtual_pipeline", "zb-v has 2"},
        {"sharding-without-flushes", {{"/strategy/schedule", "\"pipedream\""}}, "/strategy/sharding", "whole weights"},
        {"bucket-too-small", {{"/strategy/bucket_size", "\"1 B\""}}, "/strategy/bucket_size", "1 B"},
        {"bucket-too-large", {{"/strategy/bucket_size", "\"9 PB\""}}, "/strategy/bucket_size", "9 PB"},
        {"bucket-overflow", {{"/strategy/bucket_size", "\"1e300 MB\""}}, "/strategy/bucket_size", "1e300"},
        {"placement-unknown", {{"/strategy/placement", "\"fastest\""}}, "/strategy/placement", "fastest"},
        {"placement-without-data", {{"/strategy/placement", "\"tp-pp\""}}, "/strategy/placement", "data"},
        {"placement-twice-one-gpu", {{"/strategy/placement", "\"0-30,5\""}}, "/strategy/placement", "GPU 5"},
        {"placement-too-few", {{"/strategy/placement", "\"0-15\""}}, "/strategy/placement", "16 GPUs for 32"},
        {"placement-beyond-cluster", {{"/strategy/placement", "\"1-32\""}}, "/strategy/placement", "GPU 32"},
        {"placement-and-file",
         {{"/strategy/placement", "\"row\""}, {"/strategy/placement_file", "\"gpus.txt\""}},
         "/strategy/placement_file",
         "row"},
        {"switch-not-boolean",
         {{"/strategy/sharding", ""}, {"/strategy/use_distributed_optimizer", "\"zero1\""}},
         "/strategy/use_distributed_optimizer",
         "zero1"},
    };
}

/// What lies on the host and on drives.
std::vector<Clash> offload_clashes() {
    return {
        {"offload-more-than-chunk",
         {{"/strategy/cpu_offloading_num_layers", "13"}},
         "/strategy/cpu_offloading_num_layers",
         "13 layers"},
        {"offload-fraction-of-nothing",
         {{"/strategy/optimizer_offload_fraction", "0.5"}},
         "/strategy/optimizer_offload_fraction",
         "0.5"},
        {"optimizer-copies-of-nothing",
         {{"/strategy/overlap_cpu_optimizer_d2h_h2d", "true"}},
         "/strategy/overlap_cpu_optimizer_d2h_h2d",
         "true"},
        {"weights-offloaded-whole",
         {{"/strategy/offload_param_device", "\"cpu\""}},
         "/strategy/offload_param_device",
         "shares of zero3"},
        {"states-of-nothing-on-drives",
         {{"/strategy/offload_optimizer_device", "\"nvme\""}},
         "/strategy/offload_optimizer_device",
         "nothing is offloaded"},
        {"reads-of-no-drives",
         {{"/strategy/offload_optimizer_pipeline_read", "true"}},
         "/strategy/offload_optimizer_pipeline_read",
         "no states lie on drives"},
    };
}

/// Pipelines in two directions and without a flush.
std::vector<Clash> schedule_clashes() {
    return {
        {"two-ways-of-chunks",
         {{"/strategy/schedule", "\"chimera\""}, {"/strategy/virtual_pipeline", "2"}},
         "/strategy/virtual_pipeline",
         "interleaved"},
        {"two-ways-of-gradients-in-shares",
         {{"/strategy/schedule", "\"dualpipe\""}, {"/strategy/sharding", "\"zero2\""}},
         "/strategy/sharding",
         "other micro-batches"},
        {"updates-of-shares-without-flushes",
         {{"/strategy/schedule", "\"zb-h2\""}, {"/strategy/sharding", "\"zero1\""}},
         "/strategy/sharding",
         "no end of a step"},
    };
}

/// Batches, sequences and number formats.
std::vector<Clash> training_clashes() {
    return {
        {"batch-below-slice", {{"/training/global_batch_size", "4"}}, "/training/global_batch_size", "4"},
        {"batch-not-divisible", {{"/training/global_batch_size", "63"}}, "/training/global_batch_size", "63"},
        {"micro-batch-not-divisible", {{"/training/micro_batch_size", "3"}}, "/training/global_batch_size", "64"},
        {"interleaving-odd-micro-batches",
         {{"/strategy/virtual_pipeline", "2"}, {"/training/global_batch_size", "24"}},
         "/training/global_batch_size",
         "24"},
        {"no-fused-adafactor",
         {{"/training/optimizer", "\"adafactor\""}, {"/training/fused_optimizer", "true"}},
         "/training/fused_optimizer",
         "true"},
        {"seq-beyond-positions", {{"/training/seq_length", "4096"}}, "/training/seq_length", "4096"},
        {"seq-not-divisible", {{"/training/seq_length", "2047"}}, "/training/seq_length", "2047"},
        {"fp16-gradients-beside-bf16",
         {{"/training/grad_reduce_precision", "\"fp16\""}},
         "/training/grad_reduce_precision",
         "fp16"},
        {"bf16-gradients-beside-fp16",
         {{"/training/precision", "\"fp16\""}, {"/training/grad_reduce_precision", "\"bf16\""}},
         "/training/grad_reduce_precision",
         "bf16"},
        {"half-gradients-beside-fp32",
         {{"/training/precision", "\"fp32\""}, {"/training/grad_reduce_precision", "\"fp16\""}},
         "/training/grad_reduce_precision",
         "fp16"},
        {"fp8-on-a100", {{"/training/precision", "\"fp8\""}}, "/training/precision", "fp8"},
        {"fp4-on-a100", {{"/training/precision", "\"nvfp4\""}}, "/training/precision", "fp4"},
        {"fp16-and-bf16",
         {{"/training/precision", ""}, {"/training/fp16", "true"}, {"/training/bf16", "true"}},
         "/training/fp16",
         "bf16"},
        {"text-too-long", {{"/name", '"' + std::string(5000, 'n') + '"'}}, "/name", "nnnn"},
        {"line-break-in-name", {{"/name", "\"two\\nlines\""}}, "/name", "two"},
        {"micro-batch-too-many-tokens",
         {{"/training/micro_batch_size", "65536"}, {"/training/global_batch_size", "262144"}},
         "/training/micro_batch_size",
         "65536"},
        {"too-many-micro-batches",
         {{"/training/global_batch_size", "16000000"}},
         "/training/global_batch_size",
         "16000000"},
    };
}

/// Models.
std::vector<Clash> model_clashes() {
    return {
        {"layers-not-divisible", {{"/model/num_hidden_layers", "23"}}, "/strategy/pipeline", "23"},
        {"unknown-model", {{"/model/name", "\"gpt5-900b\""}}, "/model/name", "gpt5-900b"},
        {"unknown-model-of-4000-letters", {{"/model/name", '"' + std::string(4000, 'g') + '"'}}, "/model/name", "gggg"},
        {"control-character", {{"/model/name", "\"gpt3\\u0000-1.3b\""}}, "/model/name", "gpt3"},
        {"model-named-twice", {{"/model/hugging_face", "\"models/gpt2.json\""}}, "/model/name", "gpt3-1.3b"},
        {"hugging-face-missing",
         {{"/model", R"({"hugging_face": "no/such/config.json"})"}},
         "/model/hugging_face",
         "no/such/config.json"},
        {"hugging-face-folder", {{"/model", R"({"hugging_face": "."})"}}, "/model/hugging_face", "."},
        {"family-of-a-known-model", {{"/model/model_type", "\"llama\""}}, "/model/model_type", "llama"},
        {"empty-model", {{"/model", "{}"}}, "/model/num_hidden_layers", "num_hidden_layers"},
        {"custom-without-heads",
         {{"/model", R"({"num_hidden_layers": 24, "hidden_size": 2048, "vocab_size": 32000})"}},
         "/model/num_attention_heads",
         "num_attention_heads"},
        {"custom-without-vocab",
         {{"/model", R"({"num_hidden_layers": 24, "hidden_size": 2048, "num_attention_heads": 16})"}},
         "/model/vocab_size",
         "vocab_size"},
        {"custom-without-positions",
         {{"/model", R"({"num_layers": 24, "n_embd": 2048, "n_head": 16, "vocab_size": 32000})"}},
         "/model/max_position_embeddings",
         "max_position_embeddings"},
        {"llama-without-ffn",
         {{"/model", R"({"model_type": "llama", "n_layer": 24, "n_embd": 2048, "n_head": 16, "vocab_size": 1000})"}},
         "/model/intermediate_size",
         "intermediate_size"},
        {"heads-not-dividing-hidden", {{"/model/num_attention_heads", "17"}}, "/model/num_attention_heads", "17"},
        {"groups-not-dividing-heads", {{"/model/num_key_value_heads", "3"}}, "/model/num_key_value_heads", "3"},
        {"more-groups-than-heads", {{"/model/num_query_groups", "32"}}, "/model/num_query_groups", "32"},
        {"groups-below-tensor", {{"/model/num_key_value_heads", "2"}}, "/strategy/tensor", "2 key-value heads"},
        {"ffn-not-divisible", {{"/model/intermediate_size", "8190"}}, "/strategy/tensor", "8190"},
        {"odd-head-under-rope",
         {{"/model/head_dim", "63"}, {"/model/position_embedding_type", "\"rope\""}},
         "/model/head_dim",
         "63"},
        {"causal-bert-head", {{"/model/mlm_head", "true"}}, "/model/mlm_head", "causal"},
        {"post-norm-and-parallel-residual",
         {{"/model/post_norm", "true"}, {"/model/use_parallel_residual", "true"}},
         "/model/use_parallel_residual",
         "post_norm"},
        {"shared-norm-without-parallel-residual", {{"/model/shared_norm", "true"}}, "/model/shared_norm", "same input"},
        {"no-norms-at-all", {{"/model/input_norm", "false"}}, "/model/input_norm", "no norm stands behind"},
        {"norm-of-absent-norms", {{"/model/qk_layernorm_whole", "true"}}, "/model/qk_layernorm_whole", "have no norms"},
        {"gate-without-experts", {{"/model/moe_shared_expert_gate", "true"}}, "/model/num_experts", "sizes of experts"},
        {"window-without-causal",
         {{"/model/sliding_window", "1024"}, {"/model/causal", "false"}},
         "/model/sliding_window",
         "window"},
    };
}

/// Clusters and what their GPUs offer.
std::vector<Clash> cluster_clashes() {
    return {
        {"bf16-on-v100", {{"/cluster", R"({"preset": "dgx-1v", "nodes": 4})"}}, "/training/precision", "bf16"},
        {"tf32-on-v100",
         {{"/cluster", R"({"preset": "dgx-1v", "nodes": 4})"}, {"/training/precision", "\"tf32\""}},
         "/training/precision",
         "tf32"},
        {"unknown-preset", {{"/cluster/preset", "\"superpod-a200\""}}, "/cluster/preset", "superpod-a200"},
        {"unknown-gpu", {{"/cluster/gpu", "\"RTX-3090\""}}, "/cluster/gpu", "RTX-3090"},
        {"more-nodes-than-the-fabric", {{"/cluster/nodes", "131072"}}, "/cluster/nodes", "131072"},
    };
}

}  // namespace

std::vector<Clash> clashes() {
    std::vector<Clash> all;
    for (const auto& table : {mesh_clashes(), offload_clashes(), schedule_clashes(), training_clashes(),
                              model_clashes(), cluster_clashes()}) {
        all.insert(all.end(), table.begin(), table.end());
    }
    return all;
}

}  // namespace orrery::scenarios
