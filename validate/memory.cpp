#include "validate/memory.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "hardware/framework_memory.hpp"

namespace orrery::validate {

namespace {

using Tool = MeasuredMemory::Tool;
using strategies::Axis;

constexpr double mebibyte = 1024.0 * 1024, gibibyte = 1024 * mebibyte;

struct Key {
    const char* path;
    double unit;  ///< bytes
    Tool tool;
};

/// nvidia-smi and torch.cuda count in binary units, also where a table prints "GB". "Peak" is what an allocator says of
/// itself; memory without it is nvidia-smi's.
constexpr Key keys[] = {
    {"measured.peak_memory_bytes_rank_logged", 1, Tool::last_stage},
    {"measured.peak_memory_bytes", 1, Tool::fullest},
    {"measured.peak_memory_MiB", mebibyte, Tool::fullest},
    {"measured.memory_MiB_printed", mebibyte, Tool::device},
    {"measured.memory_MiB", mebibyte, Tool::device},
    {"measured.peak_memory_GiB", gibibyte, Tool::fullest},
    {"measured.memory_GiB", gibibyte, Tool::device},
    {"measured.peak_memory_GB", gibibyte, Tool::fullest},
    {"measured.reserved_memory_GiB", gibibyte, Tool::reserved},
    {"measured.memory_GB", gibibyte, Tool::device},
    {"measured.memory_GB_printed", gibibyte, Tool::device},
};

/// Of the first stages, how many have ranks on the first node.
std::size_t stages_on_first_node(const strategies::Plan& plan, const topology::ClusterSpec& cluster) {
    const std::uint32_t gpus = topology::build(cluster).gpus_per_node();
    return plan.mesh().coordinate(std::min(gpus, plan.ranks()) - 1, Axis::pipeline) + std::size_t{1};
}

/// DeepSpeed's pipeline keeps what its last stage left, which its module has widened to fp32, until the same of its two
/// buffers is used again (runtime/pipe/engine.py, pipe_buffers["outputs"]; Megatron-DeepSpeed, gpt_model.py,
/// float16_to_fp32): one micro-batch's logits more.
std::uint64_t older_outputs(const strategies::Plan& plan, std::size_t stage) {
    if (stage + 1 < plan.strategy.pipeline) return 0;
    return plan.rank_tokens() * (plan.padded_vocab() / plan.strategy.tensor) * 4;
}

std::uint64_t deepspeed_holds(const strategies::Plan& plan, const sim::MemoryUse& use, std::size_t stage) {
    using strategies::Sharding;
    const Sharding sharding = plan.strategy.sharding;
    const bool zero = sharding == Sharding::zero1 || sharding == Sharding::zero2;
    const std::uint64_t weights = use.memory[stage].at_peak[static_cast<std::size_t>(strategies::Keep::weight)];
    return older_outputs(plan, stage) + (zero ? hardware::deepspeed_buffers(weights) : 0);
}

}  // namespace

std::optional<MeasuredMemory> measured_memory(const Row& row) {
    if (const nlohmann::json* measured = row.find("measured"); measured == nullptr || !measured->is_object())
        return std::nullopt;
    for (const Key& key : keys) {
        if (!row.has(key.path)) continue;
        const double bytes = row.number(key.path).value_or(0) * key.unit;
        if (!(bytes > 0)) throw Skip("measured value is not positive");
        return MeasuredMemory{bytes, key.tool};
    }
    return std::nullopt;
}

/// OneFlow buffers every tensor between a stage's forward and its backward for twice as many micro-batches as there are
/// stages (core/job_rewriter/pipeline_buffer_pass.cpp), where 1F1B keeps at most one for each stage. A loss that
/// torch.compile fuses forms its exponentials beside the fp32 logits (fused_cross_entropy.py), and how many copies live
/// at once differs by its release; Transformer Engine's (cross-entropy-fusion-impl te) is one kernel in place. Weight
/// gradients of the logits that are deferred keep what they are formed from (pipeline_parallel/utils.py,
/// drain_embedding_wgrad_compute). bitsandbytes keeps 32 bits of embeddings and of small tensors (its README,
/// "StableEmbedding"), whose share of a stage is in no row.
void check_memory(const Row& row) {
    if (contains(row.words("switches.framework"), "oneflow") && row.count("pp").value_or(1) > 1)
        throw Skip("memory of OneFlow's pipeline is not supported");
    if (contains(row.words("switches.optimizer"), "8-bit"))
        throw Skip("memory of bitsandbytes' optimizer is not supported");
    if (contains(row.words("switches.optimizer"), "muon"))
        throw Skip("memory of Muon's updates is not supported");  // 7 to 18% too low
    if (row.flag("switches.cross-entropy-loss-fusion").value_or(false) &&
        !row.words("switches.cross-entropy-fusion-impl").starts_with("te"))
        throw Skip("memory of a compiled loss is not supported");
    if (row.flag("switches.defer-embedding-wgrad-compute").value_or(false))
        throw Skip("memory of deferred weight gradients is not supported");
}

double predicted_memory(const MeasuredMemory& measured, const sim::MemoryUse& predicted,
                        const scenarios::Scenario& scenario, Software software) {
    if (predicted.memory.empty()) throw Skip("no memory was predicted");
    const auto shown = [&](std::size_t stage) {
        const hardware::FrameworkMemory framework = predicted.framework_of(stage);
        const std::uint64_t allocated = predicted.memory[stage].peak + framework.workspaces;
        if (!counts_reserved(measured.tool)) return allocated;
        const strategies::AllocatorUse* const replayed = predicted.replayed(stage);
        const std::uint64_t reserved = replayed != nullptr ? replayed->reserved : allocated;
        if (measured.tool == Tool::reserved) return reserved;
        const bool deepspeed = software == Software::megatron_deepspeed;
        return reserved + framework.context + framework.communicators +
               (deepspeed ? deepspeed_holds(scenario.plan, predicted, stage) : 0);
    };
    if (measured.tool == Tool::last_stage) return static_cast<double>(shown(predicted.memory.size() - 1));
    std::size_t stages = predicted.memory.size();
    if (measured.tool == Tool::device) stages = std::min(stages, stages_on_first_node(scenario.plan, scenario.cluster));
    std::uint64_t most = 0;
    for (std::size_t stage = 0; stage < stages; ++stage) most = std::max(most, shown(stage));
    return static_cast<double>(most);
}

}  // namespace orrery::validate
