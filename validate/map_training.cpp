// What one step of a row worked on: precision, batches, and how its kernels were written.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <regex>
#include <vector>

#include "base/text.hpp"
#include "hardware/compute_capability.hpp"
#include "strategies/plan_fields.hpp"
#include "validate/map_row.hpp"
#include "validate/nemo_recipes.hpp"
#include "validate/published.hpp"
#include "validate/recipes.hpp"

namespace orrery::validate {

namespace {

using kernels::Dtype;

/// The whole numbers of "128 and 256", "60 , 32", "128 (FP32) / 256 (AMP)" or of a plain count; nothing for a field
/// that is not published.
std::vector<std::uint32_t> counts(const Row& row, const char* path) {
    const nlohmann::json* value = row.find(path);
    if (value == nullptr) return {};
    if (!value->is_string()) return {*row.count(path)};
    static const std::regex number(R"(\b\d{1,9}\b)");
    const std::string words = row.words(path);
    std::vector<std::uint32_t> result;
    for (std::sregex_iterator at(words.begin(), words.end(), number), end; at != end && result.size() < 3; ++at)
        result.push_back(static_cast<std::uint32_t>(std::stoul(at->str())));
    if (result.empty() || std::ranges::find(result, 0U) != result.end() || result.size() > 2)
        throw Skip(fmt::format("field not understood: {}", path));
    return result;
}

/// Of a pair printed for two precisions, the larger micro-batch goes with the narrower format, because that is what
/// memory allows, and the smaller number of accumulation steps with it.
std::uint32_t for_precision(const std::vector<std::uint32_t>& pair, bool narrow, bool larger_with_narrow) {
    const auto [least, most] = std::ranges::minmax(pair);
    return narrow == larger_with_narrow ? most : least;
}

struct Printed {
    std::uint32_t micro = 0, accumulation = 0;  ///< 0: not published
};

Printed printed_batch(const Row& row, Dtype compute) {
    const std::vector<std::uint32_t> micro = counts(row, "mbs"), steps = counts(row, "grad_accum");
    const bool narrow = kernels::size_of(compute) < 4;
    Printed result;
    if (micro.empty() && is_image_model(row)) result.micro = usual_image_batch(row, compute);
    if (!micro.empty()) result.micro = for_precision(micro, narrow, true);
    if (!steps.empty()) result.accumulation = for_precision(steps, narrow, false);
    // Two equal batches beside two different accumulations are the batch of a GPU and step, not of a micro-batch.
    if (micro.size() == 2 && steps.size() == 2 && micro[0] == micro[1] && steps[0] != steps[1]) {
        if (result.micro % result.accumulation != 0) throw Skip("micro-batch and accumulation disagree");
        result.micro /= result.accumulation;
    }
    return result;
}

/// The micro-batch where it is not printed: from the accumulation; 1 where nothing is left to split; 1 in a pipeline,
/// where it makes the bubble smallest (SC'21, section 3.4: all its pipelines from 310B on), and for sequences of 8,192
/// tokens and more, of which a GPU holds one.
std::uint32_t derived_micro(const Row& row, const Parallelism& degrees, std::uint32_t global, std::uint32_t steps) {
    const std::uint32_t replica = global / degrees.data;
    if (steps != 0 && replica % steps == 0) return std::max(1U, replica / steps);
    const bool long_sequence = row.count("model.seq").value_or(0) >= 8192;
    if (replica == 1 || degrees.pipeline > 1 || long_sequence) return 1;
    throw Skip("micro-batch not published");
}

/// MaxText's per_device_batch_size counts all devices, those that share tensors too, and what a step's replica takes it
/// takes at once (configs/base.yml: gradient_accumulation_steps: 1).
bool takes_batch_at_once(const Row& row, std::uint32_t accumulation) {
    return contains(row.words("switches.framework") + source_words(row), "maxtext") && accumulation <= 1;
}

/// When gradients are summed in another format than they are computed in.
Dtype map_grad_reduce(Software software, Dtype compute) {
    if (kernels::size_of(compute) == 4) return Dtype::fp32;
    if (compute == Dtype::fp16) return Dtype::fp16;
    // --accumulate-allreduce-grads-in-fp32 is forced by --bf16 in Megatron-LM, since it has that (April 2021); NeMo's
    // recipes reduce in bf16. MaxText's grad_dtype is float32 (configs/base.yml).
    return is_megatron(software) || software == Software::jax ? Dtype::fp32 : Dtype::bf16;
}

/// Megatron-LM's losses are joined where a flag says so (cross-entropy-loss-fusion, since 2024; never in its fork on
/// DeepSpeed); NeMo's recipes set it (launcher_scripts/conf/training, GPTConfig), Megatron-Bridge's providers too.
bool fuses_loss(const Row& row, Software software) {
    return !is_megatron(software) || row.flag("switches.cross-entropy-loss-fusion").value_or(false);
}

/// FlashAttention needs Ampere (arXiv 2205.14135); Megatron-LM's own core ("local") and everything before it multiply
/// and mask one after the other.
bool map_fused_attention(const Row& row, Software software, const topology::Gpu& gpu) {
    const std::string gpu_name = lower(gpu.name);
    if (gpu_name.starts_with("v100") || gpu_name.starts_with("p100")) return false;
    const std::string stated = row.words("switches.attention");
    if (contains(stated, "unfused") || contains(stated, "local")) return false;
    if (!stated.empty()) return true;
    if (row.flag("switches.use-flash-attn").value_or(false)) return true;
    if (row.words("switches.transformer-impl") == "local") return false;
    const bool ampere = gpu_name.starts_with("a100");
    if (software == Software::data_parallel) return !ampere || fuses_attention(row);
    return !is_early_megatron(software);
}

/// Not published: none, but for NVIDIA's performance recipes, which capture graphs on Blackwell and not on Hopper
/// (NeMo, scripts/performance/recommended_model_configs, column cuda_graphs: 27 of 36 rows of model_configs_gb200.csv,
/// none of model_configs_h100.csv but Llama 4's; Megatron-Bridge, perf_recipes, cuda_graph_impl, likewise), where only
/// Megatron-Bridge's hybrids with mixers have them (perf_recipes/nemotronh/h100).
bool usual_cuda_graph(const Row& row, Software software, const topology::Gpu& gpu) {
    const bool hybrid = of_megatron_bridge(row) && begins_word(row.words("model.name"), "nemotron_3");
    return software == Software::nemo && (hybrid || gpu.compute_capability >= hardware::blackwell);
}

bool map_cuda_graph(const Row& row, Software software, const topology::Gpu& gpu) {
    const std::string graph = row.has("switches.cuda_graph") && row.find("switches.cuda_graph")->is_boolean()
                                  ? (row.flag("switches.cuda_graph").value_or(false) ? "on" : "none")
                                  : row.words("switches.cuda_graph");
    const std::string implementation = row.words("switches.cuda-graph-impl");
    if (printed_graph(row) == PrintedGraph::mlps) return false;
    const auto on = [](const std::string& words) { return !words.empty() && words != "none" && words != "off"; };
    if (graph.empty() && implementation.empty()) return usual_cuda_graph(row, software, gpu);
    return on(graph) || on(implementation);
}

/// "FP8-CS", "MXFP8", "FP8-MX", Megatron-LM's fp8-recipe, or what the name of the recipe that ran says where a table
/// prints "FP8" alone (Megatron-Bridge: LLAMA3_70B_PRETRAIN_CONFIG_H100_FP8_CS_V2, llama3_70b_..._h100_fp8cs_config) or
/// both of Blackwell's and Hopper's ("FP8-MX/blockwise", of which "fp8_ss" is Hopper's subchannel scaling); else
/// delayed scaling, NeMo's and Megatron-LM's default.
strategies::Fp8Recipe map_fp8_recipe(const Row& row) {
    using strategies::Fp8Recipe;
    const std::string words = row.words("precision") + " " + row.words("switches.fp8-recipe"),
                      recipe = row.words("switches.recipe");
    if (contains(words, "rowwise")) throw Skip("fp8 with a scale for each row is not supported");
    if (contains(recipe, "fp8_ss")) return Fp8Recipe::blockwise;
    if (contains(recipe, "fp8_cs") || contains(recipe, "fp8cs")) return Fp8Recipe::tensorwise;
    if (contains(words, "-cs") || contains(words, "tensorwise") || contains(words, "current"))
        return Fp8Recipe::tensorwise;
    if (contains(words, "mx")) return Fp8Recipe::mxfp8;
    return contains(words, "block") ? Fp8Recipe::blockwise : Fp8Recipe::delayed;
}

bool gathers_narrow(const Row& row, Software software, const strategies::Training& training) {
    if (!strategies::is_narrow(training.precision.compute)) return false;
    const bool usual = training.precision.compute == Dtype::fp8 &&
                       training.fp8_recipe != strategies::Fp8Recipe::blockwise && software == Software::nemo;
    return row.flag("switches.fp8-param-gather").value_or(usual && recipe_gathers_narrow(row));
}

/// Where a row's task is LoRA: on the first linear layer of attention, as NeMo's and Megatron-Bridge's recipes for
/// performance have it (finetune_recipe, performance_mode: target_modules linear_qkv); its rank, which is not published
/// and moves a step by less than 1%, NeMo's default (llm.peft.LoRA, dim 32). Rows of NeMo AutoModel state their own.
void map_adapters(strategies::Training& training, const Row& row) {
    constexpr std::uint32_t usual_rank = 32;
    if (!trains_adapters(row)) return;
    training.lora_rank = usual_rank;
    training.lora_targets = strategies::LoraTargets::qkv;
}

}  // namespace

PrintedGraph printed_graph(const Row& row) {
    const std::string scope = row.words("switches.cuda-graph-scope");
    if (scope.empty()) return PrintedGraph::nothing;
    if (contains(scope, "full")) return PrintedGraph::full;
    if (contains(scope, "attn") || contains(scope, "mamba")) return PrintedGraph::outside_experts;
    return contains(scope, "moe_router") ? PrintedGraph::routers : PrintedGraph::mlps;
}

bool trains_adapters(const Row& row) {
    const std::string task = row.words("switches.task");
    return contains(task, "lora") || contains(task, "peft");
}

kernels::Dtype map_precision(const Row& row) {
    const std::string words = row.words("precision");
    if (words.empty()) throw Skip("precision not published");
    if (contains(words, "nvfp4")) return Dtype::fp4;
    if (contains(words, "fp8") || contains(words, "float8")) {
        for (const char* doubt : {"possible", "optional", "capable", "supported"})
            if (contains(words, doubt)) throw Skip(fmt::format("precision not understood: {}", label(words)));
        return Dtype::fp8;
    }
    if (contains(words, "bf16") || contains(words, "bfloat16")) return Dtype::bf16;
    if (contains(words, "fp16") || contains(words, "half") || contains(words, "amp") || words.starts_with("mixed"))
        return Dtype::fp16;
    if (contains(words, "tf32")) return Dtype::tf32;
    if (contains(words, "fp32") || contains(words, "float32")) return Dtype::fp32;
    throw Skip(fmt::format("precision not understood: {}", label(words)));
}

Batch map_batch(const Row& row, const Parallelism& degrees, kernels::Dtype compute) {
    const Printed printed = printed_batch(row, compute);
    Batch batch;
    if (const auto global = row.count("gbs")) {
        batch.global = *global;
        batch.micro = takes_batch_at_once(row, printed.accumulation) ? batch.global / degrees.data : printed.micro;
        if (batch.micro == 0) batch.micro = derived_micro(row, degrees, batch.global, printed.accumulation);
    } else {
        if (printed.micro == 0) throw Skip("batch not published");
        if (printed.accumulation == 0 && degrees.pipeline > 1) throw Skip("global batch not published");
        batch.micro = printed.micro;
        // In double: three whole numbers of 31 bits do not fit 64.
        const double product = static_cast<double>(printed.micro) * std::max(1U, printed.accumulation) * degrees.data;
        if (product > 2147483647.0) throw Skip("field out of range: grad_accum");
        batch.global = static_cast<std::uint32_t>(product);
    }
    if (batch.global % (std::uint64_t{batch.micro} * degrees.data) != 0)
        throw Skip("global batch is no multiple of micro-batch and data parallelism");
    return batch;
}

strategies::Training map_training(const Row& row, Software software, const topology::Gpu& gpu, const Batch& batch) {
    strategies::Training training;
    training.seq = 0;
    read_published(row, strategies::training_fields(), training);
    // Megatron-LM's T5 decodes 128 tokens beside 512 (train_t5_220m_distributed.sh, and all of its tests).
    constexpr std::uint32_t usual_decoded = 128;
    if (begins_word(row.words("model.name"), "t5"))
        training.decoder_seq = row.count("model.decoder_seq").value_or(usual_decoded);
    training.micro_batch = batch.micro;
    training.global_batch = batch.global;
    training.precision.compute = map_precision(row);
    training.precision.grad_reduce = map_grad_reduce(software, training.precision.compute);
    training.fused_attention = map_fused_attention(row, software, gpu);
    const bool fuses =
        software == Software::nemo || software == Software::megatron_core || software == Software::megatron_local;
    training.gradient_accumulation_fusion =
        fuses && !row.flag("switches.no-gradient-accumulation-fusion").value_or(false);
    training.cuda_graph = map_cuda_graph(row, software, gpu);
    training.software = dispatcher_of(row, software);
    training.attention_kernel = attention_kernel_of(row, software);
    training.broadcast_data = is_early_megatron(software);
    training.gradient_as_bucket_view = training.software != hardware::Software::pytorch;
    training.kernel_fusion = kernel_fusion_of(row, software);
    training.cross_entropy_fusion = fuses_loss(row, software);
    training.cross_entropy = cross_entropy_of(row);
    training.fp32_residual_connection = training.fp32_activation_function =
        widens_activations(row, software) && kernels::size_of(training.precision.compute) == 2;
    map_adapters(training, row);
    training.document_length = document_length_of_recipe(row, training.seq);
    map_optimizer(row, training);
    training.fp8_recipe = map_fp8_recipe(row);
    training.fp8_attention = recipe_narrows_attention(row);
    training.fp8_output = recipe_narrows_output(row);
    training.fp8_param_gather = gathers_narrow(row, software, training);
    if (contains(row.words("switches.framework"), "w/o clip")) training.grad_clip = 0;
    if (training.precision.compute == Dtype::fp4) training.last_layers_in_bf16 = wide_layers_of_recipe(row);
    // NVIDIA's scripts have segments as long as the memory (wt103_base.yaml, wt103_large.yaml).
    if (is_recurrent_model(row) && training.seq == 0) training.seq = map_recurrent_model(row).recurrence.memory;
    if (is_image_model(row)) {
        training.seq = 1;
        training.kernel_fusion = image_kernel_fusion(row, training.precision.compute);
        training.memory_format = image_memory_format(row, training.precision.compute);
        training.grad_clip = 0;  // SGD with momentum, as all of them train, knows no norm
    }
    return training;
}

}  // namespace orrery::validate
