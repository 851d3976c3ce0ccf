#include "strategies/lasting_buffers.hpp"

#include "strategies/bucket_copies.hpp"
#include "strategies/compressed_momentum.hpp"
#include "strategies/gradient_wire.hpp"
#include "strategies/low_rank_gradients.hpp"
#include "strategies/muon.hpp"
#include "strategies/narrow_weights.hpp"
#include "strategies/optimizer_groups.hpp"
#include "strategies/optimizer_offload.hpp"
#include "strategies/optimizer_phase.hpp"
#include "strategies/optimizers.hpp"
#include "strategies/ownership.hpp"
#include "strategies/schedule/schedule.hpp"
#include "strategies/state_bytes.hpp"
#include "strategies/tensor_overlap.hpp"
#include "strategies/zero_plus_plus.hpp"

namespace orrery::strategies {

namespace {

/// Of weights in as many versions as the schedule needs; not where they lie on drives.
void emit_weights(const Plan& plan, const Stage& stage, std::uint64_t bytes, Builder& builder) {
    if (plan.strategy.param_device == OffloadDevice::nvme) return;
    const Schedule& schedule = schedule_of(plan.strategy.schedule);
    Lifetime versions = usual_lifetime(Keep::weight);
    versions.versions = static_cast<std::uint16_t>(schedule.versions(plan.pipeline_shape(), stage.index));
    builder.buffer({bytes, Keep::weight, plan.offloads_weights() ? Where::host : Where::device, versions});
}

}  // namespace

void emit_lasting_buffers(const Plan& plan, const Stage& stage, Builder& builder) {
    StateBytes state = state_bytes(plan.training);
    if (keeps_gradient_copies(plan)) state.optimizer += state.gradient_copy;
    const Mesh mesh = plan.mesh();
    std::uint64_t weights = 0, states = 0;
    for (const bool experts : {false, true}) {
        const Ownership of = ownership(plan, class_of_bucket(experts));
        const WeightCount all = stage.all_weights(experts);
        const bool comes = plan.offloads_weights() || !moves(mesh, of.weights, of.used, of.replicas).empty();
        weights += share(mesh, of, of.weights, comes ? moved_weight_bytes(plan, all) : kept_weight_bytes(plan, all));
        states += share(mesh, of, of.states, stage.counts.trained_of(experts) * state.optimizer);
    }
    weights += secondary_bytes(plan, stage.counts.all() * 2);
    emit_weights(plan, stage, weights, builder);
    const std::uint64_t owned = owned_parameters(plan, stage);
    states += muon_more_bytes(plan, stage, owned);
    builder.buffer(states - offloaded(plan, states), Keep::optimizer);
    if (const std::uint64_t bytes = tensor_overlap_buffers(plan); bytes > 0)
        builder.buffer(bytes, Keep::scratch, Lifetime{});
    if (plan.compresses()) builder.buffer(compression_error_bytes(plan, owned), Keep::optimizer);
    const bool factors = plan.strategy.compression == Compression::powersgd;
    if (factors) builder.buffer(low_rank_bytes(plan, stage), Keep::optimizer);
    if (factors || copies_into_buckets(plan) || changes_gradients(plan) || applies_in_groups(plan) ||
        plan.compresses() || !is_fused_adam(plan.training) || is_zero_plus_plus(plan.strategy) ||
        plan.offloads_weights() || plan.uses_drives() || optimizer_casts(plan) ||
        plan.training.base_weights != BaseWeights::as_trained)
        builder.price_only();
}

}  // namespace orrery::strategies
