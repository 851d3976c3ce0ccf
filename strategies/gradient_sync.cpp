#include "strategies/gradient_sync.hpp"

#include <algorithm>
#include <iterator>

#include "strategies/gradient_wire.hpp"
#include "strategies/low_rank_gradients.hpp"
#include "strategies/optimizer_offload.hpp"
#include "strategies/shard_copies.hpp"
#include "strategies/state_bytes.hpp"
#include "strategies/weight_offload.hpp"
#include "strategies/zero_plus_plus.hpp"

namespace orrery::strategies {

GradientSync::GradientSync(const Plan& plan, const Stage& stage, std::span<const Slot> slots, Builder& builder,
                           Intern& intern)
    : plan_(plan),
      stage_(stage),
      slots_(slots),
      builder_(builder),
      intern_(intern),
      mesh_(plan.mesh()),
      dense_(ownership(plan, ParameterClass::dense)),
      experts_(ownership(plan, ParameterClass::expert)),
      dense_scatters_(moves(mesh_, dense_.formed, dense_.gradients, dense_.replicas)),
      expert_scatters_(moves(mesh_, experts_.formed, experts_.gradients, experts_.replicas)),
      dense_reductions_(moves(mesh_, dense_.gradients, dense_.states, dense_.replicas)),
      expert_reductions_(moves(mesh_, experts_.gradients, experts_.states, experts_.replicas)),
      buckets_(gradient_buckets(stage, plan)),
      copies_(plan, builder, intern),
      last_(slots.size()) {
    std::vector<const Slot*> inputs(stage.chunks.size()), weights(stage.chunks.size());
    for (const Slot& slot : slots_) {
        if (slot.hands_gradient_on()) inputs[slot.chunk] = &slot;
        if (slot.completes_gradient()) weights[slot.chunk] = &slot;
        if (slot.work != SlotWork::update) continue;
        for (const auto& of_chunks : {inputs, weights})
            for (const Slot* last : of_chunks)
                if (last != nullptr) last_[number(*last)] = true;
    }
}

std::uint64_t GradientSync::bytes_of(std::uint32_t bucket) const {
    return buckets_.buckets[bucket].parameters * state_bytes(plan_.training).gradient;
}

void GradientSync::begin() {
    Lifetime lifetime = usual_lifetime(Keep::gradient);
    if (plan_.gradients_come_and_go()) lifetime.span = Lifetime::Span::use;
    for (std::uint32_t b = 0; b < buckets_.buckets.size(); ++b) {
        const Ownership& of = owners(b);
        const bool here = !plan_.sums_on_host();
        gradient_.push_back(builder_.buffer(here ? share_of(b) : 0, Keep::gradient, lifetime));
        if (here) kept_ += share(mesh_, of, of.gradients, buckets_.buckets[b].parameters);
        copies_.add(copied(b) ? share_of(b) : 0);
    }
    begin_step();
}

void GradientSync::begin_step() {
    reduced_ = gradient_;
    if (plan_.sums_on_host() || plan_.gradients_come_and_go()) return;  // the first ones are written over
    const auto dtype = plan_.training.precision.grad_reduce;
    builder_.emit(Lane::compute, intern_.label("zero gradients", Phase::forward),
                  What{intern_.kernel(kernels::Pointwise{kernels::PointwiseKind::fill, dtype, 1, kept_})},
                  std::span<const BufferId>{}, gradient_);
    builder_.state({.operands = {{State::gradients}}});
}

void GradientSync::formed(const Slot& slot, std::size_t position, std::vector<BufferId>& writes) {
    const bool last = is_last(slot);
    buckets_.each(slot.chunk, position, [&](std::uint32_t bucket) {
        if (!by_micro_batch(bucket)) {
            if (last) writes.push_back(gradient_[bucket]);
            return;
        }
        forms(bucket, slot.micro_batch, writes);
    });
    if (!stage_.chunks[slot.chunk][position].blocks->borrows_words) return;
    const std::uint32_t words = buckets_.of_layer.front().front();
    if (by_micro_batch(words)) forms(words, slot.micro_batch, writes);
}

void GradientSync::forms(std::uint32_t bucket, std::uint32_t micro_batch, std::vector<BufferId>& writes) {
    const Formed key{bucket, micro_batch};
    if (!formed_.contains(key))
        formed_[key] = builder_.buffer(formed_bytes(plan_, buckets_.buckets[bucket].parameters), Keep::gradient,
                                       {.span = Lifetime::Span::use});
    if (std::ranges::find(writes, formed_.at(key)) == writes.end()) writes.push_back(formed_.at(key));
}

void GradientSync::behind(const Slot& slot, std::size_t position) {
    if (!slot.completes_gradient()) return;
    const bool beside = plan_.strategy.overlap_grad_reduce;
    buckets_.each(slot.chunk, position, [&](std::uint32_t bucket) {
        const GradientBucket& closing = buckets_.buckets[bucket];
        if (closing.chunk != slot.chunk || closing.position != position) return;
        if (!beside && !by_micro_batch(bucket)) return;
        scatter(bucket, slot.micro_batch, is_last(slot));
        if (is_last(slot)) reduce(bucket);
        if (!beside) in_turn_ = under_way_;
    });
}

void GradientSync::take_turn(std::vector<BufferId>& reads) {
    reads.insert(reads.end(), in_turn_.begin(), in_turn_.end());
    in_turn_.clear();
}

/// What the collective that was emitted last sends and receives.
void GradientSync::takes(std::uint32_t bucket, const std::array<StateView, 2>& operands, bool summed, bool goes_on) {
    const std::pair key{bucket, goes_on};
    if (const auto known = scatters_.find(key); !summed && known != scatters_.end())
        return builder_.same_state(known->second);
    const std::uint16_t taken = builder_.state(
        {.operands = {operands.begin(), operands.end()}, .settings = {.accumulate = !summed && !goes_on}});
    if (!summed) scatters_[key] = taken;
}

/// Where a collective leaves a bucket: in a buffer on its way (to the host, or to the next), in the bucket itself where
/// that comes with its gradients, or where it lasts anyway.
BufferId GradientSync::moves_into(std::uint32_t bucket, bool goes_on) {
    if (plan_.sums_on_host() || goes_on)
        return builder_.buffer(share_of(bucket), Keep::gradient, {.span = Lifetime::Span::use});
    const bool there = plan_.gradients_come_and_go() && !copied(bucket);
    return there ? gradient_[bucket] : builder_.buffer(0, Keep::scratch);
}

/// The collectives one behind the other; the token of the last. summed: over micro-batches; else one micro-batch's,
/// that are added to the sums.
BufferId GradientSync::emit(const std::vector<Move>& list, std::uint32_t bucket, BufferId from, bool summed) {
    const std::uint64_t parameters = buckets_.buckets[bucket].parameters, bytes = bytes_on_the_wire(plan_, parameters);
    const bool changes = changes_gradients(plan_) && !list.empty();
    if (changes)
        from = change_gradients(plan_, builder_, intern_, list.front().size(mesh_, parameters), std::array{from},
                                list.front().size(mesh_, bytes));
    const BufferId on_the_wire = from;
    std::vector<BufferId> reads{from};
    if (!list.empty() && list.front().kind == kernels::CollectiveKind::reduce_scatter && !changes)
        reads = copy_into_scatter(plan_, builder_, intern_, list.front().size(mesh_, parameters), from, summed);
    StateView sent{summed ? State::gradients : State::formed, Portion::kept, bucket};
    std::uint64_t arrived = 0;  // numbers
    for (const Move& move : list) {
        const bool scatters = move.kind == kernels::CollectiveKind::reduce_scatter;
        const bool goes_on = !summed && &move != &list.back();  // to the groups' sum, and then to the sums
        const BufferId moved = moves_into(bucket, goes_on);
        builder_.emit(lane_of(plan_, move), intern_.label("gradient reduction", Phase::gradient),
                      collective_of(plan_, move, bytes), reads, std::span(&moved, 1));
        arrived = move.size(mesh_, parameters) / (scatters ? mesh_.group_size(move.group) : 1);
        StateView received{goes_on ? State::formed : State::gradients, sent.portion, bucket};
        if (scatters) received.portion = Portion::updated;
        takes(bucket, {sent, received}, summed, goes_on);
        sent = received;
        from = moved;
        reads = under_way_ = {moved};
    }
    if (!changes) return from;
    from = change_gradients(plan_, builder_, intern_, arrived, std::array{from, on_the_wire}, 0);
    under_way_ = {from};
    return from;
}

/// One micro-batch's gradients, formed whole, go to the shares that are summed.
void GradientSync::scatter(std::uint32_t bucket, std::uint32_t micro_batch, bool last) {
    const auto formed = formed_.extract({bucket, micro_batch});
    if (formed.empty()) return;
    BufferId from = formed.mapped();
    if (copied(bucket)) from = copies_.into(bucket, shapes_in(bucket), from);
    reduced_[bucket] =
        quantizes_gradients(plan_) ? exchange_quantized(bucket, from) : emit(scatters(bucket), bucket, from, false);
    if (copied(bucket))
        reduced_[bucket] = copies_.out_of(bucket, shapes_in(bucket), reduced_[bucket], gradient_[bucket]);
    if (plan_.sums_on_host()) reduced_[bucket] = sum_on_host(bucket, micro_batch, reduced_[bucket], last);
}

std::uint64_t GradientSync::share_of(std::uint32_t bucket) const {
    return share(mesh_, owners(bucket), owners(bucket).gradients, bytes_of(bucket));
}

/// The sum so far comes to the device and is added to what was formed.
BufferId GradientSync::add_on_device(std::uint32_t bucket, std::int32_t micro_batch, BufferId formed) {
    const std::uint64_t bytes = share_of(bucket);
    const auto label = [&](std::string_view text) { return intern_.label(text, Phase::gradient, micro_batch); };
    const BufferId before = builder_.buffer(bytes, Keep::gradient, {.span = Lifetime::Span::use});
    const BufferId added = builder_.buffer(0, Keep::scratch);
    builder_.emit(Lane::reload, label("gradient sums to device"), Copy{Copy::To::device, bytes},
                  {formed, on_host_.at(bucket)}, {before});
    const std::uint64_t numbers = bytes / state_bytes(plan_.training).gradient;
    const kernels::Pointwise add{kernels::PointwiseKind::add, plan_.training.precision.grad_reduce, 1, numbers};
    builder_.emit(Lane::data, label("gradient sum"), intern_.kernel(add), {before, formed}, {added});
    return added;
}

BufferId GradientSync::sum_on_host(std::uint32_t bucket, std::uint32_t micro_batch, BufferId formed, bool last) {
    const auto number = static_cast<std::int32_t>(micro_batch);
    const std::uint64_t bytes = share_of(bucket);
    std::vector<BufferId> reads{formed};
    if (on_host_.contains(bucket)) reads.push_back(add_on_device(bucket, number, formed));
    const bool passes = last && plan_.states_on_drives();
    const BufferId arrived = on_host_[bucket] = builder_.buffer(
        {passes && plan_.micro_batches() == 1 ? bytes : 0, Keep::gradient, Where::host, {Lifetime::Span::use}});
    builder_.emit(Lane::offload, intern_.label("gradients to host", Phase::gradient, number),
                  What{Copy{Copy::To::host, bytes}}, reads, std::span(&arrived, 1));
    if (!passes) return arrived;
    return to_drives(builder_, intern_.label("gradients to storage", Phase::gradient, number),
                     stored_gradient_bytes * (bytes / state_bytes(plan_.training).gradient), arrived);
}

/// In the order in which backward forms them.
std::vector<ParameterShape> GradientSync::shapes_in(std::uint32_t bucket) const {
    const bool experts = buckets_.buckets[bucket].experts;
    const auto& buckets = experts ? buckets_.of_experts : buckets_.of_layer;
    std::vector<ParameterShape> list;
    for (std::size_t c = stage_.chunks.size(); c-- > 0;)
        for (std::size_t i = stage_.chunks[c].size(); i-- > 0;)
            if (buckets[c][i] == bucket)
                std::ranges::copy_if(stage_.chunks[c][i].blocks->shapes, std::back_inserter(list),
                                     [&](const ParameterShape& shape) { return shape.experts == experts; });
    return list;
}

BufferId GradientSync::exchange_quantized(std::uint32_t bucket, BufferId formed) {
    QuantizedExchange exchange(plan_, builder_, intern_);
    BufferId last = formed;
    for (const ParameterShape& shape : shapes_in(bucket)) last = exchange.write(shape, formed);
    under_way_ = {last};
    return last;
}

void GradientSync::reduce(std::uint32_t bucket) {
    if (plan_.compresses()) return;  // each rank goes on from its own
    if (copies_sums(bucket)) reduced_[bucket] = copies_.into(bucket, shapes_in(bucket), reduced_[bucket]);
    if (plan_.strategy.compression == Compression::powersgd) {
        reduced_[bucket] = FactorExchange(plan_, builder_, intern_).write(shapes_in(bucket), reduced_[bucket]);
        under_way_ = {reduced_[bucket]};
        return;
    }
    reduced_[bucket] = emit(reductions(bucket), bucket, reduced_[bucket], true);
}

/// Each tensor rank has seen only its part of the sequence (Megatron-LM's allreduce_layernorm_grads: one call for all).
void GradientSync::reduce_replicated() {
    const Ownership norms = ownership(plan_, ParameterClass::norm);
    const std::vector<Move> over_tensor = moves(mesh_, norms.gradients, norms.states, {Axis::tensor});
    if (over_tensor.empty()) return;
    const std::uint64_t bytes = stage_.counts.replicated * state_bytes(plan_.training).gradient;
    const BufferId summed = builder_.buffer(0, Keep::scratch);
    builder_.emit(Lane::compute, intern_.label("norm gradient reduction", Phase::gradient),
                  Collective{over_tensor.front().kind, over_tensor.front().group, bytes}, reduced_,
                  std::span(&summed, 1));
    constexpr StateView replicated{State::gradients, Portion::replicated};
    builder_.state({.operands = {replicated, replicated}});
    reduced_.push_back(summed);
}

std::vector<BufferId> GradientSync::finish() {
    if (!plan_.strategy.overlap_grad_reduce)
        for (std::uint32_t b = 0; b < buckets_.buckets.size(); ++b)
            if (!by_micro_batch(b)) reduce(b);
    for (std::uint32_t b = 0; b < buckets_.buckets.size(); ++b)
        if (copies_sums(b)) reduced_[b] = copies_.out_of(b, shapes_in(b), reduced_[b], gradient_[b]);
    reduce_replicated();
    return reduced_;
}

/// Reductions run one after the other, and no bucket of experts holds a word embedding.
BufferId GradientSync::last_dense() const {
    std::size_t last = reduced_.size() - 1;
    while (last < buckets_.buckets.size() && buckets_.buckets[last].experts) --last;
    return reduced_[last];
}

}  // namespace orrery::strategies
