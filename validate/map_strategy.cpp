// How a row divided the step: degrees, sharding, recomputation, schedule and overlap.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <regex>
#include <vector>

#include "models/limits.hpp"
#include "strategies/plan_fields.hpp"
#include "strategies/stage_split.hpp"
#include "validate/map_row.hpp"
#include "validate/nemo_recipes.hpp"
#include "validate/published.hpp"
#include "validate/recipes.hpp"

namespace orrery::validate {

namespace {

using strategies::GradReduceCollective;
using strategies::Recompute;
using strategies::ScheduleKind;
using strategies::Sharding;
using strategies::Strategy;

/// How many ranks share, where a text says it: "FSDP64", "FSDP128+DP", "FSDP 8 in the VM, data parallel between VMs".
/// 0: all. Throws Skip for words of parts that are not counted.
std::uint32_t ranks_that_share(const std::string& words) {
    static const std::regex counted(
        R"(^fsdp ?(\d{1,5})( ?\+ ?dp| in (the vm|slice), data parallel between (vms|slices))?$)"),
        part(R"(\b(group|groups|within|per node|hybrid|over \d+|of \d+)\b|fsdp ?\d+|\+ ?dp\b|in slice)");
    std::smatch found;
    if (std::regex_match(words, found, counted)) return static_cast<std::uint32_t>(std::stoul(found[1].str()));
    if (std::regex_search(words, part)) throw Skip(fmt::format("sharding not understood: {}", label(words)));
    return 0;
}

Sharding sharding_named(const std::string& words, bool optimizer) {
    for (const char* none : {"none", "zero-0", "zero0"})
        if (words.starts_with(none)) return optimizer ? Sharding::zero1 : Sharding::none;
    struct Named {
        const char* word;
        Sharding sharding;
    };
    // PyTorch's FSDP shards weights too; under SHARD_GRAD_OP they stay from the forward to the backward.
    for (const auto& [word, sharding] :
         {Named{"zero-3", Sharding::zero3}, Named{"zero3", Sharding::zero3}, Named{"zero-2", Sharding::zero2},
          Named{"zero2", Sharding::zero2}, Named{"shard_grad_op", Sharding::zero3}, Named{"fsdp", Sharding::zero3},
          Named{"full_shard", Sharding::zero3}, Named{"zero-1", Sharding::zero1}, Named{"zero1", Sharding::zero1},
          Named{"distributed optimizer", Sharding::zero1}})
        if (contains(words, word)) return sharding;
    if (contains(words, "zero")) throw Skip("sharding ZeRO of an unpublished stage");
    throw Skip(fmt::format("sharding not understood: {}", label(words)));
}

void map_sharding(Strategy& strategy, const Row& row, Software software) {
    const std::string words = row.words("sharding");
    const bool optimizer = row.flag("switches.use-distributed-optimizer").value_or(false);
    // Not published: the distributed optimizer is the default of NeMo (distributed_fused_adam) and Megatron-Bridge.
    if (words.empty()) {
        strategy.sharding = optimizer || software == Software::nemo ? Sharding::zero1 : Sharding::none;
        return;
    }
    const std::uint32_t ranks = ranks_that_share(words);
    strategy.sharding = sharding_named(words, optimizer);
    strategy.full_sharding.reshard_after_forward = !contains(words, "shard_grad_op");
    if (ranks == 0) return;
    if (ranks > strategy.data || strategy.data % ranks != 0)
        throw Skip(fmt::format("sharding not understood: {}", label(words)));
    strategy.optimizer_instances = strategy.data / ranks;
}

/// "selective [layernorm mla_up_proj moe_act]", "selective: mlp": Megatron-Core's recompute-modules; empty where the
/// row names none, which is attention's core, or names that by its paper's words, "selective (core attention)".
std::string recomputed_modules(const std::string& words) {
    static const std::regex separator(R"([^a-z_]+)");
    std::string modules;
    for (std::sregex_token_iterator word(words.begin(), words.end(), separator, -1), end; word != end; ++word) {
        const std::string name = *word;
        if (name.empty() || name == "selective" || name == "core" || name == "attention") continue;
        if (!strategies::modules_named(name)) throw Skip(fmt::format("recompute not understood: {}", label(words)));
        modules += (modules.empty() ? "" : ",") + name;
    }
    return modules;
}

/// A policy of JAX's checkpoints by its name. What it sends to the host leaves from every layer (map_offload).
bool map_policy(Strategy& strategy, const std::string& words) {
    const strategies::CheckpointPreset* const preset = strategies::find_checkpoint_preset(words);
    if (preset == nullptr) return false;
    strategy.recompute = Recompute::full;
    strategy.checkpoint_policy = strategies::CheckpointPolicy::save_only_these_names;
    strategy.checkpoint_names = to_text(with_experts(preset->saved | preset->offloaded));
    if (preset->offloaded.empty()) return true;
    if (strategy.pipeline > 1) throw Skip(fmt::format("recompute not understood: {}", label(words)));
    strategy.offload_names = to_text(with_experts(preset->offloaded));
    return true;
}

/// Not published: none, the default of Megatron-LM (recompute_granularity), NeMo and Megatron-Bridge alike. What
/// vTrain's rows say (use_checkpoint) is what its simulator was told; the steps that it is held against have no time
/// for it: their products would exceed the A100's peak.
void map_recompute(Strategy& strategy, const Row& row) {
    std::string words = row.words("recompute");
    if (words.empty()) words = row.words("switches.recompute-granularity");
    static const std::regex unstated(
        R"(^(not (stated|published|known|given)|unknown|n/a|\?|full \(config use_checkpoint))"),
        none(R"(^(none|no|off|false)\b)"), full(R"(^(full\b|on$|yes$|true$))");
    if (words.empty() || std::regex_search(words, unstated) || std::regex_search(words, none)) return;
    if (map_policy(strategy, words)) return;
    if (words.starts_with("selective")) {
        strategy.recompute = Recompute::selective;
        strategy.recompute_modules = recomputed_modules(words + " " + row.words("switches.recompute-modules"));
        return;
    }
    if (!std::regex_search(words, full)) throw Skip(fmt::format("recompute not understood: {}", label(words)));
    strategy.recompute = Recompute::full;
    // "full block 4": only so many layers of each chunk. "full uniform 1" recomputes every layer.
    static const std::regex block(R"(block\s+(\d{1,3}))");
    std::smatch found;
    if (std::regex_search(words, found, block))
        strategy.recompute_num_layers = static_cast<std::uint32_t>(std::stoul(found[1].str()));
}

/// DeepSpeed's optimizer in host memory, whose buckets of gradients leave as they are reduced, and its weights there
/// ("Opt Offl", "Par Offl"; a row without these columns says "full" of both: ZeRO-Infinity); and its activation
/// checkpoints ("PA_CPU": --checkpoint-in-cpu), of every layer, as what a policy of JAX names. Megatron-Bridge's
/// recipes offload so many layers.
void map_offload(Strategy& strategy, const Row& row, std::uint32_t layers) {
    const std::optional<bool> optimizer = row.flag("switches.Opt Offl"), weights = row.flag("switches.Par Offl");
    const bool full = !optimizer && !weights && contains(row.words("switches.offload"), "full");
    strategy.optimizer_cpu_offload = optimizer.value_or(full);
    strategy.overlap_optimizer_copies = strategy.optimizer_cpu_offload;
    if (weights.value_or(full)) strategy.param_device = strategies::OffloadDevice::cpu;
    strategy.cpu_offloading_num_layers = row.count("switches.cpu-offloading-num-layers").value_or(0);
    if (row.flag("switches.PA_CPU").value_or(false) || !strategy.offload_names.empty())
        strategy.cpu_offloading_num_layers = layers / (strategy.pipeline * strategy.virtual_pipeline);
}

bool map_overlap_grad_reduce(const Row& row, Software software) {
    for (const char* path : {"overlap", "switches.overlap-grad-reduce", "switches.gradient_bucket_overlap"})
        if (const auto stated = row.flag(path)) return *stated;
    return software == Software::nemo || software == Software::data_parallel || software == Software::jax;
}

/// Code that shards fully on PyTorch: DeepSpeed's third stage, fully_shard (NeMo AutoModel,
/// components/distributed/fsdp2; TorchTitan), else its FullyShardedDataParallel (Composer; fms-fsdp). Megatron-FSDP and
/// XLA copy nothing.
strategies::FsdpImplementation fsdp_implementation_of(const Row& row, Software software) {
    using strategies::FsdpImplementation;
    const std::string words = row.words("switches.framework") + " " + source_words(row);
    if (software == Software::megatron_deepspeed || contains(words, "deepspeed")) return FsdpImplementation::deepspeed;
    if (contains(words, "automodel") || contains(words, "torchtitan")) return FsdpImplementation::fsdp2;
    return software == Software::data_parallel ? FsdpImplementation::fsdp1 : FsdpImplementation::megatron_fsdp;
}

/// When shares of gradients and of weights move. FSDP and DeepSpeed's ZeRO reduce gradients beside the layers and
/// gather weights ahead of them by nature, with two exceptions. DeepSpeed's first ZeRO-3 waits for the whole device
/// before and behind every gather, and so for the gradients on their way (torch.cuda.synchronize up to 0.5.10:
/// partition_parameters.py, _allgather_param; stage3.py, _synchronize_communication); a log of its first three steps,
/// of which only the first gathers nothing ahead, has them equally long (BigScience, experiments/gpt2-meg-ds-zero).
/// PaddlePaddle's second stage waits for every reduction, each to the rank that keeps it (GroupShardedStage2,
/// _reduce_overlap, _get_reduce_fn). The logs of Hugging Face's trainer at BigScience print "reduce_scatter": false
/// (experiments/gpt2-hf-ds).
void map_sharded_traffic(Strategy& strategy, const Row& row, Software software) {
    const std::string framework = row.words("switches.framework");
    switch (strategy.sharding) {
        case Sharding::none:
        case Sharding::zero1: return;
        case Sharding::zero2:
            strategy.overlap_grad_reduce = !contains(framework, "paddle");
            if (!strategy.overlap_grad_reduce) strategy.grad_reduce_collective = GradReduceCollective::reduce;
            return;
        case Sharding::zero3:
            strategy.overlap_grad_reduce = !runs_first_zero_3(row, software);
            if (!strategy.overlap_grad_reduce) strategy.full_sharding.prefetch = 0;
            strategy.full_sharding.implementation = fsdp_implementation_of(row, software);
            if (strategy.optimizer_instances > 1 && (software == Software::nemo || is_megatron(software)))
                strategy.gradient_syncs = strategies::GradientSyncs::two_hop;  // Megatron-FSDP
            if (framework.starts_with("hf + deepspeed"))
                strategy.grad_reduce_collective = GradReduceCollective::all_reduce;
            return;
    }
}

/// Sequence parallelism where it is not printed: NeMo's recipes switch it on with tensor parallelism; MaxText divides
/// what stands between its products among the tensor ranks too (configs/base.yml, logical_axis_rules,
/// activation_embed), along another dimension: gathers and scatters of the same bytes.
bool map_sequence_parallel(const Row& row, Software software, const Strategy& strategy) {
    const bool stated = row.flag("sp").value_or(software == Software::nemo || software == Software::jax);
    return stated && strategy.tensor > 1;
}

/// Transformer Engine leaves adapters alone.
bool map_tensor_overlap(const Row& row, const Strategy& strategy) {
    if (strategy.tensor_comm_overlap) return true;
    const bool usual = !trains_adapters(row) && recipe_overlaps_tensor(row);
    return strategy.sequence_parallel && row.flag("switches.tp-comm-overlap").value_or(usual);
}

/// Megatron-Bridge's tables of performance have a column for it, "n/a" where nothing is interleaved
/// (docs/performance-summary.md).
bool prints_virtual_pipeline(const Row& row) { return of_megatron_bridge(row); }

/// Chunks per stage where they are not printed (0): one, as Megatron-LM had it before Megatron-Core and as DeepSpeed
/// has it. For NeMo what its recipe says, if one is known; else not for it and Megatron-Core, whose recipes interleave
/// some models and not others: a bubble several times larger or smaller is then unknown.
std::uint32_t map_virtual_pipeline(const Row& row, std::uint32_t printed, Software software, const Parallelism& of) {
    if (printed == 0 && software == Software::nemo)
        if (const auto chunks = chunks_of_recipe(row, of.tensor, of.pipeline)) return *chunks;
    const bool core = software == Software::nemo || software == Software::megatron_core;
    const bool interleaves = core && !prints_virtual_pipeline(row);
    if (printed == 0 && interleaves) throw Skip("virtual pipeline not published");
    return std::max(1U, printed);
}

/// As many layers as it takes on every chunk, and the rest on the last; where none is left for it, it has the loss
/// alone and the first chunk has the rest. "4,4,4,1", "1,2,2,0".
std::string all_but_last_alike(std::uint32_t layers, std::uint64_t chunks) {
    constexpr std::uint64_t most = models::most_layers;
    if (chunks < 2 || chunks > std::min(most, layers + std::uint64_t{2}))
        throw Skip("how stages of unequal depth are divided is not published");
    const std::uint64_t each = (layers + chunks - 1) / chunks;
    std::vector<std::uint64_t> list(chunks, each);
    list.back() = 0;
    if (each * (chunks - 1) <= layers)
        list.back() = layers - each * (chunks - 1);
    else if (each * (chunks - 2) <= layers)
        list.front() = layers - each * (chunks - 2);
    else
        throw Skip("how stages of unequal depth are divided is not published");
    return fmt::format("{}", fmt::join(list, ","));
}

/// Megatron-LM's layout; else Megatron-Core's recipes that do not divide their layers evenly count the embedding and
/// the loss as one each (NeMo's and Megatron-Bridge's Llama 3.1 405B and Qwen3 235B) or, where that does not divide
/// either, let the last stage have fewer (their DeepSeek-V3, Kimi K2 and Moonlight). `layers`: of the model.
void map_stages(Strategy& strategy, const Row& row, Software software, std::uint32_t layers) {
    if (const std::string layout = row.text("switches.pipeline-model-parallel-layout").value_or(""); !layout.empty()) {
        strategy.pipeline_layers = strategies::layers_of_layout(layout);
        if (strategy.pipeline_layers.empty()) throw Skip("pipeline layout of other parts than decoder layers");
        return;
    }
    if (const std::vector<std::uint32_t> stages = pattern_stages(row); !stages.empty()) {
        strategy.pipeline_layers = fmt::format("{}", fmt::join(stages, ","));
        return;
    }
    // Megatron-LM's scripts carry the flags where there is one stage, too, and nothing to divide.
    if (strategy.pipeline == 1) strategy.embedding_as_layer = strategy.loss_as_layer = false;
    const std::uint64_t chunks = std::uint64_t{strategy.pipeline} * strategy.virtual_pipeline;
    const bool stated = strategy.first_stage_layers + strategy.last_stage_layers > 0 || strategy.embedding_as_layer ||
                        strategy.loss_as_layer;
    if (stated || layers % chunks == 0) return;
    const bool core = software == Software::nemo || software == Software::megatron_core;
    if (!core) throw Skip("how stages of unequal depth are divided is not published");
    if ((layers + std::uint64_t{2}) % chunks == 0)
        strategy.embedding_as_layer = strategy.loss_as_layer = true;
    else
        strategy.pipeline_layers = all_but_last_alike(layers, chunks);
}

/// What is not published is 0.
Strategy published_degrees(const Row& row) {
    Strategy stated;
    stated.tensor = stated.pipeline = stated.virtual_pipeline = stated.data = stated.expert = 0;
    read_published(row, strategies::strategy_fields(), stated);
    return stated;
}

/// Stages where they are not printed: what tensor and data ranks leave of the GPUs; one for what trains on data ranks.
std::uint32_t unprinted_pipeline(const Parallelism& known, std::uint32_t data, Software software) {
    if (data > 0) {
        const std::uint64_t ranks = std::uint64_t{known.tensor} * known.context * data;
        return ranks <= known.gpus && known.gpus % ranks == 0 ? static_cast<std::uint32_t>(known.gpus / ranks) : 1;
    }
    if (known.gpus > known.tensor * known.context && software != Software::data_parallel)
        throw Skip("pipeline not published");
    return 1;
}

}  // namespace

Parallelism map_parallelism(const Row& row, Software software) {
    if (!row.has("gpus")) throw Skip("GPU count not published");
    Parallelism result;
    result.gpus = *row.count("gpus");
    const Strategy stated = published_degrees(row);
    if (stated.tensor + stated.pipeline + stated.data == 0 && result.gpus > 1) throw Skip("parallelism not published");
    result.tensor = std::max(1U, stated.tensor);
    result.context = stated.context;
    result.pipeline = stated.pipeline > 0 ? stated.pipeline : unprinted_pipeline(result, stated.data, software);
    result.expert = std::max(1U, stated.expert);
    const std::uint64_t model = std::uint64_t{result.tensor} * result.context * result.pipeline;
    result.data =
        stated.data > 0 ? stated.data : static_cast<std::uint32_t>(std::max<std::uint64_t>(1, result.gpus / model));
    if (model * result.data != result.gpus) throw Skip("mesh does not multiply to the GPU count");
    if (result.pipeline == 1) return result;
    // A pattern is cut into the stages' chunks (hybrid_layer_allocation.py).
    const auto parts = static_cast<std::uint32_t>(pattern_stages(row).size());
    if (parts % result.pipeline != 0) throw Skip("how stages of unequal depth are divided is not published");
    result.virtual_pipeline =
        parts > 0 ? parts / result.pipeline : map_virtual_pipeline(row, stated.virtual_pipeline, software, result);
    return result;
}

strategies::Strategy map_strategy(const Row& row, Software software, const Parallelism& degrees, std::uint32_t layers) {
    Strategy strategy;
    read_published(row, strategies::strategy_fields(), strategy);
    strategy.expert = 1;  // map_experts.cpp
    strategy.tensor = degrees.tensor;
    strategy.pipeline = degrees.pipeline;
    strategy.virtual_pipeline = degrees.virtual_pipeline;
    strategy.data = degrees.data;
    map_schedule(row, strategy);
    map_stages(strategy, row, software, layers);
    strategy.sequence_parallel = map_sequence_parallel(row, software, strategy);
    strategy.tensor_comm_overlap = map_tensor_overlap(row, strategy);
    map_sharding(strategy, row, software);
    map_recompute(strategy, row);
    strategy.recompute_early_stop = stops_recomputing_early(row, software, strategy.recompute);
    map_offload(strategy, row, layers);
    strategy.overlap_grad_reduce = map_overlap_grad_reduce(row, software);
    map_sharded_traffic(strategy, row, software);
    const bool sharded = strategy.sharding == Sharding::zero1;
    const bool gather = sharded && software == Software::nemo;
    strategy.overlap_param_gather = sharded && row.flag("switches.overlap-param-gather").value_or(gather);
    const bool interleaved = strategy.schedule == ScheduleKind::interleaved;
    // --overlap-p2p-communication is Megatron-core's default with interleaving, and NeMo's overlap_p2p_comm.
    const bool overlaps = software == Software::nemo || software == Software::megatron_core;
    strategy.overlap_p2p =
        interleaved && overlaps && !row.flag("switches.no-overlap-p2p-communication").value_or(false);
    const bool waits = software == Software::megatron_2021 || software == Software::megatron_deepspeed ||
                       software == Software::data_parallel;
    strategy.async_tensor_allreduce =
        !waits && !row.flag("switches.no-async-tensor-model-parallel-allreduce").value_or(false);
    const bool dtensors = software == Software::data_parallel && runs_on_dtensors(row);
    strategy.recompute_allgather = !dtensors;
    strategy.batch_first = strategy.templated_ring = dtensors;
    strategy.scatter_gather = is_megatron(software) || software == Software::nemo;
    return strategy;
}

}  // namespace orrery::validate
