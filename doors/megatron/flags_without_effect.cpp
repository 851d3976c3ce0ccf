// Arguments without effect on the time or the memory of a steady step: data, learning rates, checkpoints, logs, and
// switches for what the prediction assumes in any case.

#include "doors/megatron/flags.hpp"

namespace orrery::doors::megatron {

namespace {

using enum Takes;

constexpr Row off(std::string_view name) { return harmless(name, none); }
constexpr Row value(std::string_view name) { return harmless(name, one); }
constexpr Row values(std::string_view name) { return harmless(name, any); }

// clang-format off
constexpr Row rows[] = {
    // Optimizer and schedule.
    value("lr"), value("min_lr"), value("lr_decay_style"), value("lr_decay_iters"), value("lr_decay_samples"),
    value("lr_decay_tokens"), value("lr_warmup_fraction"), value("lr_warmup_iters"), value("lr_warmup_samples"),
    value("lr_warmup_tokens"), value("lr_warmup_init"), value("lr_wsd_decay_style"), value("lr_wsd_decay_iters"),
    value("lr_wsd_decay_samples"), value("warmup"), value("decoupled_lr"), value("decoupled_min_lr"),
    value("weight_decay"), value("start_weight_decay"), value("end_weight_decay"), value("weight_decay_incr_style"),
    value("adam_beta1"), value("adam_beta2"), value("adam_eps"), value("loss_scale_upper_bound"),
    off("override_opt_param_scheduler"), off("use_checkpoint_opt_param_scheduler"),
    off("override_lr_scheduler"), off("use_checkpoint_lr_scheduler"), value("head_lr_mult"), value("train_iters"),
    value("train_samples"), value("train_tokens"), value("train_sync_interval"), value("iter_per_epoch"),
    values("step_batch_size_schedule"), value("phase_transition_iterations"), off("decrease_batch_size_if_needed"),
    off("apply_wd_to_qk_layernorm"), off("mup"), value("mup_init_std"),
    // Weights' first values and the mathematics of layers.
    value("init_method_std"), off("init_method_xavier_uniform"), value("seed"), value("norm_epsilon"),
    value("layernorm_epsilon"), value("rotary_base"), value("rotary_percent"),
    value("rotary_seq_len_interpolation_factor"), off("rotary_interleaved"), off("use_rope_scaling"),
    value("rope_scaling_factor"), value("rope_type"), value("rotary_scaling_factor"), value("mscale"),
    value("mscale_all_dim"), value("rope_theta"), value("rotary_position_embeddings_theta"), off("apply_layernorm_1p"),
    off("apply_query_key_layer_scaling"), off("no_query_key_layer_scaling"), off("attention_softmax_in_fp32"),
    off("no_position_embedding_interpolation"), off("perform_initialization"), off("no_initialization"),
    off("use_cpu_initialization"), off("init_model_with_meta_device"), off("data_parallel_random_init"),
    off("te_rng_tracker"), off("inference_rng_tracker"), value("no_rope_freq"),
    value("original_max_position_embeddings"), value("yarn_beta_fast"), value("yarn_beta_slow"),
    value("max_padding_length"), off("fp32_tokentypes"), off("bert_no_binary_head"), off("cls_token_only"),
    off("force_llama"), value("qk_nope_head_dim"), value("qk_rope_head_dim"),
    // Routers.
    value("moe_router_load_balancing_type"), values("moe_aux_loss_coeff"), value("moe_z_loss_coeff"),
    value("moe_input_jitter_eps"), value("moe_router_dtype"), value("moe_router_score_function"),
    off("moe_router_enable_expert_bias"), value("moe_router_bias_update_rate"), off("moe_router_pre_softmax"),
    off("moe_router_force_load_balancing"), value("moe_router_topk_scaling_factor"),
    value("moe_token_drop_policy"), off("moe_per_layer_logging"),
    off("moe_grouped_gemm"), off("moe_router_padding_for_fp8"),
    off("moe_use_legacy_grouped_gemm"), off("create_moe_param_group"), value("moe_loss_coeff"),
    value("moe_eval_capacity_factor"), value("moe_aux_loss_free_bias"), off("moe_extended_tp"),
    value("moe_deepep_num_sms"), off("use_tutel"), off("ds_inference"), off("enable_expert_tensor_parallelism"),
    value("mtp_loss_scaling_factor"),
    // Data and tokens.
    values("data_path"), values("train_data_path"), values("valid_data_path"), values("test_data_path"),
    values("data_cache_path"), values("data_args_path"), values("per_split_data_args_path"), value("split"),
    value("vocab_file"), value("merge_file"), value("vocab_extra_ids"), value("tokenizer_hf_use_fast"),
    values("tokenizer_special_tokens"), value("tiktoken_pattern"), value("tiktoken_num_special_tokens"),
    value("tiktoken_special_tokens"), off("tokenizer_hf_no_use_fast"), off("tokenizer_hf_no_include_special_tokens"),
    off("trust_remote_code"), value("data_impl"), value("dataloader_type"), value("num_workers"),
    value("valid_num_workers"), off("mock_data"), off("mmap_warmup"), off("no_mmap_bin_files"),
    off("reset_position_ids"), off("eod_mask_loss"),
    off("no_create_attention_mask_in_dataloader"), value("num_dataset_builder_threads"), off("no_data_sharding"),
    off("use_dataset_only"), values("train_weighted_split_paths_path"), values("valid_weighted_split_paths_path"),
    values("test_weighted_split_paths_path"), values("train_weighted_split_paths"),
    values("valid_weighted_split_paths"), values("test_weighted_split_paths"), value("train_idx_path"),
    value("train_doc_idx_path"), value("train_sample_idx_path"), value("train_shuffle_idx_path"), value("dataset"),
    value("train_dataset"), value("valid_dataset"), value("data_dir"), value("train_mode"), value("epochs"),
    value("mask_prob"), value("short_seq_prob"), value("sample_rate"), off("skip_train"), off("norm_target_loss"),
    off("loss_on_targets_only"), off("reweight_loss_based_on_position_frequency"), value("noise_density"),
    value("mean_noise_span_length"), off("prefixlm"), off("calculate_per_token_loss"),
    off("dataloader_fast_cache_load"), off("dataloader_defer_npy_index_mmap"), value("mid_level_dataset_surplus"),
    off("fim_data"), value("fim_rate"), value("fim_spm_rate"), value("task"), off("finetune"), off("sft"),
    // Checkpoints, evaluation and logs.
    value("save"), value("load"), value("save_interval"), value("pretrained_checkpoint"), off("no_load_optim"),
    off("no_load_rng"), off("no_save_optim"), off("no_save_rng"), off("async_save"), off("use_persistent_ckpt_worker"),
    value("ckpt_format"), value("dist_ckpt_format"), value("ckpt_step"), value("ckpt_convert_format"),
    value("ckpt_convert_save"), off("use_dist_ckpt"), off("ckpt_fully_parallel_save"), off("ckpt_fully_parallel_load"),
    off("ckpt_assume_constant_structure"), value("dist_ckpt_strictness"), off("auto_detect_ckpt_format"),
    value("non_persistent_save_interval"), off("exit_on_missing_checkpoint"), off("use_checkpoint_args"),
    off("use_mp_args_from_checkpoint_args"), off("no_load_lr_state"), value("exit_interval"),
    value("exit_duration_in_mins"), off("exit_signal_handler"), value("kill_switch_path"), off("universal_checkpoint"),
    value("save_retain_interval"), off("reset_iteration"), off("override_lr_scheduler_state"),
    off("dist_ckpt_save_pre_mcore_014"), value("eval_interval"), value("eval_iters"), values("eval_micro_batch_size"),
    value("eval_global_batch_size"), off("full_validation"), off("reset_progress"), value("log_interval"),
    off("log_throughput"), off("log_progress"), off("log_params_norm"),
    off("log_timers_to_tensorboard"), off("log_batch_size_to_tensorboard"), off("log_validation_ppl_to_tensorboard"),
    off("log_memory_to_tensorboard"), off("log_world_size_to_tensorboard"), off("log_learning_rate_to_tensorboard"),
    off("no_log_learnig_rate_to_tensorboard"), off("no_log_loss_scale_to_tensorboard"),
    off("log_loss_scale_to_tensorboard"), off("log_optimizer_states_to_tensorboard"), off("log_energy"),
    value("tensorboard_dir"), value("tensorboard_queue_size"), value("tensorboard_log_interval"),
    value("timing_log_level"), value("timing_log_option"), value("wandb_project"), value("wandb_exp_name"),
    value("wandb_save_dir"), value("wandb_entity"), value("wandb_group"), value("wandb_host"),
    off("enable_one_logger"), off("no_one_logger"), value("one_logger_project"), value("one_logger_run_name"),
    off("log_straggler"), off("disable_straggler_on_startup"), value("straggler_minmax_count"),
    value("check_weight_hash_across_dp_replicas_interval"), value("logging_level"), value("memory_snapshot_path"),
    off("record_memory_history"), off("clearml"), value("codecarbon_dir"), value("config_logger_dir"), off("profile"),
    value("profile_step_start"), value("profile_step_end"), values("profile_ranks"), off("use_pytorch_profiler"),
    off("adlr_autoresume"), value("adlr_autoresume_interval"), value("result_rejected_tracker_filename"),
    value("app_tag_run_name"), value("app_tag_run_version"), off("check_for_nan_in_loss_and_grad"),
    off("no_check_for_nan_in_loss_and_grad"), off("check_for_large_grads"), off("check_for_spiky_loss"),
    off("rerun_mode"), off("enable_ft_package"), off("calc_ft_timeouts"), value("error_injection_rate"),
    values("skip_train_iteration_range"),
    // Start of the job; what is assumed in any case.
    value("distributed_backend"), value("distributed_timeout_minutes"),
    value("distributed_timeout_seconds_after_init"), value("local_rank"), value("rank"), value("lazy_mpu_init"),
    value("log_level"), value("log_level_replica"), off("use_te"), off("no_use_tokenizer_model_from_checkpoint_args"),
    value("tokenizer_prompt_format"), value("dataloader_save"), off("zero_contigious_gradients"),
    off("zero_reduce_scatter"), value("zero_reduce_bucket_size"), value("zero_allgather_bucket_size"),
    off("standalone_embedding_stage"), off("use_ring_exchange_p2p"), off("empty_cache"),
    value("nccl_communicator_config_path"), off("use_mcore_models"), off("use_legacy_models"),
    off("use_gloo_process_groups"), off("disable_gloo_process_groups"), off("enable_gloo_process_groups"),
    off("enable_experimental"), off("manual_gc"), value("manual_gc_interval"), off("no_manual_gc_eval"),
    off("no_contiguous_buffers_in_local_ddp"), off("use_contiguous_buffers_in_local_ddp"),
    off("no_persist_layer_norm"), off("persist_layer_norm"), off("ddp_average_in_collective"),
    value("ddp_num_buckets"), off("ddp_pad_buckets_for_high_nccl_busbw"), off("no_align_param_gather"),
    off("no_align_grad_reduce"), off("align_grad_reduce"), off("masked_softmax_fusion"), off("bias_gelu_fusion"),
    off("bias_dropout_fusion"), off("gradient_accumulation_fusion"), off("use_fused_rotary"),
    off("sync_tp_duplicated_parameters"), off("abort_on_unmet_fused_kernel_constraints"), value("fp8_margin"),
    value("fp8_interval"), value("fp8_amax_history_len"), value("fp8_amax_compute_algo"),
    off("fp8_wgrad"), off("keep_fp8_transpose_cache"), value("cpu_offloading_weights"), values("spec"),
    value("export_force_local_attention"), value("inference_batch_times_seqlen_threshold"), off("use_one_sent_docs"),
    value("yaml_cfg"), off("deepspeed_activation_checkpointing"), off("deepspeed_mpi"),
    off("synchronize_each_layer"), off("contigious_checkpointing"), off("profile_backward"), value("deepscale_config"),
    off("deepscale"), value("remote_device"), off("use_pin_memory"), off("memory_centric_tiled_linear"),
    off("split_transformers"), off("train_decoder_only_mode"), value("inference"),
    value("pipeline_model_parallel_comm_backend"), value("suggested_communication_unit_size"), off("no_mmap_warmup"),
};
// clang-format on

}  // namespace

std::span<const Row> flags_without_effect() { return rows; }

}  // namespace orrery::doors::megatron
