#include "strategies/weight_gathers.hpp"

#include <algorithm>

#include "strategies/shard_copies.hpp"
#include "strategies/state_bytes.hpp"
#include "strategies/zero_plus_plus.hpp"

namespace orrery::strategies {

WeightGathers::WeightGathers(const Plan& plan, const Stage& stage, std::span<const Slot> slots,
                             const GradientBuckets& buckets, Builder& builder, Intern& intern)
    : plan_(plan),
      stage_(stage),
      buckets_(buckets),
      builder_(builder),
      intern_(intern),
      mesh_(plan.mesh()),
      dense_(ownership(plan, ParameterClass::dense)),
      experts_(ownership(plan, ParameterClass::expert)),
      arriving_(plan, builder, intern) {
    if (!shares_weights() && !plan.offloads_weights()) return;
    visits_ = weight_visits(plan, stage, slots);
    gathered_.resize(visits_.size());
}

void WeightGathers::begin() {
    const auto new_weights = [&](const Ownership& of) { return moves(mesh_, of.states, of.weights, of.replicas); };
    if (!plan_.strategy.overlap_param_gather || new_weights(dense_).empty()) return;
    early_.assign(buckets_.buckets.size(), 0);
    for (auto b = static_cast<std::uint32_t>(buckets_.buckets.size()); b-- > 0;) {
        early_[b] = builder_.buffer(0, Keep::scratch);
        const GradientBucket& bucket = buckets_.buckets[b];
        for (const Move& move : new_weights(bucket.experts ? experts_ : dense_)) {
            builder_.emit(
                Lane::data, intern_.label("gather weights", Phase::forward),
                Collective{move.kind, move.group, move.size(mesh_, moved_weight_bytes(plan_, bucket.weights()))}, {},
                {early_[b]});
            builder_.state({.operands = {{State::weights, Portion::updated, b}, {State::weights, Portion::kept, b}}});
        }
    }
}

WeightCount WeightGathers::weights(const Visit& visit, bool experts) const {
    WeightCount sum;
    for (const PlacedLayer& layer : layers(visit)) {
        const LayerBlocks& blocks = *layer.blocks;
        sum.all += blocks.counts.of(experts);
        sum.quantized += experts ? 0 : blocks.counts.quantized;
        sum.narrow += blocks.narrow_of(experts, true) + blocks.narrow_of(experts, false);
    }
    return sum;
}

/// Behind which visit weights have been asked for when this one begins.
std::size_t WeightGathers::ahead(std::size_t visit) const {
    const FullSharding& full = plan_.strategy.full_sharding;
    std::size_t end = visit + full.prefetch + 1;
    const Slot* const slot = visits_[visit].slot;
    if (!full.limit_all_gathers && slot->work == SlotWork::forward)
        for (std::size_t next = visit; next < visits_.size() && visits_[next].slot == slot;)
            end = std::max(end, ++next);
    return std::min(end, visits_.size());
}

void WeightGathers::ask_up_to(std::size_t end) {
    for (; asked_ < end; ++asked_) gather(asked_);
}

/// What logits read as well is gathered for the first forward and stays until the backward that nothing follows.
void WeightGathers::gather(std::size_t number) {
    const Visit& visit = visits_[number];
    if (!visit.reads) return;
    std::vector<BufferId>& gathered = gathered_[number];
    if (visit.follows) {
        gathered = gathered_[number - 1];
        return;
    }
    const UnitPlace unit{visit.slot->chunk, visit.begin};
    if (visit.there) {
        gathered = there_.at(unit);
        return;
    }
    const Label label = label_of(visit);
    for (const bool experts : {false, true}) {
        const Ownership& of = experts ? experts_ : dense_;
        const WeightCount amount = weights(visit, experts);
        if (amount.all == 0) continue;
        const std::vector<Move> list = moves(mesh_, of.weights, of.used, of.replicas);
        std::vector<BufferId> shares;
        if (plan_.offloads_weights()) shares.push_back(arriving_.take(number));
        if (list.empty()) gathered.insert(gathered.end(), shares.begin(), shares.end());
        for (const Move& move : list) {
            gathered.push_back(gather(number, label, move, amount, shares));
            takes(visit, experts);
            if (copies_out(plan_) == CopiesOut::beside) copy_out(label, gathered.back());
        }
    }
    if (visit.stays) there_[unit] = gathered;
}

/// What was gathered for a visit, when its turn has come.
void WeightGathers::copy_out(std::size_t number) {
    const Visit& visit = visits_[number];
    if (visit.reads && visit.there)
        gathered_[number] = there_.at({visit.slot->chunk, visit.begin});  // copied since it was asked for
    if (!visit.reads || visit.follows || visit.there) return;
    for (BufferId& gathered : gathered_[number])
        if (casts_.contains(gathered)) copy_out(label_of(visit), gathered);  // a lone rank gathers nothing
    if (visit.stays) there_[{visit.slot->chunk, visit.begin}] = gathered_[number];
}

void WeightGathers::copy_out(const Label& label, BufferId& gathered) {
    gathered = copy_out_of_gather(plan_, builder_, intern_, label, casts_.at(gathered), gathered);
}

Label WeightGathers::label_of(const Visit& visit) const {
    const bool forward = visit.slot->work == SlotWork::forward;
    return intern_.label("gather weights", forward ? Phase::forward : Phase::backward,
                         static_cast<std::int32_t>(visit.slot->micro_batch), layers(visit).front().layer);
}

/// What is to be on its way when a visit begins.
void WeightGathers::bring(std::size_t visit) {
    constexpr std::size_t reads = ArrivingShares::reads_ahead, copies = ArrivingShares::copies_ahead;
    for (std::size_t first = visit == 0 ? 0 : reads; first <= reads; ++first) fetch(visit + first, true);
    for (std::size_t first = visit == 0 ? 0 : copies; first <= copies; ++first) fetch(visit + first, false);
}

/// Shares are of dense layers alone (check_weight_offload).
void WeightGathers::fetch(std::size_t number, bool read) {
    if (number >= visits_.size() || visits_[number].there || !visits_[number].reads) return;
    const std::size_t ahead = read ? ArrivingShares::reads_ahead : ArrivingShares::copies_ahead;
    const Visit& visit = visits_[number];
    const std::uint64_t weights = parameters(visit);
    if (weights == 0) return;
    const std::uint64_t bytes = share(mesh_, dense_, dense_.weights, weights * state_bytes(plan_.training).weight);
    std::vector<BufferId> waits;
    if (number > ahead) waits.push_back(done_[number - ahead - 1]);
    read ? arriving_.read(number, label_of(visit), bytes, waits)
         : arriving_.copy(number, label_of(visit), bytes, waits);
}

BufferId WeightGathers::gather(std::size_t visit, const Label& label, const Move& move, WeightCount amount,
                               std::span<const BufferId> shares) {
    const std::uint64_t bytes = move.size(mesh_, moved_weight_bytes(plan_, amount));
    const std::uint64_t casts = move.size(mesh_, cast_weight_bytes(plan_, amount.narrow));
    const bool copied = copies_out(plan_) != CopiesOut::none;
    const BufferId whole = builder_.buffer(bytes + (copied ? 0 : casts), Keep::weight, {.span = Lifetime::Span::use});
    if (copied) casts_[whole] = casts;
    std::vector<BufferId> waits(shares.begin(), shares.end());
    const FullSharding& full = plan_.strategy.full_sharding;
    const std::size_t window = std::max<std::size_t>(full.prefetch + 1, 2);  // units at once
    const bool limited = full.limit_all_gathers && full.reshard_after_forward;
    if (limited && visit >= window) waits.push_back(done_[visit - window]);
    AxisSet group = move.group;
    if (const auto kept = secondary_.find(label.layer); kept != secondary_.end()) {
        waits.push_back(kept->second);
        group = secondary_group(plan_);
    }
    if (plan_.strategy.quantized_weights)
        QuantizedGather(plan_, group, builder_, intern_).write(label, amount.all, waits, whole);
    else
        builder_.emit(Lane::data, label, What{Collective{move.kind, group, bytes}}, waits, std::span(&whole, 1));
    return whole;
}

void WeightGathers::behind() {
    if (visits_.empty() || !visits_[done_.size() - 1].first) return;
    const Visit& visit = visits_[done_.size() - 1];
    const std::int32_t layer = layers(visit).front().layer;
    const std::uint64_t weights = parameters(visit);
    const std::uint64_t kept = secondary_bytes(plan_, weights * state_bytes(plan_.training).weight);
    if (kept == 0) return;
    const auto micro_batch = static_cast<std::int32_t>(visit.slot->micro_batch);
    const auto label = [&](std::string_view name) { return intern_.label(name, Phase::forward, micro_batch, layer); };
    const BufferId copied = builder_.buffer(0, Keep::scratch);
    const std::vector<BufferId>& gathered = gathered_[done_.size() - 1];
    builder_.emit(Lane::compute, label("keep secondary partition"), What{intern_.kernel(copying(kept))}, gathered,
                  std::span(&copied, 1));
    builder_.state({});
    builder_.emit(Lane::compute, label("secondary partition there"), HostSync{}, {copied}, {});
    secondary_[layer] = copied;
}

/// The operation that was emitted last gathers a unit's weights.
void WeightGathers::takes(const Visit& visit, bool experts) {
    const std::int32_t layer = layers(visit).front().layer;
    if (const auto known = details_.find({layer, experts}); known != details_.end())
        return builder_.same_state(known->second);
    const std::uint32_t which = experts ? StateView::of_experts : StateView::not_of_experts;
    const auto view = [&](State state, Portion portion) {
        return StateView{.state = state,
                         .portion = portion,
                         .bucket = which,
                         .layer = layer,
                         .layers = static_cast<std::uint32_t>(visit.calls())};
    };
    details_[{layer, experts}] =
        builder_.state({.operands = {view(State::weights, Portion::updated), view(State::gathered, Portion::kept)}});
}

void WeightGathers::before(const Slot& slot, std::size_t position, std::vector<BufferId>& reads,
                           std::vector<BufferId>& writes) {
    if (arrive_for(slot))
        buckets_.each(slot.chunk, position, [&](std::uint32_t bucket) { reads.push_back(early_[bucket]); });
    if (visits_.empty()) return;
    if (calls_ > 0 && calls_ < visits_[done_.size() - 1].calls()) {
        ++calls_;
    } else {
        const std::size_t visit = done_.size();
        calls_ = 1;
        if (plan_.offloads_weights()) bring(visit);
        ask_up_to(visit + 1);
        if (copies_out(plan_) == CopiesOut::in_turn) copy_out(visit);
        done_.push_back(builder_.buffer(0, Keep::scratch));
        ask_up_to(ahead(visit));
    }
    const std::size_t visit = done_.size() - 1;
    if (calls_ == visits_[visit].calls()) writes.push_back(done_.back());
    reads.insert(reads.end(), gathered_[visit].begin(), gathered_[visit].end());
    if (layers(visits_[visit])[0].blocks->borrows_words)
        if (const auto words = there_.find({0, 0}); words != there_.end())
            reads.insert(reads.end(), words->second.begin(), words->second.end());
}

}  // namespace orrery::strategies
