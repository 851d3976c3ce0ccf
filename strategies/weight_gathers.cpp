#include "strategies/weight_gathers.hpp"

#include <algorithm>
#include <set>

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
    for (const auto& chunk : stage.chunks)
        lends_ =
            lends_ || std::ranges::any_of(chunk, [](const PlacedLayer& each) { return each.blocks->borrows_words; });
    if (shares_weights() || plan.offloads_weights()) find_uses(slots);
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
                Collective{move.kind, move.group, move.size(mesh_, bucket.parameters * moved_weight_bytes(plan_))}, {},
                {early_[b]});
            builder_.state({.operands = {{State::weights, Portion::updated, b}, {State::weights, Portion::kept, b}}});
        }
    }
}

void WeightGathers::find_uses(std::span<const Slot> slots) {
    for (const Slot& slot : slots) {
        if (slot.work != SlotWork::forward && !slot.hands_gradient_on()) continue;  // gradients of weights need none
        const std::size_t layers = stage_.chunks[slot.chunk].size();
        for (std::size_t i = 0; i < layers; ++i)
            uses_.push_back({&slot, slot.work == SlotWork::forward ? i : layers - 1 - i});
    }
    std::set<std::int32_t> met;
    std::uint32_t borrowers = 0;  // micro-batches that went forward and not yet back
    for (Use& use : uses_) {
        use.first = keeps_secondary(plan_) && met.insert(layer_of(use).layer).second;
        if (!lends_ || use.slot->chunk != 0 || use.position != 0) continue;
        use.lent = borrowers > 0;
        use.slot->work == SlotWork::forward ? ++borrowers : --borrowers;
    }
    gathered_.resize(uses_.size());
}

/// The weights for the call number `use`, when the call two before it has ended.
void WeightGathers::gather(std::size_t use) {
    const PlacedLayer& layer = layer_of(uses_[use]);
    if (lends_ && uses_[use].slot->chunk == 0 && uses_[use].position == 0) return lend(use, layer);
    gather(use, layer);
    if (layer.blocks->borrows_words) gathered_[use].insert(gathered_[use].end(), lent_.begin(), lent_.end());
}

/// What logits read as well is gathered for the first forward and stays until the backward that nothing follows.
void WeightGathers::lend(std::size_t use, const PlacedLayer& layer) {
    if (uses_[use].lent) {
        gathered_[use] = lent_;
        return;
    }
    gather(use, layer);
    lent_ = gathered_[use];
}

Label WeightGathers::label_of(const Use& use) const {
    const Phase phase = use.slot->work == SlotWork::forward ? Phase::forward : Phase::backward;
    return intern_.label("gather weights", phase, static_cast<std::int32_t>(use.slot->micro_batch),
                         layer_of(use).layer);
}

/// What is to be on its way when the call number `use` begins.
void WeightGathers::bring(std::size_t use) {
    constexpr std::size_t reads = ArrivingShares::reads_ahead, copies = ArrivingShares::copies_ahead;
    for (std::size_t first = use == 0 ? 0 : reads; first <= reads; ++first) fetch(use + first, true);
    for (std::size_t first = use == 0 ? 0 : copies; first <= copies; ++first) fetch(use + first, false);
}

/// Shares are of dense layers alone (check_weight_offload).
void WeightGathers::fetch(std::size_t use, bool read) {
    if (use >= uses_.size() || uses_[use].lent) return;
    const std::size_t ahead = read ? ArrivingShares::reads_ahead : ArrivingShares::copies_ahead;
    const LayerBlocks& blocks = *layer_of(uses_[use]).blocks;
    const std::uint64_t weights = blocks.parameters + blocks.frozen_parameters;
    if (weights == 0) return;
    const std::uint64_t bytes = share(mesh_, dense_, dense_.weights, weights * moved_weight_bytes(plan_));
    std::vector<BufferId> waits;
    if (use > ahead) waits.push_back(done_[use - ahead - 1]);
    read ? arriving_.read(use, label_of(uses_[use]), bytes, waits)
         : arriving_.copy(use, label_of(uses_[use]), bytes, waits);
}

