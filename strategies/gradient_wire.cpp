#include "strategies/gradient_wire.hpp"

#include <fmt/format.h>

#include <cmath>

#include "strategies/refusal.hpp"
#include "strategies/sharding_rules.hpp"

namespace orrery::strategies {

using kernels::Pointwise;
using kernels::PointwiseKind;

namespace {

bool casts(const Plan& plan) { return plan.training.precision.on_the_wire() != plan.training.precision.grad_reduce; }
bool by_ratio(const Plan& plan) { return plan.strategy.compression == Compression::by_ratio; }

void check_ratio(const Plan& plan) {
    const Strategy& strategy = plan.strategy;
    constexpr const char *key = "/strategy/compression", *of_ratio = "/strategy/compression_ratio";
    if (!by_ratio(plan)) {
        const bool ratio = strategy.compression_ratio != Strategy{}.compression_ratio;
        if (ratio || strategy.compression_passes != Strategy{}.compression_passes)
            refuse(ratio ? of_ratio : "/strategy/compression_passes", "given, but nothing is compressed by a ratio",
                   "set compression to \"by_ratio\", or leave it out", Source::origin_of_key);
        return;
    }
    if (strategy.compression_ratio == 1)
        refuse(of_ratio, "1, which leaves all bytes", "give a number above 1, or leave compression out",
               Source::origin_of_key);
    if (strategy.quantized_gradients)
        refuse(key, "by_ratio, but quantized gradients travel as int4",
               "set it to \"none\", or zero_quantized_gradients to false", Source::deepspeed_zero_plus_plus);
    if (plan.sums_on_host())
        refuse(key, "by_ratio, but sums in host memory are those that have travelled",
               "set it to \"none\", or offload_param_device", Source::not_modelled);
}

}  // namespace

Pointwise cast_between(kernels::Dtype from, kernels::Dtype to, std::uint64_t numbers) {
    const bool alike = kernels::size_of(from) == kernels::size_of(to);
    const kernels::Dtype narrow = kernels::size_of(from) < kernels::size_of(to) ? from : to;
    return {alike ? PointwiseKind::scale : PointwiseKind::cast, narrow, 1, numbers};
}

bool changes_gradients(const Plan& plan) { return casts(plan) || by_ratio(plan); }

std::uint64_t bytes_on_the_wire(const Plan& plan, std::uint64_t numbers) {
    const std::uint64_t bytes = numbers * kernels::size_of(plan.training.precision.on_the_wire());
    if (!by_ratio(plan)) return bytes;
    return static_cast<std::uint64_t>(std::ceil(static_cast<double>(bytes) / plan.strategy.compression_ratio));
}

void check_gradient_wire(const Plan& plan) {
    constexpr const char* key = "/training/communication_data_type";
    check_ratio(plan);
    if (!casts(plan)) return;
    const auto refuse_beside = [&](bool given, const char* what, const char* remedy, Source source) {
        if (given)
            refuse(key, fmt::format("{}, but {}", kernels::name(plan.training.precision.on_the_wire()), what), remedy,
                   source);
    };
    refuse_beside(plan.strategy.compression != Compression::none,
                  "what is exchanged of gradients has a format of its own where it is compressed",
                  "leave it out, or set strategy.compression to \"none\"", Source::pytorch_hooks);
    refuse_beside(plan.strategy.quantized_gradients, "quantized gradients travel as int4",
                  "leave it out, or set strategy.zero_quantized_gradients to false", Source::deepspeed_zero_plus_plus);
    refuse_beside(plan.sums_on_host(), "sums in host memory are those that have travelled",
                  "leave it out, or set strategy.offload_param_device to \"none\"", Source::not_modelled);
}

Lane lane_of(const Plan& plan, const Move& move) {
    const bool shares = divides_gradients(plan.strategy.sharding);
    const bool over_groups = plan.strategy.optimizer_instances > 1 && move.group.has(Axis::replica);
    return shares && over_groups && move.kind == kernels::CollectiveKind::all_reduce ? Lane::replicas : Lane::data;
}

Collective collective_of(const Plan& plan, const Move& move, std::uint64_t bytes) {
    Collective made{.kind = move.kind, .group = move.group, .bytes = move.size(plan.mesh(), bytes)};
    if (move.kind == kernels::CollectiveKind::reduce_scatter) made.by = plan.strategy.grad_reduce_collective;
    return made;
}

BufferId change_gradients(const Plan& plan, Builder& builder, Intern& intern, std::uint64_t numbers,
                          std::span<const BufferId> from, std::uint64_t kept) {
    BufferId made = from.front();
    const auto pass = [&](const char* name, const Pointwise& kernel, std::uint64_t bytes) {
        const BufferId next = builder.buffer(bytes, Keep::gradient, {.span = Lifetime::Span::use});
        builder.emit(Lane::data, intern.label(name, Phase::gradient), What{intern.kernel(kernel)}, from,
                     std::span(&next, 1));
        builder.state({});
        made = next;
        from = std::span(&made, 1);
    };
    const Precision& precision = plan.training.precision;
    if (casts(plan))
        pass("cast gradients", cast_between(precision.grad_reduce, precision.on_the_wire(), numbers), kept);
    const std::uint32_t passes = by_ratio(plan) ? plan.strategy.compression_passes : 0;
    for (std::uint32_t number = 1; number <= passes; ++number)
        pass("compress gradients", {PointwiseKind::scale, plan.training.precision.grad_reduce, 1, numbers},
             number == passes ? kept : 0);
    return made;
}

}  // namespace orrery::strategies
