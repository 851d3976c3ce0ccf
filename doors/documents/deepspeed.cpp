// DeepSpeed's configuration: how a model that it does not describe is trained on data ranks.
#include <fmt/format.h>

#include "doors/convert.hpp"
#include "doors/documents/flatten.hpp"
#include "doors/model.hpp"
#include "doors/readers.hpp"

namespace orrery::doors {

namespace {

constexpr std::string_view estimate = "compare with a measurement before you rely on the difference";

// clang-format off
constexpr Row rows[] = {
    rule("train_batch_size"), rule("train_micro_batch_size_per_gpu"), rule("gradient_accumulation_steps"),
    rule("gradient_clipping"), rule("optimizer.type"), rule("optimizer.params.freeze_step"), harmless("optimizer.*"),
    harmless("scheduler.*"),
    rule("fp16.enabled"), rule("fp16.loss_scale"), rule("fp16.initial_scale_power"), rule("fp16.loss_scale_window"),
    rule("fp16.hysteresis"), rule("fp16.min_loss_scale"), rule("bf16.enabled"), rule("bfloat16.enabled"),
    rule("bf16.bf16_master_weights_and_grads"), rule("bf16.bf16_optimizer_states"),
    rule("bfloat16.bf16_master_weights_and_grads"), rule("bfloat16.bf16_optimizer_states"),
    noted("fp16.fp16_master_weights_and_grads", "master weights and gradients are in fp32", estimate),
    harmless("fp16.*"), harmless("bf16.*"), harmless("bfloat16.*"),
    refused("amp.enabled", "mixed precision by apex is not modelled yet", "fp16.enabled or bf16.enabled"),
    harmless("amp.*"), rule("zero_optimization"), rule("zero_optimization.stage"),
    rule("zero_optimization.overlap_comm"), rule("zero_optimization.reduce_bucket_size"),
    rule("zero_optimization.reduce_scatter"), rule("zero_optimization.use_multi_rank_bucket_allreduce"),
    rule("zero_optimization.contiguous_gradients"),
    refused("zero_optimization.offload_optimizer", "is an object that names a device", "{\"device\": \"cpu\"}",
        Takes::one, "{}"),
    rule("zero_optimization.offload_optimizer.device"), rule("zero_optimization.offload_optimizer.ratio"),
    rule("zero_optimization.offload_optimizer.pipeline_read"),
    rule("zero_optimization.offload_optimizer.pipeline_write"),
    harmless("zero_optimization.offload_optimizer.*"),
    rule("zero_optimization.offload_param.device"), harmless("zero_optimization.offload_param.*"),
    rule("zero_optimization.cpu_offload"),
    rule("zero_optimization.cpu_offload_params"),
    rule("zero_optimization.zero_hpz_partition_size"), rule("zero_optimization.zero_quantized_weights"),
    rule("zero_optimization.zero_quantized_gradients"),
    refused("zero_optimization.zero_quantized_nontrainable_weights", "frozen weights kept in int8 are not modelled yet",
        "false"),
    noted("zero_optimization.zeropp_loco_param", "what quantizing gradients loses is not kept", estimate),
    refused("zero_optimization.mics_shard_size", "ZeRO-3 within parts of the data ranks is not imported yet",
        "leave it out, and set strategy.num_distributed_optimizer_instances to the number of parts and gradient_sync "
        "to two_hop in the scenario", Takes::one, "-1"),
    noted("zero_optimization.stage3_max_live_parameters",
        "every layer's weights are given back after use but the head's", estimate, Takes::one, "auto"),
    noted("zero_optimization.stage3_max_reuse_distance",
        "every layer's weights are given back after use but the head's", estimate, Takes::one, "auto"),
    noted("zero_optimization.stage3_param_persistence_threshold", "all weights are sharded, small ones too",
        estimate, Takes::one, "auto"),
    noted("zero_optimization.zenflow.*", "the host's update is waited for", estimate),
    harmless("zero_optimization.*"), harmless("zero_allow_untested_optimizer"),
    harmless("zero_force_ds_cpu_optimizer"),
    noted("activation_checkpointing.partition_activations", "saved activations are kept whole on every rank",
        estimate),
    noted("activation_checkpointing.synchronize_checkpoint_boundary",
        "the host does not wait at the ends of layers that run again",
        "--set strategy.recompute=full --set strategy.synchronize_checkpoint_boundary=true"),
    noted("activation_checkpointing.cpu_checkpointing", "recomputed layers keep their inputs on the GPU",
        "--set strategy.cpu_offloading_num_layers=N"),
    harmless("activation_checkpointing.*"), rule("activation_checkpointing"),
    noted("sparse_attention.*", "attention is timed in full", estimate),
    noted("sparse_gradients", "gradients are reduced in full", estimate),
    noted("progressive_layer_drop.enabled", "every layer runs in every step", estimate),
    harmless("progressive_layer_drop.*"),
    noted("curriculum_learning.enabled", "sequences have their full length", estimate),
    harmless("curriculum_learning.*"),
    noted("data_efficiency.enabled", "sequences have their full length", estimate),
    harmless("data_efficiency.*"),
    noted("compression_training.*", "layers are timed uncompressed", estimate),
    key("communication_data_type"),
    rule("data_types.grad_accum_dtype"),
    refused("tensor_parallel.autotp_size", "is given beside the file", "--set strategy.tensor=N", Takes::one, "1"),
    harmless("tensor_parallel.*"),
    rule("sequence_parallel_size"),
    harmless("prescale_gradients"), harmless("gradient_predivide_factor"), harmless("steps_per_print"),
    harmless("wall_clock_breakdown"), harmless("dump_state"), harmless("tensorboard.*"), harmless("wandb.*"),
    harmless("csv_monitor.*"), harmless("comet.*"), harmless("comms_logger.*"), harmless("flops_profiler.*"),
    harmless("monitor_config.*"), harmless("aio.*"), harmless("autotuning.*"), harmless("elasticity.*"),
    harmless("checkpoint.*"), harmless("memory_breakdown"), harmless("disable_allgather"), harmless("seed"),
    harmless("dataloader_drop_last"), harmless("hybrid_engine.*"),
    noted("pipeline.stages", "a model's program divides it", "--set strategy.pipeline=N", Takes::one, "auto"),
    noted("pipeline.activation_checkpoint_interval", "no layer runs again for it", "--set strategy.recompute=full"),
    harmless("pipeline.*"), harmless("eigenvalue.*"),
    harmless("train_steps"), harmless("load_universal_checkpoint"), harmless("gradient_accumulation_dtype"),
    harmless("graph_harvesting"),
    noted("compile.deepcompile", "gathers are ahead by one layer, as without it", estimate), harmless("compile.*"),
    harmless("use_data_before_expert_parallel"),
};
// clang-format on

constexpr std::string_view own_value = "auto";  // Hugging Face's trainer fills it in

/// A key that Hugging Face's trainer fills in has to come from the command line.
void put(const std::string& pointer, const Given* given, Draft& draft) {
    if (given == nullptr) return;
    if (given->value != own_value) return set_key(pointer, *given, draft);
    std::string dotted = pointer.substr(1);
    dotted[dotted.find('/')] = '.';
    draft.want(pointer, given->origin, "is \"auto\": its value is another program's argument",
               fmt::format("--set {}=N", dotted));
}

void read_batches(const Givens& given, Draft& draft) {
    put("/training/micro_batch_size", given.find("train_micro_batch_size_per_gpu"), draft);
    put("/training/global_batch_size", given.find("train_batch_size"), draft);
    const Given* const steps = given.find("gradient_accumulation_steps");
    if (steps == nullptr) {
        if (given.find("train_batch_size") == nullptr) draft.accumulation = 1;
    } else if (steps->value != own_value) {
        draft.accumulation = whole_of(*steps, draft);
    }
    draft.want("/training/micro_batch_size", draft.whole_file(), "train_micro_batch_size_per_gpu is not given",
               "--set training.micro_batch_size=N");
    draft.want("/training/seq_length", draft.whole_file(), "DeepSpeed's files do not say how long sequences are",
               "--set training.seq_length=N");
}

/// Ranks that exchange heads (Ulysses). The whole batch counts data ranks alone (runtime/config.py: world size over
/// sequence_parallel_size), and ZeRO shards over both, as context ranks join data ranks here.
void read_sequence_ranks(const Givens& given, Draft& draft) {
    const Given* const ranks = given.find("sequence_parallel_size");
    if (ranks == nullptr) return;
    put("/strategy/context", ranks, draft);
    if (draft.whole("/strategy/context", 1) > 1) draft.set("/strategy/cp_comm_type", "a2a", ranks->origin);
}

/// runtime/config.py asserts it.
void refuse_two_halves(const Givens& given, Draft& draft) {
    const Given* const bf16 = given.find_any({"bf16.enabled", "bfloat16.enabled"});
    if (!given.is_on("fp16.enabled") || bf16 == nullptr || !given.is_on(bf16->name)) return;
    if (bf16->value == own_value || given.find("fp16.enabled")->value == own_value) return;
    draft.findings.refuse(bf16->origin.place, bf16->name, "both fp16 and bf16 are enabled, of which one can be",
                          "disable one of them");
}

/// Weights, gradients and states in bf16 alone are what we call pure bf16; one without the other is neither.
void read_narrow_states(const Givens& given, Draft& draft) {
    const Given* const on = given.find_any({"bf16.enabled", "bfloat16.enabled"});
    if (on == nullptr || !given.is_on(on->name)) return;
    const Given* const weights =
        given.find_any({"bf16.bf16_master_weights_and_grads", "bfloat16.bf16_master_weights_and_grads"});
    const Given* const states = given.find_any({"bf16.bf16_optimizer_states", "bfloat16.bf16_optimizer_states"});
    const bool narrow_weights = weights != nullptr && given.is_on(weights->name);
    const bool narrow_states = states != nullptr && given.is_on(states->name);
    if (narrow_weights && narrow_states) return draft.set("/training/master_weights", false, weights->origin);
    for (const Given* const each : {narrow_weights ? weights : nullptr, narrow_states ? states : nullptr})
        if (each != nullptr)
            draft.findings.not_modelled(each->origin.place, each->origin.name,
                                        "master weights, gradients and states are in fp32",
                                        "compare with a measurement before you rely on the memory");
}

void read_precision(const Givens& given, Draft& draft) {
    refuse_two_halves(given, draft);
    for (const auto& [name, precision] :
         {std::pair{"fp16.enabled", "fp16"}, {"bf16.enabled", "bf16"}, {"bfloat16.enabled", "bf16"}}) {
        const Given* const enabled = given.find(name);
        if (enabled == nullptr) continue;
        if (enabled->value == own_value)
            draft.want("/training/precision", enabled->origin, "is \"auto\": its value is another program's argument",
                       given.find("fp16.enabled") != nullptr && given.find("bf16.enabled") != nullptr
                           ? "--set training.precision=bf16, or fp16"
                           : fmt::format("--set training.precision={}", precision));
        else if (given.is_on(name))
            draft.set("/training/precision", precision, enabled->origin);
    }
    read_narrow_states(given, draft);
    for (const Wanted& wanted : draft.wanted())
        if (wanted.pointer == "/training/precision") return;
    draft.set_default("/training/precision", "fp32", draft.whole_file());
}

/// DeepSpeed's defaults are its own (runtime/config.py, get_fp16_enabled and what follows).
void read_loss_scaling(const Givens& given, Draft& draft) {
    if (!given.is_on("fp16.enabled")) return;
    for (const auto& [name, pointer] : {std::pair{"fp16.loss_scale", "/training/loss_scale"},
                                        {"fp16.loss_scale_window", "/training/loss_scale_window"},
                                        {"fp16.hysteresis", "/training/hysteresis"},
                                        {"fp16.min_loss_scale", "/training/min_loss_scale"}})
        if (given.is_on(name)) put(pointer, given.find(name), draft);
    constexpr std::uint64_t usual = 16, most = 50;
    const Given* const power = given.find("fp16.initial_scale_power");
    const std::uint64_t exponent = power == nullptr ? usual : whole_of(*power, draft, 0).value_or(usual);
    draft.set("/training/initial_loss_scale", std::uint64_t{1} << std::min(exponent, most),
              power == nullptr ? draft.whole_file() : power->origin);
}

/// What brings sums to the ranks that keep them (stage_1_and_2.py, reduce_ipg_grads and average_tensor, as of 0.12.4;
/// stage3.py, __reduce_and_partition_ipg_grads). Gradients that are not copied together are summed everywhere at the
/// first two stages and scattered at the third.
void read_grad_reduce_collective(const Givens& given, std::uint64_t number, const Given& stage, Draft& draft) {
    const Given* const scatter = given.find("zero_optimization.reduce_scatter");
    const Given* const several = given.find("zero_optimization.use_multi_rank_bucket_allreduce");
    const Given* const together = given.find("zero_optimization.contiguous_gradients");
    const auto is_off = [&](const Given* said) { return said != nullptr && !given.is_on(said->name); };
    if (number == 3 && is_off(together)) return;
    if (is_off(scatter))
        draft.set("/strategy/grad_reduce_collective", "all_reduce", scatter->origin);
    else if (number < 3 && is_off(together))
        draft.set("/strategy/grad_reduce_collective", "all_reduce", together->origin);
    else if (number < 3)
        draft.set("/strategy/grad_reduce_collective", is_off(several) ? "reduce" : "all_reduce",
                  several != nullptr ? several->origin : stage.origin);
}

void read_zero(const Givens& given, Draft& draft) {
    const Given* const stage = given.find("zero_optimization.stage");
    const auto number = stage == nullptr ? std::optional<std::uint64_t>(0) : whole_of(*stage, draft, 0);
    if (!number || stage == nullptr) return;
    set_key("/strategy/sharding", {stage->name, *number == 0 ? "none" : fmt::format("zero{}", *number), stage->origin},
            draft);
    if (*number == 3) draft.set("/strategy/fsdp_implementation", "deepspeed", stage->origin);
    const Given* const overlap = given.find("zero_optimization.overlap_comm");  // on at stage 3 unless it says no
    if (overlap == nullptr ? *number == 3 : given.is_on("zero_optimization.overlap_comm"))
        draft.set("/strategy/overlap_grad_reduce", true, overlap == nullptr ? stage->origin : overlap->origin);
    if (*number > 0) read_grad_reduce_collective(given, *number, *stage, draft);
    const Given* const bucket = given.find("zero_optimization.reduce_bucket_size");
    if (bucket == nullptr || bucket->value == own_value) return;
    constexpr std::uint64_t most = 100'000'000'000, bytes = 2;
    const auto elements = whole_of(*bucket, draft, 0);
    if (!elements) return;
    constexpr std::uint64_t least = 500'000;  // a scenario's buckets have a megabyte at least
    if (*elements < least)
        return draft.findings.not_modelled(bucket->origin.place, bucket->origin.name,
                                           "gradients are reduced in buckets of the usual size", "500000 or more");
    draft.set("/strategy/bucket_size", fmt::format("{} B", std::min(*elements, most) * bytes), bucket->origin);
}

/// ZeRO++.
void read_zero_plus_plus(const Givens& given, Draft& draft) {
    if (const Given* const part = given.find("zero_optimization.zero_hpz_partition_size"))
        set_key("/strategy/zero_hpz_partition_size", *part, draft);
    for (const char* const name : {"zero_quantized_weights", "zero_quantized_gradients"}) {
        const Given* const said = given.find(fmt::format("zero_optimization.{}", name));
        if (said != nullptr) set_key(fmt::format("/strategy/{}", name), *said, draft);
    }
}

/// The format in which gradients are summed, of micro-batches and of ranks (runtime/engine.py, get_data_types and
/// communication_data_type): with ZeRO that which is trained in, where the file does not say another.
void read_sums(const Givens& given, Draft& draft) {
    constexpr const char* key = "/training/grad_reduce_precision";
    if (const Given* const said = given.find("data_types.grad_accum_dtype")) return set_key(key, *said, draft);
    const auto *const sharding = draft.find("/strategy/sharding"), *const precision = draft.find("/training/precision");
    if (sharding != nullptr && *sharding != "none" && precision != nullptr)
        draft.set_default(key, *precision, draft.whole_file());
}

/// The device that one of ZeRO's objects names; null where there is none, and for one that is not modelled, which is
/// refused.
const Given* device_of(std::string_view object, const Givens& given, Draft& draft) {
    const Given* const device = given.find(fmt::format("zero_optimization.{}.device", object));
    if (device == nullptr || device->value == "none") return nullptr;
    if (device->value == "cpu" || device->value == "nvme") return device;
    draft.findings.refuse(device->origin.place, device->origin.name, "is no device that is modelled",
                          "\"cpu\" or \"nvme\"");
    return nullptr;
}

/// ZeRO-Offload, in whole or (ZeRO-Offload++) in part; its gradients leave as they are reduced.
void read_offloaded_optimizer(const Givens& given, Draft& draft) {
    const Given* said = device_of("offload_optimizer", given, draft);
    const bool on_drives = said != nullptr && said->value == "nvme";
    if (given.is_on("zero_optimization.cpu_offload")) said = given.find("zero_optimization.cpu_offload");
    if (said == nullptr) return;
    draft.set("/strategy/optimizer_cpu_offload", true, said->origin);
    draft.set("/strategy/overlap_cpu_optimizer_d2h_h2d", true, said->origin);
    if (const Given* const ratio = given.find("zero_optimization.offload_optimizer.ratio"))
        set_key("/strategy/optimizer_offload_fraction", *ratio, draft);
    if (!on_drives) return;
    draft.set("/strategy/offload_optimizer_device", "nvme", said->origin);
    for (const char* const way : {"pipeline_read", "pipeline_write"})
        if (const Given* const asked = given.find(fmt::format("zero_optimization.offload_optimizer.{}", way)))
            set_key(fmt::format("/strategy/offload_optimizer_{}", way), *asked, draft);
}

/// ZeRO-Infinity.
void read_offloaded_weights(const Givens& given, Draft& draft) {
    const Given* const device = device_of("offload_param", given, draft);
    if (device != nullptr)
        draft.set("/strategy/offload_param_device", device->value, device->origin);
    else if (given.is_on("zero_optimization.cpu_offload_params"))
        draft.set("/strategy/offload_param_device", "cpu", given.find("zero_optimization.cpu_offload_params")->origin);
}

/// Compressed momentum behind a warm-up.
void read_onebit_adam(const Given& optimizer, const Givens& given, Draft& draft) {
    draft.set("/strategy/compression", "onebit-adam", optimizer.origin);
    if (const Given* const steps = given.find("optimizer.params.freeze_step"))
        set_key("/strategy/freeze_step", *steps, draft);
}

}  // namespace

void read_deepspeed(const Request& request, Draft& draft) {
    const Givens given = flattened(read_json(request.file), request.file);
    apply(rows, given, draft);
    read_batches(given, draft);
    read_sequence_ranks(given, draft);
    put("/training/clip_grad", given.find("gradient_clipping"), draft);
    draft.set_default("/training/clip_grad", 0, draft.whole_file());  // DeepSpeed clips where it is told to
    read_precision(given, draft);
    read_loss_scaling(given, draft);
    read_zero(given, draft);
    read_zero_plus_plus(given, draft);
    read_sums(given, draft);
    read_offloaded_optimizer(given, draft);
    read_offloaded_weights(given, draft);
    if (const Given* const optimizer = given.find("optimizer.type")) {
        const std::string name = text_of(optimizer->value);
        if (same_word(name, "OneBitAdam"))
            read_onebit_adam(*optimizer, given, draft);
        else if (!same_word(name, "AdamW"))
            set_key("/training/optimizer", *optimizer, draft);
    }
    draft.set("/training/software", "deepspeed", draft.whole_file());
    draft.set("/training/kernel_fusion", "operators", draft.whole_file());  // PyTorch's, one by one
    if (!request.model.empty())
        put_transformers_modules(request.model, draft);
    else
        draft.want("/model", draft.whole_file(), "DeepSpeed's files do not describe the model",
                   "--model with a config.json of Hugging Face, or a name of `orrery list models`");
}

}  // namespace orrery::doors
