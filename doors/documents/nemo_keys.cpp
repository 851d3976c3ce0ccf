#include "doors/documents/nemo_keys.hpp"

#include <array>

namespace orrery::doors {

namespace {

constexpr std::string_view estimate = "compare with a measurement before you rely on the difference";
constexpr std::string_view gpt = "give the configuration of a GPT or Llama";

// clang-format off
constexpr std::array rows{
    // The model.
    key("model.num_layers"), key("model.hidden_size"), key("model.ffn_hidden_size"), key("model.num_attention_heads"),
    key("model.num_query_groups"), key("model.kv_channels"), rule("model.max_position_embeddings"),
    rule("model.position_embedding_type"), rule("model.activation"), rule("model.bias"), rule("model.qkv_bias"),
    rule("model.normalization"), rule("model.share_embeddings_and_output_weights"), rule("model.hidden_dropout"),
    harmless("model.attention_dropout"), harmless("model.ffn_dropout"), key("model.qk_layernorm"),
    rule("model.vocab_size"), rule("model.override_vocab_size"), rule("model.make_vocab_size_divisible_by"),
    rule("model.tokenizer.type"), rule("model.tokenizer.library"), rule("model.tokenizer.model"),
    harmless("model.tokenizer.*"), harmless("model.tokenizer"),
    noted("model.transformer_block_type", "the order of norms is timed as before attention and MLP", estimate,
        Takes::one, "pre_ln"),
    noted("model.headscale", "heads are timed without scales of their own", estimate),
    noted("model.attention_type", "attention is timed as multi-head", estimate, Takes::one, "multihead"),
    noted("model.window_size", "attention is timed over the whole sequence", estimate),
    noted("model.sliding_window", "attention is timed over the whole sequence", estimate),
    noted("model.fp32_residual_connection", "the residual is timed in the precision of the layers", estimate),
    noted("model.peft.*", "all weights are trained, not an adapter's alone", estimate),
    refused("model.multi_latent_attention", "multi-latent attention is not modelled yet", gpt),
    // Experts.
    rule("model.num_moe_experts"), key("model.moe_router_topk"), key("model.moe_layer_freq"),
    key("model.moe_ffn_hidden_size"), key("model.moe_expert_capacity_factor"),
    key("model.moe_pad_expert_input_to_capacity"), key("model.expert_model_parallel_size"),
    key("model.expert_tensor_parallel_size"), key("model.moe_shared_expert_intermediate_size"),
    harmless("model.moe_router_load_balancing_type"), harmless("model.moe_grouped_gemm"),
    harmless("model.moe_aux_loss_coeff"), harmless("model.moe_z_loss_coeff"), harmless("model.moe_input_jitter_eps"),
    noted("model.moe_token_dispatcher_type", "the dispatcher is timed as alltoall", estimate, Takes::one, "alltoall"),
    harmless("model.moe_token_drop_policy"), harmless("model.moe_token_dropping"), harmless("model.moe_extended_tp"),
    harmless("model.moe_router_pre_softmax"), harmless("model.moe_permute_fusion"),
    // How the step is divided.
    key("model.tensor_model_parallel_size"), key("model.pipeline_model_parallel_size"),
    rule("model.virtual_pipeline_model_parallel_size"), key("model.context_parallel_size", "1"),
    rule("model.sequence_parallel"), rule("model.overlap_p2p_comm"), harmless("model.batch_p2p_comm"),
    refused("model.pipeline_model_parallel_split_rank", "a pipeline of encoder and decoder is not modelled yet", gpt,
        Takes::one, "0"),
    refused("model.num_layers_in_first_pipeline_stage", "stages of unequal size are not modelled yet",
        "stages of equally many layers"),
    refused("model.num_layers_in_last_pipeline_stage", "stages of unequal size are not modelled yet",
        "stages of equally many layers"),
    rule("model.fsdp"), rule("model.fsdp_sharding_strategy"), harmless("model.fsdp_grad_reduce_dtype"),
    harmless("model.fsdp_sharded_checkpoint"), harmless("model.fsdp_use_orig_params"),
    key("model.cpu_offloading_num_layers"),
    noted("model.cpu_offloading", "offloading takes model.cpu_offloading_num_layers here",
        "--set strategy.cpu_offloading_num_layers=N"),
    noted("model.ub_tp_comm_overlap", "tensor-parallel collectives are not split to run beside their products",
        estimate),
    harmless("model.ub_tp_comm_overlap_cfg"), harmless("model.ub_tp_comm_overlap_cfg.*"),
    harmless("model.tp_comm_overlap_ag"), harmless("model.tp_comm_overlap_rs"), harmless("model.tp_comm_split_ag"),
    harmless("model.tp_comm_split_rs"), harmless("model.tp_comm_bulk_wgrad"), harmless("model.tp_comm_bulk_dgrad"),
    harmless("model.tp_comm_atomic_ag"), harmless("model.tp_comm_atomic_rs"),
    harmless("model.tp_comm_overlap_disable_qkv"), harmless("model.tp_comm_overlap_disable_fc1"),
    noted("model.defer_embedding_wgrad_compute", "the embedding's weight gradient runs where it stands", estimate),
    harmless("model.wgrad_deferral_limit"),
    noted("model.sharp", "collectives are timed without reduction in switches", estimate),
    noted("model.use_tp_pp_dp_mapping", "ranks are placed with data parallelism before pipelines",
        "--set strategy.placement=tp-cp-ep-pp-dp"),
    harmless("model.nccl_communicator_config_path"),
    // Recomputation.
    rule("model.activations_checkpoint_granularity"), rule("model.activations_checkpoint_method"),
    rule("model.activations_checkpoint_num_layers"),
    noted("model.num_micro_batches_with_partial_activation_checkpoints", "every micro-batch is recomputed alike",
        estimate),
    noted("model.activations_checkpoint_layers_per_pipeline", "every stage recomputes alike", estimate),
    harmless("model.activations_checkpoint_recurrent"),
    // The work of a step.
    key("model.micro_batch_size"), key("model.global_batch_size"), rule("model.encoder_seq_length"),
    rule("model.data.seq_length"),
    noted("model.rampup_batch_size", "the step is one of the full batch",
        "--set training.global_batch_size=N for another phase"),
    rule("model.fp8"), key("model.fp8_recipe"), harmless("model.fp8_e4m3"), harmless("model.fp8_hybrid"),
    harmless("model.fp8_margin"), harmless("model.fp8_interval"), harmless("model.fp8_amax_history_len"),
    harmless("model.fp8_amax_compute_algo"), harmless("model.fp8_wgrad"), harmless("model.reduce_amax"),
    noted("model.fp8_params", "parameters are gathered in 16 bits", estimate),
    noted("model.fp8_dot_product_attention", "attention is timed in 16 bits", estimate),
    noted("model.fp8_multi_head_attention", "attention is timed in 16 bits", estimate),
    key("model.gradient_accumulation_fusion"), rule("model.transformer_engine"), rule("model.mcore_gpt"),
    rule("model.use_flash_attention"),
    noted("model.fp16_lm_cross_entropy", "the loss is timed in fp32", estimate),
    noted("model.cross_entropy_loss_fusion", "the loss is timed as Megatron-LM's own kernels", estimate),
    harmless("model.bias_activation_fusion"), harmless("model.bias_dropout_add_fusion"),
    harmless("model.bias_gelu_fusion"), harmless("model.masked_softmax_fusion"), harmless("model.apply_rope_fusion"),
    harmless("model.get_attention_mask_from_fusion"), harmless("model.grad_div_ar_fusion"),
    key("model.enable_cuda_graph"),
    noted("model.use_te_rng_tracker", "random numbers cost what they cost in any case", estimate, Takes::one, "true"),
    key("model.deterministic_mode"), rule("model.optim.name"), rule("model.optim.overlap_grad_sync"),
    rule("model.optim.overlap_param_sync"), rule("model.optim.grad_sync_dtype"), rule("model.optim.bucket_cap_mb"),
    harmless("model.optim.*"), rule("trainer.num_nodes"), rule("trainer.devices"), rule("trainer.precision"),
    harmless("model.precision"), harmless("model.layernorm_zero_centered_gamma"), rule("model.seq_length"),
    rule("trainer.gradient_clip_val"),
    noted("trainer.accumulate_grad_batches", "the batch of a step is model.global_batch_size", "1", Takes::one, "1"),
    harmless("trainer.*"),
    // Neither time nor memory of a step.
    harmless("defaults"), harmless("hydra.*"), harmless("run.*"), harmless("exp_manager.*"), harmless("name"),
    harmless("restore_from_path"), harmless("cluster_type"), harmless("inference.*"), harmless("model.data.*"),
    harmless("model.nsys_profile.*"), harmless("model.memory_profile.*"), harmless("model.gen_shape"),
    harmless("model.seed"), harmless("model.init_method_std"), harmless("model.use_scaled_init_method"),
    harmless("model.layernorm_epsilon"), harmless("model.do_layer_norm_weight_decay"),
    harmless("model.apply_query_key_layer_scaling"), harmless("model.normalize_attention_scores"),
    harmless("model.attention_softmax_in_fp32"), harmless("model.pre_process"), harmless("model.post_process"),
    harmless("model.persist_layer_norm"), harmless("model.gradient_as_bucket_view"), harmless("model.openai_gelu"),
    harmless("model.rotary_percentage"), harmless("model.rotary_base"), harmless("model.seq_len_interpolation_factor"),
    harmless("model.scale_positional_embedding"), harmless("model.rope_scaling.*"),
    harmless("model.native_amp_init_scale"), harmless("model.native_amp_growth_interval"),
    harmless("model.hysteresis"), harmless("model.megatron_amp_O2"), harmless("model.grad_allreduce_chunk_size_mb"),
    harmless("model.sync_batch_comm"), harmless("model.use_cpu_initialization"), harmless("model.onnx_safe"),
    harmless("model.apex_transformer_log_level"), harmless("model.gc_interval"), harmless("model.log_reduction"),
    harmless("model.resume_from_checkpoint"), harmless("model.restore_from_path"), harmless("model.use_emha"),
    harmless("model.name"), harmless("model.use_monkey_patch"), harmless("model.megatron_legacy"),
    harmless("model.dist_ckpt_format"), harmless("model.dist_ckpt_load_on_device"),
    harmless("model.dist_ckpt_parallel_save"), harmless("model.dist_ckpt_parallel_save_within_dp"),
    harmless("model.dist_ckpt_parallel_load"), harmless("model.dist_ckpt_torch_dist_multiproc"),
    harmless("model.dist_ckpt_assume_constant_structure"), harmless("model.dist_ckpt_parallel_dist_opt"),
    harmless("model.dist_ckpt_load_strictness"), harmless("model.target"), harmless("model._target_"),
    harmless("model.inference.*"), harmless("model.hidden_act"), harmless("model.mcore_customization_config.*"),
    harmless("model.cpu_offloading_activations"), harmless("model.cpu_offloading_weights"),
    harmless("model.grad_reduce_in_fp32"), harmless("model.hf_model"), harmless("model.legacy_tokenizer"),
    harmless("model.answer_only_loss"), harmless("model.resume_from_checkpoint_path"),
    harmless("model.add_position_embedding"),
};
// clang-format on

}  // namespace

std::span<const Row> nemo_keys() { return rows; }

}  // namespace orrery::doors
