#include "doors/maxtext/maxtext.hpp"

namespace orrery::doors::maxtext {

namespace {

constexpr std::string_view estimate = "compare with a measurement before you rely on the difference";

// clang-format off
constexpr Row rows[] = {
    // The model.
    rule("model_name"), rule("override_model_config"), rule("decoder_block"), rule("base_emb_dim"),
    rule("base_num_query_heads"), rule("base_num_kv_heads"), rule("base_mlp_dim"), rule("base_moe_mlp_dim"),
    rule("base_num_decoder_layers"), rule("head_dim"), rule("mlp_activations"), rule("vocab_size"),
    rule("logits_via_embedding"), rule("num_experts"), rule("num_experts_per_tok"), rule("first_num_dense_layers"),
    refused("global_parameter_scale", "it changes every size of the model",
            "write the sizes: base_emb_dim, base_num_decoder_layers, ...", Takes::one, "1"),
    noted("mtp_num_layers", "predictions of further tokens are not taken over",
    "--set model.num_nextn_predict_layers=N",
          Takes::one, "0"),
    // The mesh, the batch, what is kept.
    rule("ici_data_parallelism"), rule("ici_fsdp_parallelism"), rule("ici_fsdp_transpose_parallelism"),
    rule("ici_tensor_parallelism"), rule("ici_tensor_transpose_parallelism"), rule("ici_tensor_sequence_parallelism"),
    rule("ici_sequence_parallelism"), rule("ici_context_parallelism"), rule("ici_expert_parallelism"),
    rule("ici_pipeline_parallelism"), rule("ici_autoregressive_parallelism"),
    rule("ici_context_autoregressive_parallelism"), rule("ici_context_usp_ulysses_parallelism"),
    rule("ici_diloco_parallelism"), rule("dcn_data_parallelism"), rule("dcn_fsdp_parallelism"),
    rule("dcn_fsdp_transpose_parallelism"), rule("dcn_tensor_parallelism"), rule("dcn_tensor_transpose_parallelism"),
    rule("dcn_tensor_sequence_parallelism"), rule("dcn_sequence_parallelism"), rule("dcn_context_parallelism"),
    rule("dcn_expert_parallelism"), rule("dcn_pipeline_parallelism"), rule("dcn_autoregressive_parallelism"),
    rule("dcn_context_autoregressive_parallelism"), rule("dcn_context_usp_ulysses_parallelism"),
    rule("dcn_diloco_parallelism"), rule("context_parallel_strategy"), harmless("context_parallel_load_balance"),
    rule("compile_topology"), rule("compile_topology_num_slices"), rule("num_slices"), rule("per_device_batch_size"),
    rule("gradient_accumulation_steps"), rule("max_target_length"), rule("remat_policy"), rule("decoder_layer_input"),
    rule("context"), rule("query_proj"), rule("key_proj"), rule("value_proj"), rule("qkv_proj"), rule("kv_proj"),
    rule("out_proj"), rule("mlpwi"), rule("mlpwi_0"), rule("mlpwi_1"), rule("mlpwo"), rule("moe_mlpwi_0"),
    rule("moe_mlpwi_1"), rule("moe_mlpwo"), rule("query_wa_proj"), rule("kv_wa_proj"), rule("mla_q"), rule("mla_kv"),
    rule("attention_out"), harmless("engram"), harmless("indexer_cutoff_threshold"),
    noted("custom_mesh", "chips lie along the mesh's axes in their order, not as this mesh has them", estimate),
    noted("allow_split_physical_axes", "an axis of the mesh is a run of chips in their order", estimate,
          Takes::one, "false"),
    noted("shard_optimizer_over_data", "what data replicas hold is whole on each", estimate, Takes::one, "false"),
    // How it computes.
    rule("dtype"), rule("weight_dtype"), rule("mu_dtype"), rule("grad_dtype"), rule("quantization"), rule("attention"),
    rule("opt_type"), rule("gradient_clipping_threshold"), rule("fused_qkv"), rule("fused_mlp"),
    rule("capacity_factor"),
    rule("sparse_matmul"), rule("megablox"), rule("num_vocab_tiling"), rule("dropout_rate"), rule("enable_dropout"),
    rule("hardware"),
    noted("optimizer_memory_host_offload", "the optimizer's states stay on the chips",
          "--set strategy.optimizer_cpu_offload=true, which has the host update them too", Takes::one, "false"),
    noted("parameter_memory_host_offload", "weights stay on the chips", estimate, Takes::one, "false"),
    noted("use_ring_of_experts", "tokens go to their experts by an exchange", estimate, Takes::one, "false"),
    noted("use_tokamax_gmm", "experts' products are timed as megablox's", estimate, Takes::one, "false"),
    noted("use_batch_split_schedule", "halves of a batch do not run beside each other", estimate, Takes::one, "false"),
    noted("sliding_window_size", "windows are those of the named model", "--set model.sliding_window=N", Takes::one,
          "0"),
    noted("use_dpo", "the step is one of pretraining", estimate, Takes::one, "false"),
    refused("use_indexer", "sparse attention with an indexer is not modelled", "leave it out for dense attention",
            Takes::one, "false"),
    noted("te_comm_gemm_overlap", "collectives of tensor ranks run behind products", estimate, Takes::one, "disabled"),
    noted("enable_diloco", "gradients are exchanged every step", estimate, Takes::one, "false"),
    noted("fp8_ici", "collectives carry 16 bits", estimate, Takes::one, "false"),
    noted("float32_logits", "scores of attention stay in 16 bits in memory", estimate, Takes::one, "false"),
    harmless("float32_qk_product"), harmless("float32_weight_sum"), harmless("float32_gate_logits"),
    harmless("matmul_precision"), harmless("activations_in_float32"), harmless("logits_dot_in_fp32"),
    harmless("cast_logits_to_fp32"), harmless("use_iota_embed"), harmless("scan_layers"), harmless("param_scan_axis"),
    harmless("use_custom_sort_vjp"), harmless("use_random_routing"), harmless("load_balance_loss_weight"),
    harmless("sa_block_q"), harmless("sa_block_kv"), harmless("sa_block_kv_compute"), harmless("sa_block_q_dkv"),
    harmless("sa_block_kv_dkv"), harmless("sa_block_kv_dkv_compute"), harmless("sa_block_q_dq"),
    harmless("sa_block_kv_dq"), harmless("sa_use_fused_bwd_kernel"), harmless("sa_q_layout"), harmless("sa_k_layout"),
    harmless("sa_v_layout"), harmless("use_splash_scheduler"), harmless("use_tokamax_splash"),
    harmless("use_max_logit_estimate"), harmless("cost_estimate_flops_fwd"), harmless("cost_estimate_flops_bwd"),
    harmless("tile_batch_seq"), harmless("tile_activation_dim"), harmless("tile_weight_dim"),
    harmless("wi_tile_fwd_batch_seq"), harmless("wi_tile_fwd_embed_dim"), harmless("wi_tile_fwd_mlp_dim"),
    harmless("use_qwix_quantization"), harmless("weight_quantization_calibration_method"),
    harmless("act_quantization_calibration_method"), harmless("bwd_quantization_calibration_method"),
    harmless("quantization_local_shard_count"), harmless("quantize_kvcache"), harmless("shard_mode"),
    harmless("logical_axis_rules"), harmless("mesh_axes"), harmless("data_sharding"), harmless("attention_type"),
    harmless("normalization_layer_epsilon"), harmless("rope_type"), harmless("rope_max_timescale"),
    harmless("rope_use_scale"), harmless("trainable_position_size"), harmless("normalize_embedding_logits"),
    // The run around it.
    harmless("base_config"), harmless("run_name"), harmless("base_output_directory"), harmless("steps"),
    harmless("log_period"), harmless("learning_rate"),
    harmless("cosine_learning_rate_final_fraction"), harmless("warmup_steps_fraction"),
    harmless("learning_rate_schedule_steps"), harmless("adam_b1"), harmless("adam_b2"), harmless("adam_eps"),
    harmless("adam_eps_root"), harmless("adam_weight_decay"), harmless("enable_checkpointing"),
    harmless("async_checkpointing"), harmless("checkpoint_period"), harmless("save_config_to_gcs"),
    harmless("enable_emergency_checkpoint"), harmless("load_parameters_path"), harmless("load_full_state_path"),
    harmless("dataset_type"), harmless("dataset_path"), harmless("dataset_name"), harmless("eval_dataset_name"),
    harmless("train_split"), harmless("eval_split"), harmless("hf_path"), harmless("hf_train_files"),
    harmless("grain_train_files"), harmless("grain_worker_count"), harmless("packing"), harmless("tokenize_train_data"),
    harmless("tokenizer_path"), harmless("tokenizer_type"), harmless("add_bos"), harmless("add_eos"),
    harmless("enable_data_shuffling"), harmless("data_shuffle_seed"), harmless("init_weights_seed"),
    harmless("reuse_example_batch"), harmless("max_corpus_chars"), harmless("eval_interval"), harmless("eval_steps"),
    harmless("eval_per_device_batch_size"), harmless("target_eval_loss"), harmless("metrics_file"),
    harmless("gcs_metrics"), harmless("profiler"), harmless("profiler_steps"),
    harmless("skip_first_n_steps_for_profiler"), harmless("upload_all_profiler_results"),
    harmless("xplane_upload"), harmless("profile_cleanly"), harmless("enable_goodput_recording"),
    harmless("monitor_goodput"), harmless("monitor_step_time_deviation"), harmless("enable_tensorboard"),
    harmless("use_vertex_tensorboard"), harmless("vertex_tensorboard_project"), harmless("vertex_tensorboard_region"),
    harmless("max_checkify"), harmless("compiled_trainstep_file"), harmless("jax_cache_dir"),
    harmless("jax_distributed_initialization_timeout"),
    harmless("compile_xla_flags"), harmless("internal_compile"), harmless("enable_nnx"), harmless("pure_nnx"),
    harmless("enable_single_controller"), harmless("sharding_tolerance"), harmless("generate_padding_batch_train"),
};
// clang-format on

}  // namespace

std::span<const Row> keys() { return rows; }

}  // namespace orrery::doors::maxtext
