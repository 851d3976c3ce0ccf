#include "strategies/zero_plus_plus.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "strategies/refusal.hpp"

namespace orrery::strategies {

namespace {

using kernels::CollectiveKind;
using kernels::Dtype;
using kernels::Pointwise;
using kernels::PointwiseKind;

constexpr std::uint64_t scale_bytes = 4;  // fp32 (csrc/quantization/pt_binding.cpp)

/// A kernel that moves so many bytes: of this kind one in and one out for each number.
Pointwise moving(std::uint64_t bytes) { return {PointwiseKind::scale, Dtype::fp8, 1, (bytes + 1) / 2}; }

const char* named(const Strategy& strategy) {
    if (strategy.quantized_weights) return "/strategy/zero_quantized_weights";
    if (strategy.secondary_partition > 1) return "/strategy/zero_hpz_partition_size";
    return strategy.quantized_gradients ? "/strategy/zero_quantized_gradients" : nullptr;
}

/// What DeepSpeed's ZeRO-3 as a whole does not go with.
void check_zero3(const Plan& plan, const char* key) {
    const Strategy& strategy = plan.strategy;
    if (strategy.sharding != Sharding::zero3)
        refuse(key, fmt::format("given, but sharding is {}: ZeRO++ is of ZeRO-3", row_of(strategy.sharding).name),
               "set sharding to \"zero3\", or leave it out", Source::origin_of_key);
    refuse_beside_zero3(plan, key);
    if (strategy.optimizer_instances > 1)
        refuse(key, "given beside groups that each keep all, whose gathers are others in DeepSpeed",
               "set num_distributed_optimizer_instances to 1, or leave it out", Source::deepspeed_mics);
    if (plan.training.lora_rank > 0)
        refuse(key,
               "given beside adapters, whose frozen weights DeepSpeed keeps quantized "
               "(zero_quantized_nontrainable_weights)",
               "leave it out", Source::not_modelled);
}

/// Parts of nodes are of all of DeepSpeed's ranks (utils/groups.py), whatever they hold.
void check_parts(const Plan& plan) {
    const Strategy& strategy = plan.strategy;
    const char* const key =
        strategy.secondary_partition > 1 ? "/strategy/zero_hpz_partition_size" : "/strategy/zero_quantized_gradients";
    if (strategy.tensor > 1)
        refuse(key, "given beside tensor parallelism: DeepSpeed's groups are of all ranks, as if they held the same",
               "set tensor to 1, or leave it out", Source::deepspeed_groups);
    const std::uint32_t ranks = strategy.data * strategy.context, part = strategy.secondary_partition;
    if (part > 1 && (ranks % part != 0 || part % strategy.context != 0))
        refuse(key,
               fmt::format("{} ranks do not divide the {} that share{}", part, ranks,
                           strategy.context > 1 ? ", in whole sequences" : ""),
               nearest_legal(part, ranks, [&](std::uint64_t v) { return ranks % v == 0 && v % strategy.context == 0; }),
               Source::deepspeed_groups);
    if (!strategy.quantized_gradients || strategy.node_ranks == 0) return;
    if (part > 1 && part != strategy.node_ranks)
        refuse("/strategy/zero_hpz_partition_size",
               fmt::format("{}, but gradients are exchanged among {} ranks of a node first", part, strategy.node_ranks),
               fmt::format("set it to {}, as DeepSpeed advises, or leave one out", strategy.node_ranks),
               Source::deepspeed_zero_plus_plus);
    if (strategy.node_ranks < ranks && ranks % strategy.node_ranks == 0 && strategy.node_ranks % strategy.context != 0)
        refuse(
            "/strategy/zero_ranks_per_node",
            fmt::format("{} ranks hold no whole sequences of {} context ranks", strategy.node_ranks, strategy.context),
            "set it to a multiple of context", Source::not_modelled);
}

/// The kernels read and write numbers of 16 bits (csrc/quantization/quantize.cu, swizzled_quantize.cu).
void check_formats(const Plan& plan) {
    const Strategy& strategy = plan.strategy;
    const Precision& precision = plan.training.precision;
    if ((strategy.quantized_weights || strategy.quantized_gradients) && kernels::size_of(precision.compute) == 4)
        refuse("/training/precision",
               fmt::format("{}, but ZeRO++ quantizes numbers of 16 bits", kernels::name(precision.compute)),
               "set it to fp16 or bf16, or leave ZeRO++'s keys out", Source::deepspeed_quantizer);
    if (strategy.quantized_gradients && kernels::size_of(precision.grad_reduce) == 4)
        refuse("/training/grad_reduce_precision",
               fmt::format("{}, but quantized gradients are of 16 bits", kernels::name(precision.grad_reduce)),
               "set it to fp16 or bf16, or zero_quantized_gradients to false", Source::deepspeed_quantizer);
}

/// The least divisor of `number` from `least` on.
std::uint64_t divisor_from(std::uint64_t least, std::uint64_t number) {
    std::uint64_t best = number;
    for (std::uint64_t small = 1; small * small <= number; ++small) {
        if (number % small != 0) continue;
        for (const std::uint64_t divisor : {small, number / small})
            if (divisor >= least) best = std::min(best, divisor);
    }
    return best;
}

}  // namespace

void check_zero_plus_plus(const Plan& plan) {
    const Strategy& strategy = plan.strategy;
    if (strategy.node_ranks > 0 && !strategy.quantized_gradients)
        refuse("/strategy/zero_ranks_per_node", fmt::format("{}, but gradients are not quantized", strategy.node_ranks),
               "set zero_quantized_gradients to true, or leave it out", Source::origin_of_key);
    const char* const key = named(strategy);
    if (key == nullptr) return;
    check_zero3(plan, key);
    if (strategy.secondary_partition > 1 || strategy.quantized_gradients) check_parts(plan);
    check_formats(plan);
}

bool keeps_secondary(const Plan& plan) { return plan.strategy.secondary_partition > 1; }

bool quantizes_gradients(const Plan& plan) { return plan.strategy.quantized_gradients && plan.parts_of_nodes() > 1; }

AxisSet secondary_group(const Plan& plan) { return plan.data_group().without(Axis::replica); }

std::uint64_t secondary_bytes(const Plan& plan, std::uint64_t weights) {
    return keeps_secondary(plan) ? weights / plan.mesh().group_size(secondary_group(plan)) : 0;
}

kernels::Kernel copying(std::uint64_t bytes) { return moving(2 * bytes); }

std::uint64_t blocks_of_weights(std::uint64_t numbers) {
    constexpr std::uint64_t target = 8000, unit = 8;  // numbers of a block, and what a load takes
    if (numbers == 0) return 0;
    const std::uint64_t units = (numbers + unit - 1) / unit, filled = units * unit;
    std::uint64_t blocks = divisor_from((filled + target - 1) / target, units);
    while (units % (2 * blocks) == 0 && filled > target * blocks) blocks *= 2;
    return blocks;
}

void QuantizedGather::write(const Label& label, std::uint64_t numbers, std::span<const BufferId> waits,
                            BufferId whole) {
    const std::uint64_t part = (numbers + ranks_ - 1) / ranks_, scales = blocks_of_weights(part) * scale_bytes;
    const auto named = [&](std::string_view name) {
        Label other = label;
        other.name = intern_.name(name);
        return other;
    };
    const BufferId sent = builder_.buffer(part + scales, Keep::scratch);
    const BufferId received = builder_.buffer(numbers + scales * ranks_, Keep::scratch);
    const auto one = [](const BufferId& id) { return std::span(&id, 1); };
    builder_.emit(Lane::data, named("quantize weights"), What{intern_.kernel(moving(part * (2 + 1) + scales))}, waits,
                  one(sent));
    builder_.state({});
    for (const auto& [name, bytes] : {std::pair{"gather weights", numbers}, {"gather scales", scales * ranks_}}) {
        builder_.emit(Lane::data, named(name), What{Collective{CollectiveKind::all_gather, group_, bytes}}, one(sent),
                      one(received));
        builder_.state({});
    }
    builder_.emit(Lane::data, named("dequantize weights"),
                  What{intern_.kernel(moving(numbers * (1 + 2) + scales * ranks_))}, one(received), one(whole));
    builder_.state({});
}

QuantizedExchange::QuantizedExchange(const Plan& plan, Builder& builder, Intern& intern)
    : node_(secondary_group(plan)),
      across_{Axis::replica},
      all_(plan.data_group()),
      local_(plan.mesh().group_size(node_)),
      nodes_(plan.parts_of_nodes()),
      builder_(builder),
      intern_(intern) {}

BufferId QuantizedExchange::collective(CollectiveKind kind, AxisSet group, std::uint64_t bytes, BufferId sent,
                                       std::uint64_t arrives) {
    const BufferId received = builder_.buffer(arrives, Keep::scratch);
    builder_.emit(Lane::data, intern_.label("gradient reduction", Phase::gradient), Collective{kind, group, bytes},
                  {sent}, {received});
    builder_.state({});
    return received;
}

BufferId QuantizedExchange::kernel(const char* name, std::uint64_t moved, BufferId read, std::uint64_t left) {
    const BufferId made = builder_.buffer(left, Keep::scratch);
    builder_.emit(Lane::data, intern_.label(name, Phase::gradient), intern_.kernel(moving(moved)), {read}, {made});
    builder_.state({});
    return made;
}

BufferId QuantizedExchange::exchange(AxisSet group, std::uint64_t numbers, std::uint64_t scales, BufferId sent) {
    const std::uint64_t bytes = numbers / 2;
    const BufferId received = collective(CollectiveKind::all_to_all, group, bytes, sent, bytes + scales);
    builder_.emit(Lane::data, intern_.label("exchange scales", Phase::gradient),
                  Collective{CollectiveKind::all_to_all, group, scales}, {sent}, {received});
    builder_.state({});
    return received;
}

/// Vectors, and matrices that ranks cannot have whole bytes of.
BufferId QuantizedExchange::plain(std::uint64_t numbers, BufferId formed) {
    return collective(CollectiveKind::reduce_scatter, all_, numbers * 2, formed, 0);
}

/// all_to_all_quant_reduce. What arrives of all nodes is added up number by number by PyTorch, and divided.
BufferId QuantizedExchange::write(const ParameterShape& parameter, BufferId formed) {
    const std::uint64_t numbers = parameter.numbers(), ranks = local_ * nodes_;
    if (!parameter.is_matrix() || numbers % (2 * ranks) != 0) return plain(numbers, formed);
    const std::uint64_t blocks = std::max({parameter.rows, parameter.cols, ranks});
    const std::uint64_t scales = blocks * scale_bytes, summed_scales = blocks / local_ * scale_bytes;
    const std::uint64_t part = numbers / local_, own = part / nodes_;
    BufferId at = kernel("quantize gradients", numbers * 2 + numbers / 2 + scales, formed, numbers / 2 + scales);
    at = exchange(node_, numbers, scales, at);
    at = kernel("reduce quantized gradients", numbers / 2 + scales + part / 2 + summed_scales, at,
                part / 2 + summed_scales);
    at = exchange(across_, part, summed_scales, at);
    at = kernel("dequantize gradients", part / 2 + summed_scales + part * 2, at, part * 2);
    constexpr std::uint64_t copied = 2 * 2, added = 3 * 2;  // bytes of a number: 0 + the first, + the next, / nodes
    return kernel("mean of nodes", own * (copied + (nodes_ - 1) * added + copied), at, 0);
}

}  // namespace orrery::strategies