void WeightGathers::gather(std::size_t use, const PlacedLayer& layer) {
    const Label label = label_of(uses_[use]);
    for (const bool experts : {false, true}) {
        const Ownership& of = experts ? experts_ : dense_;
        const std::uint64_t parameters =
            experts ? layer.blocks->expert_parameters
                    : layer.blocks->parameters + layer.blocks->frozen_parameters - layer.blocks->expert_parameters;
        if (parameters == 0) continue;
        const std::vector<Move> list = moves(mesh_, of.weights, of.used, of.replicas);
        std::vector<BufferId> shares;
        if (plan_.offloads_weights()) shares.push_back(arriving_.take(use));
        if (list.empty()) gathered_[use].insert(gathered_[use].end(), shares.begin(), shares.end());
        for (const Move& move : list) {
            gathered_[use].push_back(gather(use, label, move, parameters, shares));
            takes(layer.layer, experts);
        }
    }
}

BufferId WeightGathers::gather(std::size_t use, const Label& label, const Move& move, std::uint64_t parameters,
                               std::span<const BufferId> shares) {
    const std::uint64_t bytes = move.size(mesh_, parameters * moved_weight_bytes(plan_));
    const BufferId whole = builder_.buffer(bytes, Keep::weight, {.span = Lifetime::Span::use});
    std::vector<BufferId> waits(shares.begin(), shares.end());
    if (use >= 2) waits.push_back(done_[use - 2]);
    AxisSet group = move.group;
    if (const auto kept = secondary_.find(label.layer); kept != secondary_.end()) {
        waits.push_back(kept->second);
        group = secondary_group(plan_);
    }
    if (plan_.strategy.quantized_weights)
        QuantizedGather(plan_, group, builder_, intern_).write(label, parameters, waits, whole);
    else
        builder_.emit(Lane::data, label, What{Collective{move.kind, group, bytes}}, waits, std::span(&whole, 1));
    return whole;
}

void WeightGathers::behind() {
    if (uses_.empty() || !uses_[done_.size() - 1].first) return;
    const Use& use = uses_[done_.size() - 1];
    const PlacedLayer& layer = layer_of(use);
    const std::uint64_t kept = secondary_bytes(
        plan_, (layer.blocks->parameters + layer.blocks->frozen_parameters) * moved_weight_bytes(plan_));
    if (kept == 0) return;
    const auto micro_batch = static_cast<std::int32_t>(use.slot->micro_batch);
    const auto label = [&](std::string_view name) {
        return intern_.label(name, Phase::forward, micro_batch, layer.layer);
    };
    const BufferId copied = builder_.buffer(0, Keep::scratch);
    const std::vector<BufferId>& weights = gathered_[done_.size() - 1];
    builder_.emit(Lane::compute, label("keep secondary partition"), What{intern_.kernel(copying(kept))}, weights,
                  std::span(&copied, 1));
    builder_.state({});
    builder_.emit(Lane::compute, label("secondary partition there"), HostSync{}, {copied}, {});
    secondary_[layer.layer] = copied;
}

/// The operation that was emitted last gathers a layer's weights.
void WeightGathers::takes(std::int32_t layer, bool experts) {
    if (const auto known = details_.find({layer, experts}); known != details_.end())
        return builder_.state(known->second);
    const std::uint32_t which = experts ? StateView::of_experts : StateView::not_of_experts;
    details_[{layer, experts}] = builder_.state({.operands = {{State::weights, Portion::updated, which, layer},
                                                              {State::gathered, Portion::kept, which, layer}}});
}

void WeightGathers::before(const Slot& slot, std::size_t position, std::vector<BufferId>& reads,
                           std::vector<BufferId>& writes) {
    if (arrive_for(slot))
        buckets_.each(slot.chunk, position, [&](std::uint32_t bucket) { reads.push_back(early_[bucket]); });
    if (uses_.empty()) return;
    const std::size_t use = done_.size();
    if (plan_.offloads_weights()) bring(use);
    if (use == 0) gather(0);
    done_.push_back(builder_.buffer(0, Keep::scratch));
    writes.push_back(done_.back());
    if (use + 1 < uses_.size()) {
        const bool stays = uses_[use].first && layer_of(uses_[use + 1]).layer == layer_of(uses_[use]).layer;
        stays ? void(gathered_[use + 1] = gathered_[use]) : gather(use + 1);
    }
    reads.insert(reads.end(), gathered_[use].begin(), gathered_[use].end());
}

}  // namespace orrery::strategies
