#include "validate/published.hpp"

#include <fmt/format.h>

#include <array>
#include <stdexcept>

namespace orrery::validate {

namespace {

constexpr std::string_view of_structure = "the catalog's model, or the family's structure",
                           of_mixers = "the catalog's model, or the printed layers (map_hybrid.cpp)",
                           of_experts = "the model's experts (map_experts.cpp)",
                           of_software = "stated, else what the software does (map_strategy.cpp, map_training.cpp)",
                           of_words = "words of the table", never = "never published: the default";

constexpr std::array table{
    FieldRule{"model", "name", "the row's, a label"},
    FieldRule{"model", "model_type", of_structure},
    FieldRule{"model", "max_position_embeddings", "learned positions: the sequence, or the catalog's"},
    FieldRule{"model", "type_vocab_size", of_structure},
    FieldRule{"model", "causal", of_structure},
    FieldRule{"model", "tie_word_embeddings", "untie-embeddings-and-output-weights, else as the structure"},
    FieldRule{"model", "add_bias_linear", "disable-bias-linear, else as the structure"},
    FieldRule{"model", "add_qkv_bias", "disable-bias-linear, else as the structure"},
    FieldRule{"model", "use_parallel_residual", of_structure},
    FieldRule{"model", "post_norm", of_structure},
    FieldRule{"model", "mlm_head", of_structure},
    FieldRule{"model", "normalization", "Megatron-LM's argument, else as the structure"},
    FieldRule{"model", "position_embedding_type", "Megatron-LM's argument, else as the structure"},
    FieldRule{"model", "embed_layernorm", of_structure},
    FieldRule{"model", "qk_layernorm", of_structure},
    FieldRule{"model", "qk_layernorm_whole", of_structure},
    FieldRule{"model", "hidden_act", of_structure},
    FieldRule{"model", "shared_norm", of_structure},
    FieldRule{"model", "hidden_dropout_alone", of_structure},
    FieldRule{"model", "bare_projection", of_structure},
    FieldRule{"model", "logits_bias", of_structure},
    FieldRule{"model", "input_norm", of_structure},
    FieldRule{"model", "output_norm", of_structure},
    FieldRule{"model", "attention_chunk_size", of_structure},
    FieldRule{"model", "sliding_window", of_structure},
    FieldRule{"model", "sliding_window_pattern", of_structure},
    FieldRule{"model", "kv_lora_rank", of_structure},
    FieldRule{"model", "q_lora_rank", of_structure},
    FieldRule{"model", "qk_rope_head_dim", of_structure},
    FieldRule{"model", "v_head_dim", of_structure},
    FieldRule{"model", "first_k_dense_replace", of_experts},
    FieldRule{"model", "num_experts", of_experts},
    FieldRule{"model", "num_experts_per_tok", of_experts},
    FieldRule{"model", "n_group", of_experts},
    FieldRule{"model", "topk_group", of_experts},
    FieldRule{"model", "moe_intermediate_size", of_experts},
    FieldRule{"model", "moe_shared_expert_intermediate_size", of_experts},
    FieldRule{"model", "moe_layer_freq", of_experts},
    FieldRule{"model", "moe_layer_offset", of_experts},
    FieldRule{"model", "moe_shared_expert_gate", of_experts},
    FieldRule{"model", "num_nextn_predict_layers", "mtp-num-layers, else of public recipes (map_model.cpp)"},
    FieldRule{"model", "mtp_hybrid_override_pattern", "of the printed layers, else of public recipes"},
    FieldRule{"model", "num_decoder_layers", "of a T5 as many as of its encoder"},
    FieldRule{"model", "relative_attention_num_buckets", "Megatron-LM's T5 has none"},
    FieldRule{"model", "hybrid_override_pattern", of_mixers},
    FieldRule{"model", "ssm_state_size", of_mixers},
    FieldRule{"model", "mamba_num_heads", of_mixers},
    FieldRule{"model", "mamba_head_dim", of_mixers},
    FieldRule{"model", "n_groups", of_mixers},
    FieldRule{"model", "conv_kernel", of_mixers},
    FieldRule{"model", "chunk_size", of_mixers},
    FieldRule{"model", "moe_latent_size", of_structure},
    FieldRule{"model", "image_size", "the catalog's ResNet (map_image.cpp)"},
    FieldRule{"model", "depths", "the catalog's ResNet (map_image.cpp)"},
    FieldRule{"model", "patch_size", "no row trains a Transformer over patches"},
    FieldRule{"model", "num_channels", "no row trains a Transformer over patches"},
    FieldRule{"model", "text_num_hidden_layers", "no row trains CLIP"},
    FieldRule{"model", "text_hidden_size", "no row trains CLIP"},
    FieldRule{"model", "text_num_attention_heads", "no row trains CLIP"},
    FieldRule{"model", "text_intermediate_size", "no row trains CLIP"},
    FieldRule{"model", "projection_dim", "no row trains CLIP"},
    FieldRule{"model", "mem_len", "the catalog's Transformer-XL (map_recurrent.cpp)"},
    FieldRule{"model", "cutoffs", "the catalog's Transformer-XL (map_recurrent.cpp)"},
    FieldRule{"model", "div_val", "the catalog's Transformer-XL (map_recurrent.cpp)"},
    FieldRule{"strategy", "expert_tensor", of_experts},
    FieldRule{"strategy", "cp_comm_type", never},
    FieldRule{"strategy", "moe_token_dispatcher_type", of_experts},
    FieldRule{"strategy", "overlap_moe_expert_parallel_comm", "false; the recipe's where a row has it"},
    FieldRule{"strategy", "sequence_parallel", of_software},
    FieldRule{"strategy", "schedule", of_words},
    FieldRule{"strategy", "sharding", of_words},
    FieldRule{"strategy", "zero_quantized_weights", never},
    FieldRule{"strategy", "zero_hpz_partition_size", never},
    FieldRule{"strategy", "zero_quantized_gradients", never},
    FieldRule{"strategy", "zero_ranks_per_node", never},
    FieldRule{"strategy", "compression", never},
    FieldRule{"strategy", "freeze_step", never},
    FieldRule{"strategy", "recompute", of_words},
    FieldRule{"strategy", "recompute_modules", of_words},
    FieldRule{"strategy", "recompute_num_layers", of_words},
    FieldRule{"strategy", "split_classes", never},
    FieldRule{"strategy", "synchronize_checkpoint_boundary", never},
    FieldRule{"strategy", "cpu_offloading_num_layers", "DeepSpeed's checkpoints in host memory, all layers"},
    FieldRule{"strategy", "optimizer_cpu_offload", of_words},
    FieldRule{"strategy", "optimizer_offload_fraction", "all of it"},
    FieldRule{"strategy", "overlap_cpu_optimizer_d2h_h2d", "with DeepSpeed (map_strategy.cpp)"},
    FieldRule{"strategy", "pipeline_layers", "pipeline-model-parallel-layout (map_strategy.cpp)"},
    FieldRule{"strategy", "overlap_grad_reduce", of_software},
    FieldRule{"strategy", "overlap_param_gather", of_software},
    FieldRule{"strategy", "overlap_p2p", of_software},
    FieldRule{"strategy", "scatter_gather", of_software},
    FieldRule{"strategy", "async_tensor_allreduce", of_software},
    FieldRule{"strategy", "bucket_size", never},
    FieldRule{"strategy", "placement", never},
    FieldRule{"strategy", "placement_file", never},
    FieldRule{"training", "decoder_seq", "stated, or of Megatron-LM's T5 128 (map_training.cpp)"},
    FieldRule{"training", "micro_batch_size", "stated, or derived from accumulation and memory (map_training.cpp)"},
    FieldRule{"training", "global_batch_size", "stated, or derived from micro-batches (map_training.cpp)"},
    FieldRule{"training", "precision", of_words},
    FieldRule{"training", "grad_reduce_precision", of_software},
    FieldRule{"training", "fused_attention", of_software},
    FieldRule{"training", "gradient_accumulation_fusion", of_software},
    FieldRule{"training", "attention_kernel", of_software},
    FieldRule{"training", "kernel_fusion", of_software},
    FieldRule{"training", "fp32_residual_connection", of_software},
    FieldRule{"training", "fp32_activation_function", of_software},
    FieldRule{"training", "fp8_recipe", of_words},
    FieldRule{"training", "num_layers_at_start_in_bf16", never},
    FieldRule{"training", "num_layers_at_end_in_bf16", "in NVFP4 as Megatron-Bridge's recipe (recipes.cpp)"},
    FieldRule{"training", "broadcast_data", of_software},
    FieldRule{"training", "cross_entropy_loss_fusion", of_software},
    FieldRule{"training", "cuda_graph", of_words},
    FieldRule{"training", "cuda_graph_scope", of_experts},
    FieldRule{"training", "moe_permute_fusion", of_experts},
    FieldRule{"training", "software", of_software},
    FieldRule{"training", "lora_rank", "NeMo's default where the task is LoRA (map_training.cpp)"},
    FieldRule{"training", "lora_target_modules", "NeMo's and Megatron-Bridge's: qkv"},
    FieldRule{"training", "clip_grad", "0 where a table says so, else the default"},
    FieldRule{"training", "optimizer", "of its scripts (map_optimizer.cpp)"},
    FieldRule{"training", "muon_num_ns_steps", never},
    FieldRule{"training", "fused_optimizer", "of its scripts (map_optimizer.cpp)"},
    FieldRule{"training", "moe_expert_capacity_factor", of_experts},
    FieldRule{"training", "moe_pad_expert_input_to_capacity", of_experts},
};

}  // namespace

documents::Setting stated(const Row& row, const documents::Key& key) {
    const std::string_view path = key.published;
    switch (key.kind) {
        case documents::Kind::integer: return std::uint64_t{*row.count(path)};
        case documents::Kind::number: return *row.number(path);
        case documents::Kind::boolean: return *row.flag(path);
        default: throw std::logic_error(fmt::format("{} takes a rule, not a path", key.name));
    }
}

std::span<const FieldRule> field_rules() { return table; }

}  // namespace orrery::validate
