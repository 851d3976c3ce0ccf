#include "strategies/optimizer_offload.hpp"

#include <algorithm>

#include "strategies/ownership.hpp"
#include "strategies/state_bytes.hpp"
#include "strategies/updates.hpp"
#include "strategies/weight_offload.hpp"

namespace orrery::strategies {

namespace {

StateView on_host(State state, std::uint32_t bucket) {
    return {.state = state, .portion = Portion::updated, .bucket = bucket, .holder = Holder::host};
}

}  // namespace

std::uint64_t offloaded(const Plan& plan, std::uint64_t amount) {
    const double part = plan.offloaded_states();
    return part == 1 ? amount : static_cast<std::uint64_t>(part * static_cast<double>(amount));
}

double mean_of_micro_batches(const Plan& plan) {
    return 1.0 / (double{1} * plan.all_micro_batches() * plan.strategy.context);
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
    std::uint64_t bytes = offloaded(plan_, owned_) * host_bytes_a_parameter(plan_.training);
    if (plan_.states_on_drives()) {
        const std::vector<std::uint64_t> parameters = offloaded_of_buckets(plan_, owned_, buckets_);
        const std::uint64_t sums = plan_.sums_on_host() && plan_.micro_batches() > 1 ? owned_ : 0;
        bytes = tiles() * std::ranges::max(parameters) * (stored_gradient_bytes + stored_state_bytes) +
                sums * state_bytes(plan_.training).gradient;
    }
    builder_.buffer(bytes, Keep::optimizer, Where::host);
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
    for (Piece& piece : pieces_)
        if (plan_.sums_on_host())
            piece.there = piece.ready;
        else
            leave(piece);
}

void OptimizerOffload::leave(Piece& piece) {
    const std::uint64_t bytes = piece.parameters * state_bytes(plan_.training).gradient;
    const bool on = plan_.states_on_drives();
    const BufferId arrived = builder_.buffer({on ? bytes : 0, Keep::gradient, Where::host, {Lifetime::Span::use}});
    builder_.emit(Lane::offload, intern_.label("gradients to host", Phase::optimizer),
                  What{Copy{Copy::To::host, bytes}}, piece.ready, std::span(&arrived, 1));
    builder_.state(
        {.operands = {on_host(State::gradients, piece.bucket), on_host(State::arrived_gradients, piece.bucket)}});
    piece.there = {on ? to_drives(builder_, intern_.label("gradients to storage", Phase::optimizer),
                                  piece.parameters * stored_gradient_bytes, arrived)
                      : arrived};
}

/// Into the buffer that the piece so many before has left; unless reading is pipelined, behind the update before. The
/// first waits until all gradients are written (_flush_gradient_swapper).
void OptimizerOffload::read_states(std::size_t number) {
    const Piece& piece = pieces_[number];
    std::vector<BufferId> waits = piece.there;
    for (std::size_t other = 1; number == 0 && other < pieces_.size(); ++other)
        waits.insert(waits.end(), pieces_[other].there.begin(), pieces_[other].there.end());
    if (number >= tiles()) waits.push_back(written_[number - tiles()]);
    if (number > 0 && !plan_.strategy.pipeline_read) waits.push_back(updated_.back());
    reads_ = {builder_.buffer(0, Keep::scratch)};
    builder_.emit(
        Lane::read_storage, intern_.label("states from storage", Phase::optimizer),
        What{Copy{Copy::To::host_from_storage, piece.parameters * (stored_gradient_bytes + stored_state_bytes)}}, waits,
        reads_);
    if (number > 0 && !plan_.strategy.pipeline_write) reads_.push_back(written_.back());
}

void OptimizerOffload::write_states(std::size_t number) {
    written_.push_back(to_drives(builder_, intern_.label("states to storage", Phase::optimizer),
                                 pieces_[number].parameters * stored_state_bytes, updated_.back()));
}

/// To where products find them; what the host keeps is there.
BufferId OptimizerOffload::weights_leave(const Piece& piece, BufferId updated) {
    if (plan_.strategy.param_device == OffloadDevice::cpu) return updated;
    const std::uint64_t bytes = piece.parameters * kernels::size_of(optimizer_copy(plan_));
    if (plan_.strategy.param_device == OffloadDevice::nvme)
        return to_drives(builder_, intern_.label("weights to storage", Phase::optimizer), bytes, updated);
    const BufferId there = builder_.buffer(0, Keep::scratch);
    builder_.emit(Lane::reload, intern_.label("weights to device", Phase::optimizer), Copy{Copy::To::device, bytes},
                  {updated}, {there});
    builder_.state(
        {.operands = {on_host(State::leaving_weights, piece.bucket), on_host(State::weights, piece.bucket)}});
    return there;
}

std::vector<BufferId> OptimizerOffload::update(std::span<const BufferId> ready) {
    std::vector<BufferId> there;
    updated_.clear();
    written_.clear();
    if (pieces_.empty()) return there;
    builder_.emit(Lane::compute, intern_.label("gradients on host", Phase::optimizer), What{HostSync{}}, ready,
                  std::span<const BufferId>{});
    const kernels::Dtype format = optimizer_copy(plan_);
    const kernels::Settings scaling{.scale_factor = mean_of_micro_batches(plan_)};
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
        const Piece& piece = pieces_[i];
        const bool on = plan_.states_on_drives();
        reads_ = piece.there;
        if (on) read_states(i);
        const kernels::Pointwise adam{kernels::PointwiseKind::adam, format, 1, piece.parameters};
        updated_.push_back(builder_.buffer(0, Keep::scratch));
        builder_.emit(Lane::host, intern_.label("adam on host", Phase::optimizer),
                      What{HostCompute{intern_.kernel(adam).kernel}}, reads_, std::span(&updated_.back(), 1));
        const auto of = [&](State state) { return on_host(state, piece.bucket); };
        builder_.state({.operands = {of(State::arrived_gradients), of(State::masters), of(State::first_moments),
                                     of(State::second_moments), of(State::leaving_weights)},
                        .settings = scaling,
                        .most_norm = plan_.training.grad_clip});
        if (on) write_states(i);
        there.push_back(weights_leave(piece, updated_.back()));
    }
    return there;
}

}  // namespace orrery::strategies
