#include "strategies/optimizer_groups.hpp"

#include <fmt/format.h>

#include <array>
#include <string>

#include "strategies/optimizers.hpp"
#include "strategies/refusal.hpp"
#include "strategies/state_bytes.hpp"

namespace orrery::strategies {

using kernels::Dtype;
using kernels::PointwiseKind;

void check_apply_groups(const Plan& plan) {
    const Training& training = plan.training;
    if (!applies_in_groups(plan)) return;
    const auto refuse_beside = [&](bool given, const char* what, const char* remedy, Source source) {
        if (given)
            refuse("/training/num_apply_group", fmt::format("{}, but {}", training.apply_groups, what), remedy, source);
    };
    refuse_beside(kernels::size_of(training.precision.grad_reduce) != 2,
                  "gradients in fp32 are not copied for the optimizer",
                  "set it to 1, or grad_reduce_precision to 16 bits", Source::origin_of_key);
    refuse_beside(!is_fused_adam(training), "other optimizers than a fused Adam work parameter by parameter already",
                  "set it to 1", Source::origin_of_key);
    refuse_beside(training.software == hardware::Software::orrery, "Orrery's runtime keeps these copies",
                  "set it to 1, or software to another", Source::limit);
    refuse_beside(plan.strategy.optimizer_cpu_offload, "the host's optimizer takes gradients as they come",
                  "set it to 1, or strategy.optimizer_cpu_offload to false", Source::not_modelled);
    refuse_beside(plan.offloads_weights(), "weights in host memory are updated all at once",
                  "set it to 1, or strategy.offload_param_device to \"none\"", Source::not_modelled);
    refuse_beside(plan.strategy.compression == Compression::onebit_adam, "1-bit Adam updates from momentum",
                  "set it to 1, or strategy.compression to \"none\"", Source::compressed_momentum);
    refuse_beside(schedule_of(plan.strategy.schedule).asynchronous, "steps run into each other",
                  "set it to 1, or strategy.schedule to \"1f1b\"", Source::not_modelled);
}

void update_in_groups(const Plan& plan, std::uint64_t owned, std::span<const BufferId> first, Builder& builder,
                      Updates& out, BufferId updated) {
    const Training& training = plan.training;
    const std::uint64_t groups = training.apply_groups;
    std::uint64_t done = 0;
    for (std::uint64_t group = 1; group <= groups; ++group) {
        const std::uint64_t own = owned * group / groups - done;
        done += own;
        const std::uint64_t bytes = own * state_bytes(training).gradient_copy;
        const std::array copy{builder.buffer(bytes, Keep::gradient, {.span = Lifetime::Span::use})};
        const BufferId made = group == groups ? updated : builder.buffer(0, Keep::scratch);
        out.kernel("gradients to fp32", PointwiseKind::cast, training.precision.grad_reduce, own, {},
                   group == 1 ? first : Updates::none, copy);
        if (training.grad_clip > 0) out.kernel("clip", PointwiseKind::scale, Dtype::fp32, own, {}, copy);
        out.kernel("adam", PointwiseKind::adam, optimizer_copy(plan), own, {}, copy, std::span(&made, 1));
    }
}

}  // namespace orrery::strategies
