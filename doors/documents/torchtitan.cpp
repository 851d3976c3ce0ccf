// TorchTitan's job configuration: a model of its own catalog, FSDP over data ranks, tensor and pipeline parallelism.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <ranges>
#include <string_view>

#include "doors/cluster.hpp"
#include "doors/convert.hpp"
#include "doors/documents/flatten.hpp"
#include "doors/documents/torchtitan_stages.hpp"
#include "doors/model.hpp"
#include "doors/readers.hpp"
#include "models/catalog.hpp"

namespace orrery::doors {

namespace {

constexpr std::string_view estimate = "compare with a measurement before you rely on the difference";

// clang-format off
constexpr Row rows[] = {
    rule("model.name"), rule("model.flavor"), rule("model.converters"), rule("model.norm_type"), harmless("model.*"),
    rule("training.batch_size"), rule("training.local_batch_size"), rule("training.global_batch_size"),
    rule("training.gradient_accumulation_steps"), rule("training.seq_len"), rule("training.max_norm"),
    rule("training.mixed_precision_param"), rule("training.mixed_precision_reduce"),
    rule("training.data_parallel_degree"), rule("training.data_parallel_replicate_degree"),
    rule("training.data_parallel_shard_degree"), rule("training.tensor_parallel_degree"), rule("training.compile"),
    rule("training.deterministic"), rule("debug.deterministic"), rule("training.dtype"),
    rule("training.enable_cpu_offload"),
    harmless("training.*"), rule("parallelism.data_parallel_replicate_degree"),
    rule("parallelism.data_parallel_shard_degree"), rule("parallelism.tensor_parallel_degree"),
    rule("parallelism.pipeline_parallel_degree"), rule("parallelism.pipeline_parallel_schedule"),
    rule("parallelism.expert_parallel_degree"),
    rule("parallelism.expert_tensor_parallel_degree"),
    rule("parallelism.fsdp_reshard_after_forward"),
    rule("parallelism.context_parallel_degree"), rule("parallelism.context_parallel_rotate_method"),
    rule("parallelism.pipeline_parallel_microbatch_size"),
    rule("parallelism.pipeline_parallel_split_points"), rule("parallelism.module_fqns_per_model_part"),
    noted("parallelism.pipeline_parallel_layers_per_stage", "each stage has as many layers",
        "--set strategy.pipeline_layers=N,N,..."),
    noted("parallelism.enable_async_tensor_parallel",
        "tensor-parallel collectives are not split to run beside their products", estimate),
    rule("parallelism.disable_loss_parallel"),
    harmless("parallelism.enable_compiled_autograd"),
    rule("experimental.pipeline_parallel_degree"), rule("experimental.pipeline_parallel_schedule"),
    rule("experimental.pipeline_parallel_split_points"),
    rule("experimental.context_parallel_degree"), rule("experimental.pipeline_parallel_microbatches"),
    noted("experimental.enable_async_tensor_parallel",
        "tensor-parallel collectives are not split to run beside their products", estimate),
    harmless("experimental.*"), rule("activation_checkpoint.mode"), rule("activation_checkpoint.selective_ac_option"),
    harmless("activation_checkpoint.*"),
    noted("activation_offload.mode", "offloading of activations is not taken over",
        "--set strategy.cpu_offloading_num_layers=N", Takes::one, "none"),
    rule("float8.enable_float8_linear"), rule("float8.recipe_name"), rule("float8.enable_fsdp_float8_all_gather"),
    harmless("float8.*"), rule("quantize.linear.float8.recipe_name"),
    rule("quantize.linear.float8.enable_fsdp_float8_all_gather"), harmless("quantize.linear.float8.*"),
    rule("quantize.dense.float8.recipe_name"), rule("quantize.dense.float8.enable_fsdp_float8_all_gather"),
    harmless("quantize.dense.float8.*"),
    noted("quantize.grouped_mm.*", "experts' products are timed in the precision of the others", estimate),
    rule("mx.recipe_name"), harmless("mx.*"), rule("quantize.linear.mx.recipe_name"),
    harmless("quantize.linear.mx.*"), rule("quantize.dense.mx.recipe_name"),
    harmless("quantize.dense.mx.*"), rule("compile.enable"),
    rule("compile.components"), harmless("compile.*"), rule("optimizer.name"), rule("optimizer.implementation"),
    noted("optimizer.early_step_in_backward", "weights are updated behind the whole backward", estimate),
    harmless("optimizer.*"), harmless("lr_scheduler.*"), harmless("job.*"),
    harmless("profiling.*"), harmless("metrics.*"), harmless("checkpoint.*"), harmless("comm.*"),
    harmless("memory_estimation.*"), harmless("fault_tolerance.*"), harmless("validation.*"), harmless("debug.*"),
    harmless("data.*"), harmless("dataset.*"),
};

/// Flavors that are models of the catalog; the others' sizes stand in TorchTitan's sources alone.
struct Flavor {
    std::string_view name, flavor, model;
};
constexpr std::array flavors{
    Flavor{"llama3", "8B", "llama3-8b"}, Flavor{"llama3", "70B", "llama3-70b"},
    Flavor{"llama3", "405B", "llama3.1-405b"},
    Flavor{"llama3_ft", "8B", "llama3-8b"}, Flavor{"llama2", "7B", "llama2-7b"}, Flavor{"llama2", "13B", "llama2-13b"},
    Flavor{"llama2", "70B", "llama2-70b"}, Flavor{"qwen3", "0.6B", "qwen3-0.6b"},
    Flavor{"qwen3", "8B", "qwen3-8b"},
    Flavor{"qwen3", "14B", "qwen3-14b"}, Flavor{"qwen3", "32B", "qwen3-32b"},
    Flavor{"qwen3", "30B-A3B", "qwen3-30b-a3b"},
    Flavor{"qwen3", "235B-A22B", "qwen3-235b-a22b"}, Flavor{"deepseek_v3", "671B", "deepseek-v3"},
};
// clang-format on

/// Llama's and DeepSeek's models rotate complex numbers, Qwen's do not (models/*/__init__.py: ComplexRoPE, CosSinRoPE).
bool rotates_complex_numbers(const Givens& given) {
    const std::string name = given.text("model.name");
    return name.starts_with("llama") || name.starts_with("deepseek");
}

void read_catalog_model(const Request& request, const Givens& given, Draft& draft) {
    if (!request.model.empty()) return;
    const Given* const flavor = given.find_any({"model.flavor", "model.name"});
    const Origin origin = flavor == nullptr ? draft.whole_file() : flavor->origin;
    for (const Flavor& each : flavors)
        if (same_word(each.name, given.text("model.name")) && same_word(each.flavor, given.text("model.flavor")))
            return draft.set("/model/name", std::string(each.model), origin);
    draft.want(
        "/model", origin,
        fmt::format("the sizes of {} {} are not known here", given.text("model.name"), given.text("model.flavor")),
        "--model CONFIG.json of Hugging Face, or --set model.name=NAME of `orrery list models`");
}

void note(const Given& each, const std::string& what, Draft& draft) {
    draft.findings.not_modelled(each.origin.place, each.origin.name, what, std::string(estimate));
}

/// A degree of either place where versions of TorchTitan have it.
const Given* degree(const Givens& given, const std::string& name) {
    return given.find_any({"parallelism." + name, "experimental." + name, "training." + name});
}

/// "default": weights are given back unless there is a pipeline (torchtitan, config/job_config.py).
void read_reshard(const Givens& given, const Origin& origin, Draft& draft) {
    const Given* const said = given.find("parallelism.fsdp_reshard_after_forward");
    const std::string word = said == nullptr ? "default" : text_of(said->value);
    const Origin& place = said == nullptr ? origin : said->origin;
    if (word != "default" && word != "always" && word != "never")
        return draft.findings.refuse(place.place, place.name, "this word is not known here",
                                     "default, always or never");
    const bool stays = word == "never" || (word == "default" && draft.whole("/strategy/pipeline", 1) > 1);
    if (stays) draft.set("/strategy/fsdp_reshard_after_forward", false, place);
}

/// FSDP2's CPUOffloadPolicy: shares of weights, their gradients and the optimizer's states are the host's.
void read_offload(const Givens& given, Draft& draft) {
    const Given* const said = given.find("training.enable_cpu_offload");
    if (said == nullptr || !given.is_on("training.enable_cpu_offload")) return;
    draft.set("/strategy/offload_param_device", "cpu", said->origin);
    draft.set("/strategy/optimizer_cpu_offload", true, said->origin);
    draft.set("/strategy/overlap_cpu_optimizer_d2h_h2d", true, said->origin);
}

void read_sharding(const Givens& given, Draft& draft) {
    const auto number = [&](const Given* found, std::uint64_t fallback) {
        return found == nullptr ? fallback : whole_number(found->value).value_or(fallback);
    };
    const Given* const replicate = degree(given, "data_parallel_replicate_degree");
    const Given* shard = degree(given, "data_parallel_shard_degree");
    if (shard == nullptr) shard = given.find("training.data_parallel_degree");  // until July 2024
    const std::uint64_t replicas = number(replicate, 1);
    const bool sharded = shard == nullptr || text_of(shard->value) == "-1" || number(shard, 1) > 1;
    const Origin origin = shard == nullptr ? draft.whole_file() : shard->origin;
    if (replicas > 1 && sharded)
        draft.set("/strategy/num_distributed_optimizer_instances", replicas, replicate->origin);
    draft.set("/strategy/sharding", sharded ? "zero3" : "none", replicas > 1 ? replicate->origin : origin);
    draft.set("/strategy/overlap_grad_reduce", true, origin);
    draft.set("/training/gradient_accumulation_fusion", false, draft.whole_file());  // autograd adds
    if (sharded) draft.set("/strategy/fsdp_implementation", "fsdp2", origin);
    if (sharded) read_reshard(given, origin, draft);
    if (sharded) read_offload(given, draft);
    // torch.distributed.pipelining (stage.py, backward_maybe_with_nosync) syncs behind a stage's last backward alone.
    if (sharded && draft.whole("/strategy/pipeline", 1) > 1) draft.set("/strategy/gradient_sync", "step", origin);
    // All degrees together are the GPUs that the file was written for.
    const std::uint64_t data = replicas * (sharded && number(shard, 0) > 1 ? number(shard, 1) : 1);
    if (sharded && number(shard, 0) <= 1) return;
    constexpr std::uint64_t most = 1U << 20U;
    if (data > most) return;
    draft.machines.gpus = data * draft.whole("/strategy/tensor", 1) * draft.whole("/strategy/context", 1) *
                          draft.whole("/strategy/pipeline", 1);
    draft.machines.origin = origin;
}

/// Keys and values are gathered, or go around a ring (torch.distributed.tensor.experimental, set_rotate_method).
void read_context(const Givens& given, Draft& draft) {
    const Given* const context = degree(given, "context_parallel_degree");
    if (context == nullptr) return;
    set_key("/strategy/context", *context, draft);
    if (draft.whole("/strategy/context", 1) == 1) return;
    const Given* const rotate = given.find("parallelism.context_parallel_rotate_method");
    const bool ring = rotate != nullptr && text_of(rotate->value) == "alltoall";
    draft.set("/strategy/cp_comm_type", ring ? "p2p" : "all_gather",
              rotate == nullptr ? context->origin : rotate->origin);
}

/// A schedule of torch.distributed.pipelining, what it is called here, and TorchTitan's stages a rank.
struct Schedule {
    std::string_view name, here;
    int chunks;
};
constexpr std::array schedules{Schedule{"1F1B", "1f1b", 1}, Schedule{"GPipe", "gpipe", 1},
                               Schedule{"Interleaved1F1B", "interleaved", 2}, Schedule{"DualPipeV", "dualpipe-v", 2},
                               Schedule{"ZBVZeroBubble", "zb-v", 2}};

void read_schedule(const Givens& given, Draft& draft) {
    const Given* const said = degree(given, "pipeline_parallel_schedule");
    if (said == nullptr || draft.whole("/strategy/pipeline", 1) == 1) return;
    const std::string name = text_of(said->value);
    const auto* const known =
        std::ranges::find_if(schedules, [&](const Schedule& each) { return same_word(name, each.name); });
    if (known == schedules.end()) {
        const auto names = schedules | std::views::transform(&Schedule::name);
        return draft.findings.refuse(said->origin.place, said->origin.name,
                                     fmt::format("the schedule {} is not modelled yet", name),
                                     fmt::format("one of {}", fmt::join(names, ", ")));
    }
    draft.set("/strategy/schedule", known->here, said->origin);
    if (known->chunks > 1) draft.set("/strategy/virtual_pipeline", known->chunks, said->origin);
}

/// Experts are whole (job_config.py: expert_tensor_parallel_degree 1) or divided as the tensor ranks are.
void read_expert_degrees(const Givens& given, Draft& draft) {
    const Given* const expert = degree(given, "expert_parallel_degree");
    if (expert == nullptr) return;
    set_key("/strategy/expert", *expert, draft);
    const Given* const split = given.find("parallelism.expert_tensor_parallel_degree");
    const std::uint64_t tensor = draft.whole("/strategy/tensor", 1);
    if (tensor == 1 || draft.whole("/strategy/expert", 1) == 1) return;
    const auto parts = split == nullptr ? std::optional<std::uint64_t>(1) : whole_of(*split, draft);
    if (parts && *parts == 1)
        return draft.set("/strategy/expert_tensor", 1, split == nullptr ? expert->origin : split->origin);
    if (parts && *parts != tensor)
        draft.findings.refuse(split->origin.place, split->origin.name,
                              "experts are whole, or divided as the tensor ranks", fmt::format("1 or {}", tensor));
}

void read_degrees(const Givens& given, Draft& draft) {
    if (const Given* const tensor = degree(given, "tensor_parallel_degree")) {
        set_key("/strategy/tensor", *tensor, draft);
        if (draft.whole("/strategy/tensor", 1) > 1) draft.set("/strategy/sequence_parallel", true, tensor->origin);
    }
    if (const Given* const pipeline = degree(given, "pipeline_parallel_degree"))
        set_key("/strategy/pipeline", *pipeline, draft);
    read_expert_degrees(given, draft);
    read_context(given, draft);
    read_schedule(given, draft);
    if (given.is_on("parallelism.disable_loss_parallel") && draft.whole("/strategy/tensor", 1) > 1)
        draft.set("/strategy/loss_parallel", false, given.find("parallelism.disable_loss_parallel")->origin);
}

/// Until 2025 a pipeline was said how many there are of a local batch.
void read_number_of_micro_batches(const Given& number, std::uint64_t local, Draft& draft) {
    const std::uint64_t count = whole_of(number, draft).value_or(1);
    if (local % count == 0)
        return set_key("/training/micro_batch_size", {number.name, local / count, number.origin}, draft);
    draft.findings.refuse(number.origin.place, number.origin.name,
                          fmt::format("{} micro-batches do not divide {} sequences", count, local),
                          "a divisor of training.batch_size");
}

/// Each accumulation step runs the schedule once over the local batch (train.py, forward_backward_step): so many
/// pipelines fill and drain.
void note_pipelines_of_step(const Givens& given, const Given* local, Draft& draft) {
    const Given* const whole = given.find("training.global_batch_size");
    const Given* const steps = given.find("training.gradient_accumulation_steps");
    const auto number = [](const Given* said) { return said == nullptr ? std::nullopt : whole_number(said->value); };
    const Given* const shards = degree(given, "data_parallel_shard_degree");
    const Given* const copies = degree(given, "data_parallel_replicate_degree");
    const std::uint64_t data = number(shards).value_or(1) * number(copies).value_or(1);  // or more
    if (number(whole).value_or(0) <= number(local).value_or(1) * data && number(steps).value_or(1) <= 1) return;
    note(number(steps) > 1 ? *steps : *whole,
         "the schedule runs once over all micro-batches of a step, not once for each step of accumulation, whose "
         "pipelines fill and drain one after the other",
         draft);
}

void read_batches(const Givens& given, Draft& draft) {
    const Given* const local = given.find_any({"training.local_batch_size", "training.batch_size"});
    const bool pipelined = draft.whole("/strategy/pipeline", 1) > 1;
    // Of a pipeline the local batch is cut into micro-batches.
    const Given* const micro = given.find("parallelism.pipeline_parallel_microbatch_size");
    const Given* const number = given.find("experimental.pipeline_parallel_microbatches");
    if (pipelined && number != nullptr && local != nullptr && whole_number(local->value))
        read_number_of_micro_batches(*number, *whole_number(local->value), draft);
    else if (pipelined && micro == nullptr)
        draft.set("/training/micro_batch_size", 1, draft.whole_file());
    else if (const Given* const size = pipelined ? micro : local)
        set_key("/training/micro_batch_size", *size, draft);
    draft.want("/training/micro_batch_size", draft.whole_file(), "training.local_batch_size is not given",
               "--set training.micro_batch_size=N");
    const Given* const whole = given.find("training.global_batch_size");
    const Given* const steps = given.find("training.gradient_accumulation_steps");
    if (pipelined) note_pipelines_of_step(given, local, draft);
    if (whole != nullptr && whole_number(whole->value)) return set_key("/training/global_batch_size", *whole, draft);
    draft.accumulation = steps == nullptr ? std::optional<std::uint64_t>(1) : whole_of(*steps, draft);
    const std::uint64_t size = draft.whole("/training/micro_batch_size", 1);
    if (pipelined && local != nullptr && draft.accumulation)
        draft.accumulation =
            *draft.accumulation * (whole_number(local->value).value_or(size) / std::max<std::uint64_t>(1, size));
}

/// selective_ac_option: "op", or every how many layers (distributed/activation_checkpoint.py).
void read_recomputation(const Givens& given, Draft& draft) {
    const Given* const mode = given.find("activation_checkpoint.mode");
    if (mode != nullptr && text_of(mode->value) != "selective") return set_key("/strategy/recompute", *mode, draft);
    const Origin origin = mode != nullptr ? mode->origin : draft.whole_file();  // TorchTitan's default
    const std::string option = given.text("activation_checkpoint.selective_ac_option");
    if (option == "1" || option == "op") {
        draft.set("/strategy/recompute", "full", origin);
        if (option == "op") draft.set("/strategy/checkpoint_policy", "every_second_mm", origin);
        return;
    }
    draft.set("/strategy/recompute", "selective", origin);
    draft.findings.not_modelled(origin.place, "activation_checkpoint.mode",
                                "recomputes attention here; TorchTitan chooses among operators, or layers",
                                "--set strategy.recompute=full and none bound it");
}

/// What converts linear layers to MXFP8; "mx" before 2026.
constexpr std::array mxfp8_converters{"mx", "quantize.linear.mx", "quantize.dense.mx"};

bool is_mxfp8(const Given& converters) {
    const auto is = [](const nlohmann::ordered_json& each) {
        return std::ranges::find(mxfp8_converters, each) != mxfp8_converters.end();
    };
    if (!converters.value.is_array()) return is(converters.value);
    return std::ranges::any_of(converters.value, is);
}

/// Those that change nothing here are said; of block scales only MXFP8's are modelled.
void note_converters(const Given& converters, const Givens& given, Draft& draft) {
    if (converters.value.is_array())
        for (const auto& each : converters.value) {
            const std::string name = text_of(each);
            const bool known = name.find("float8") != name.npos || is_mxfp8({converters.name, each, converters.origin});
            if (!known) note(converters, fmt::format("{} is not taken over", name), draft);
        }
    for (const char* name : {"mx.recipe_name", "quantize.linear.mx.recipe_name", "quantize.dense.mx.recipe_name"})
        if (const Given* const recipe = given.find(name);
            recipe != nullptr && !text_of(recipe->value).starts_with("mxfp8"))
            draft.findings.refuse(recipe->origin.place, recipe->origin.name,
                                  "of block scales MXFP8 alone is taken over",
                                  "mxfp8_cublas, or --set training.precision=fp4");
}

/// Weights, and the optimizer's states with them.
bool is_in_bf16(const Givens& given) { return given.text("training.dtype") == "bfloat16"; }

/// Model and loss, unless one alone is named.
bool is_compiled(const Givens& given, std::string_view part) {
    const Given* const parts = given.find("compile.components");
    if (given.is_on("compile.enable") && parts != nullptr && parts->value.is_array())
        return std::ranges::find(parts->value, part) != parts->value.end();
    return given.is_on("training.compile") || given.is_on("compile.enable");
}

/// fully_shard, which contexts need too.
bool is_fully_sharded(const Draft& draft) {
    const nlohmann::ordered_json* const sharding = draft.find("/strategy/sharding");
    return sharding == nullptr || *sharding != "none" || draft.whole("/strategy/context", 1) > 1;
}

/// distributed/utils.py, maybe_enable_amp: fully_shard casts weights as it gathers them; without it products cast them
/// themselves, but where tensor ranks or a pipeline leave everything in fp32.
void read_unsharded_precision(const Origin& origin, Draft& draft) {
    if (is_fully_sharded(draft)) return;
    if (draft.whole("/strategy/tensor", 1) > 1 || draft.whole("/strategy/pipeline", 1) > 1)
        return draft.set("/training/precision", "fp32", origin);
    if (has_experts(draft))
        return draft.findings.not_modelled(origin.place, origin.name,
                                           "weights are cast once a step, not by each product", std::string(estimate));
    draft.set("/training/autocast", true, origin);
}

void read_precision(const Givens& given, Draft& draft) {
    const Given* const converters = given.find_any({"model.converters", "float8.enable_float8_linear"});
    const bool fp8 = converters != nullptr &&
                     (text_of(converters->value).find("float8") != std::string::npos || converters->value == true);
    const Given* const half = given.find("training.mixed_precision_param");
    const std::string name = half == nullptr ? "bfloat16" : text_of(half->value);
    const Origin origin = half == nullptr ? draft.whole_file() : half->origin;
    if (converters != nullptr) note_converters(*converters, given, draft);
    if (fp8) {
        draft.set("/training/precision", "fp8", converters->origin);
        const Given* const recipe = given.find_any(
            {"float8.recipe_name", "quantize.linear.float8.recipe_name", "quantize.dense.float8.recipe_name"});
        draft.set("/training/fp8_recipe", "tensorwise", recipe == nullptr ? converters->origin : recipe->origin);
        if (recipe != nullptr && text_of(recipe->value) != "tensorwise")
            draft.findings.not_modelled(recipe->origin.place, recipe->origin.name, "scales are timed as one a tensor",
                                        estimate.data());
        for (const char* gathers :
             {"float8.enable_fsdp_float8_all_gather", "quantize.linear.float8.enable_fsdp_float8_all_gather",
              "quantize.dense.float8.enable_fsdp_float8_all_gather"})
            if (given.is_on(gathers) && (recipe == nullptr || text_of(recipe->value) == "tensorwise"))
                draft.set("/training/fp8_param_gather", true, given.find(gathers)->origin);  // torchao's, of tensors
    } else if (converters != nullptr && is_mxfp8(*converters)) {
        draft.set("/training/precision", "fp8", converters->origin);
        draft.set("/training/fp8_recipe", "mxfp8", converters->origin);
    } else {
        draft.set("/training/precision", name == "float32" ? "fp32" : "bf16", origin);
        if (is_in_bf16(given) && name != "float32")
            draft.set("/training/master_weights", false, given.find("training.dtype")->origin);
        else if (name != "float32")
            read_unsharded_precision(origin, draft);
    }
    if (is_in_bf16(given))
        note(*given.find("training.dtype"),
             draft.find("/training/master_weights") == nullptr ? "weights and states are in fp32"
                                                               : "gradients are reduced in bf16",
             draft);
    if (given.text("training.mixed_precision_reduce") == "bfloat16" && is_fully_sharded(draft))
        draft.set("/training/grad_reduce_precision", "bf16", given.find("training.mixed_precision_reduce")->origin);
}

/// checkpoint_wrapper's layers stop early where products are PyTorch's own (distributed/activation_checkpoint.py);
/// attention is cuDNN's where there is one (models/common/attention.py, of 2026; before May 2025 FlashAttention-2).
void read_what_pytorch_runs(const Request& request, const Givens& given, Draft& draft) {
    const Given* const mode = given.find("activation_checkpoint.mode");
    const nlohmann::ordered_json* const recompute = draft.find("/strategy/recompute");
    const nlohmann::ordered_json* const precision = draft.find("/training/precision");
    if (recompute != nullptr && *recompute == "full" && precision != nullptr && *precision != "fp8")
        draft.set("/strategy/recompute_early_stop", true, mode != nullptr ? mode->origin : draft.whole_file());
    if (is_nvidias(request)) draft.set_default("/training/attention_kernel", "cudnn", draft.whole_file());
}

}  // namespace

void read_torchtitan(const Request& request, Draft& draft) {
    const Givens given = flattened(read_toml(request.file), request.file);
    apply(rows, given, draft);
    read_catalog_model(request, given, draft);
    read_degrees(given, draft);
    read_torchtitan_stages(given, draft);
    read_sharding(given, draft);
    read_batches(given, draft);
    read_recomputation(given, draft);
    read_precision(given, draft);
    if (const Given* const tokens = given.find("training.seq_len")) set_key("/training/seq_length", *tokens, draft);
    draft.want("/training/seq_length", draft.whole_file(), "training.seq_len is not given",
               "--set training.seq_length=N");
    if (const Given* const norm = given.find("training.max_norm")) set_key("/training/clip_grad", *norm, draft);
    draft.set("/training/software", "pytorch", draft.whole_file());
    draft.set("/training/enable_gqa", true, draft.whole_file());  // models/common/attention.py, GQAttention
    if (rotates_complex_numbers(given)) draft.set("/training/complex_rope", true, draft.whole_file());
    draft.set("/training/kernel_fusion", is_compiled(given, "model") ? "full" : "operators", draft.whole_file());
    draft.set("/training/cross_entropy", is_compiled(given, "loss") ? "fused" : "torch", draft.whole_file());
    read_what_pytorch_runs(request, given, draft);
    const Given* const optimizer = given.find("optimizer.name");
    if (optimizer != nullptr && !same_word(text_of(optimizer->value), "AdamW"))
        set_key("/training/optimizer", *optimizer, draft);
    if (const Given* const how = given.find("optimizer.implementation");
        how != nullptr && text_of(how->value) == "for-loop")
        draft.set("/training/fused_optimizer", false, how->origin);
    if (given.is_on("training.deterministic") || given.is_on("debug.deterministic"))
        draft.set("/training/deterministic", true, draft.whole_file());
}

}  // namespace orrery::doors
