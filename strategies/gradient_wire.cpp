#include "strategies/gradient_wire.hpp"

#include <fmt/format.h>

#include "strategies/refusal.hpp"

namespace orrery::strategies {

using kernels::Pointwise;
using kernels::PointwiseKind;

bool casts_gradients(const Plan& plan) {
    return plan.training.precision.on_the_wire() != plan.training.precision.grad_reduce;
}

void check_gradient_wire(const Plan& plan) {
    constexpr const char* key = "/training/communication_data_type";
    if (!casts_gradients(plan)) return;
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

/// A cast moves 16 bits and 32; between two formats of 16 bits as much as any pass.
BufferId cast_gradients(const Plan& plan, Builder& builder, Intern& intern, std::uint64_t numbers, BufferId from,
                        std::uint64_t kept) {
    const kernels::Dtype sums = plan.training.precision.grad_reduce, wire = plan.training.precision.on_the_wire();
    const bool alike = kernels::size_of(sums) == kernels::size_of(wire);
    const kernels::Dtype narrow = kernels::size_of(sums) < kernels::size_of(wire) ? sums : wire;
    const BufferId made = builder.buffer(kept, Keep::gradient, {.span = Lifetime::Span::use});
    builder.emit(Lane::data, intern.label("cast gradients", Phase::gradient),
                 What{intern.kernel(Pointwise{alike ? PointwiseKind::scale : PointwiseKind::cast, narrow, 1, numbers})},
                 {from}, {made});
    builder.state({});
    return made;
}

}  // namespace orrery::strategies
