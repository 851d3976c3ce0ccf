#include "strategies/optimizer_offload.hpp"

#include "strategies/ownership.hpp"
#include "strategies/state_bytes.hpp"

namespace orrery::strategies {

namespace {

/// Of a weight as the host leaves it.
kernels::Dtype weight_format(const Plan& plan) {
    return kernels::size_of(plan.training.precision.compute) == 4 ? kernels::Dtype::fp32 : kernels::Dtype::bf16;
}

StateView on_host(State state, std::uint32_t bucket) {
    return {.state = state, .portion = Portion::updated, .bucket = bucket, .holder = Holder::host};
}

}  // namespace

std::uint64_t offloaded(const Plan& plan, std::uint64_t amount) {
    const double part = plan.offloaded_states();
    return part == 1 ? amount : static_cast<std::uint64_t>(part * static_cast<double>(amount));
}

double mean_of_micro_batches(const Plan& plan) {
    return 1.0 / (double{1} * plan.micro_batches() * plan.strategy.data * plan.strategy.context);
}

std::uint32_t host_bytes_a_parameter(const Training& training) {
    constexpr std::uint32_t master_and_moments = 12;
    return master_and_moments + state_bytes(training).gradient;
}

OptimizerOffload::OptimizerOffload(const Plan& plan, std::uint64_t owned, const GradientBuckets& buckets,
                                   Builder& builder, Intern& intern)
    : plan_(plan), owned_(owned), buckets_(buckets), builder_(builder), intern_(intern) {}

std::vector<std::uint64_t> offloaded_of_buckets(const Plan& plan, std::uint64_t owned, const GradientBuckets& buckets) {
    std::vector<std::uint64_t> list;
    std::uint64_t parameters = 0, before = 0;
    for (std::size_t b = 0; b < buckets.buckets.size(); ++b) {
        const GradientBucket& bucket = buckets.buckets[b];
        const Ownership of = ownership(plan, class_of_bucket(bucket.experts));
        parameters += share(plan.mesh(), of, of.states, bucket.parameters);
        if (b + 1 == buckets.buckets.size()) parameters = owned;
        const std::uint64_t now = offloaded(plan, parameters);
        list.push_back(now - before);
        before = now;
    }
    return list;
}

void OptimizerOffload::lasting_buffers() {
    if (plan_.offloaded_states() == 0) return;
    builder_.buffer(offloaded(plan_, owned_) * host_bytes_a_parameter(plan_.training), Keep::optimizer, Where::host);
}

void OptimizerOffload::gradients_leave(std::span<const BufferId> of_buckets, std::span<const BufferId> of_all) {
    pieces_.clear();
    if (plan_.offloaded_states() == 0) return;
    const std::vector<std::uint64_t> parameters = offloaded_of_buckets(plan_, owned_, buckets_);
    for (std::uint32_t b = 0; b < parameters.size(); ++b) {
        const bool apart = plan_.strategy.overlap_optimizer_copies;
        if (apart || pieces_.empty()) pieces_.emplace_back().ready.assign(of_all.begin(), of_all.end());
        if (apart) pieces_.back().bucket = b;
        pieces_.back().parameters += parameters[b];
        pieces_.back().ready.push_back(of_buckets[b]);
    }
    std::erase_if(pieces_, [](const Piece& piece) { return piece.parameters == 0; });
    const std::uint64_t gradient = state_bytes(plan_.training).gradient;
    for (Piece& piece : pieces_) {
        piece.arrived = builder_.buffer(0, Keep::scratch);
        builder_.emit(Lane::offload, intern_.label("gradients to host", Phase::optimizer),
                      What{Copy{Copy::To::host, piece.parameters * gradient}}, piece.ready,
                      std::span(&piece.arrived, 1));
        builder_.state(
            {.operands = {on_host(State::gradients, piece.bucket), on_host(State::arrived_gradients, piece.bucket)}});
    }
}

std::vector<BufferId> OptimizerOffload::update(std::span<const BufferId> ready) {
    std::vector<BufferId> there;
    if (pieces_.empty()) return there;
    builder_.emit(Lane::compute, intern_.label("gradients on host", Phase::optimizer), What{HostSync{}}, ready,
                  std::span<const BufferId>{});
    const kernels::Dtype format = weight_format(plan_);
    const kernels::Settings scaling{.scale_factor = mean_of_micro_batches(plan_)};
    for (const Piece& piece : pieces_) {
        const kernels::Pointwise adam{kernels::PointwiseKind::adam, format, 1, piece.parameters};
        const BufferId updated = builder_.buffer(0, Keep::scratch);
        builder_.emit(Lane::host, intern_.label("adam on host", Phase::optimizer),
                      HostCompute{intern_.kernel(adam).kernel}, {piece.arrived}, {updated});
        const auto of = [&](State state) { return on_host(state, piece.bucket); };
        builder_.state({.operands = {of(State::arrived_gradients), of(State::masters), of(State::first_moments),
                                     of(State::second_moments), of(State::leaving_weights)},
                        .settings = scaling,
                        .most_norm = plan_.training.grad_clip});
        there.push_back(builder_.buffer(0, Keep::scratch));
        builder_.emit(Lane::reload, intern_.label("weights to device", Phase::optimizer),
                      Copy{Copy::To::device, piece.parameters * kernels::size_of(format)}, {updated}, {there.back()});
        builder_.state({.operands = {of(State::leaving_weights), of(State::weights)}});
    }
    return there;
}

}  // namespace orrery::strategies
