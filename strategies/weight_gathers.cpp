#include "strategies/weight_gathers.hpp"

#include <algorithm>

namespace orrery::strategies {

namespace {

/// Of a weight as products read it and as it moves.
std::uint32_t weight_bytes(const Plan& plan) { return kernels::size_of(plan.training.precision.compute) == 4 ? 4 : 2; }

}  // namespace

WeightGathers::WeightGathers(const Plan& plan, const Stage& stage, std::span<const Slot> slots,
                             const GradientBuckets& buckets, Builder& builder, Intern& intern)
    : plan_(plan),
      stage_(stage),
      buckets_(buckets),
      builder_(builder),
      intern_(intern),
      mesh_(plan.mesh()),
      dense_(ownership(plan, ParameterClass::dense)),
      experts_(ownership(plan, ParameterClass::expert)) {
    if (shares_weights()) find_uses(slots);
    for (const auto& chunk : stage.chunks)
        lends_ =
            lends_ || std::ranges::any_of(chunk, [](const PlacedLayer& each) { return each.blocks->borrows_words; });
}

void WeightGathers::begin() {
    const auto new_weights = [&](const Ownership& of) { return moves(mesh_, of.states, of.weights, of.replicas); };
    if (!plan_.strategy.overlap_param_gather || new_weights(dense_).empty()) return;
    early_.assign(buckets_.buckets.size(), 0);
    for (auto b = static_cast<std::uint32_t>(buckets_.buckets.size()); b-- > 0;) {
        early_[b] = builder_.buffer(0, Keep::scratch);
        const GradientBucket& bucket = buckets_.buckets[b];
        for (const Move& move : new_weights(bucket.experts ? experts_ : dense_)) {
            builder_.emit(Lane::data, intern_.label("gather weights", Phase::forward),
                          Collective{move.kind, move.group, move.size(mesh_, bucket.parameters * weight_bytes(plan_))},
                          {}, {early_[b]});
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
    gathered_.resize(uses_.size());
}

/// The weights for the call number `use`, when the call two before it has ended.
void WeightGathers::gather(std::size_t use) {
    const auto& [slot, position] = uses_[use];
    const PlacedLayer& layer = stage_.chunks[slot->chunk][position];
    if (lends_ && slot->chunk == 0 && position == 0) return lend(use, layer);
    gather(use, layer);
    if (layer.blocks->borrows_words) gathered_[use].insert(gathered_[use].end(), lent_.begin(), lent_.end());
}

/// What logits read as well is gathered for the first forward and stays until the backward that nothing follows.
void WeightGathers::lend(std::size_t use, const PlacedLayer& layer) {
    if (borrowers_ == 0) {
        gather(use, layer);
        lent_ = gathered_[use];
    } else {
        gathered_[use] = lent_;
    }
    uses_[use].slot->work == SlotWork::forward ? ++borrowers_ : --borrowers_;
}

void WeightGathers::gather(std::size_t use, const PlacedLayer& layer) {
    const Slot& slot = *uses_[use].slot;
    const Phase phase = slot.work == SlotWork::forward ? Phase::forward : Phase::backward;
    const Label label =
        intern_.label("gather weights", phase, static_cast<std::int32_t>(slot.micro_batch), layer.layer);
    for (const bool experts : {false, true}) {
        const Ownership& of = experts ? experts_ : dense_;
        const std::uint64_t parameters =
            experts ? layer.blocks->expert_parameters
                    : layer.blocks->parameters + layer.blocks->frozen_parameters - layer.blocks->expert_parameters;
        if (parameters == 0) continue;
        for (const Move& move : moves(mesh_, of.weights, of.used, of.replicas)) {
            const std::uint64_t bytes = move.size(mesh_, parameters * weight_bytes(plan_));
            const BufferId whole = builder_.buffer(bytes, Keep::weight, {.span = Lifetime::Span::use});
            std::vector<BufferId> waits;
            if (use >= 2) waits.push_back(done_[use - 2]);
            builder_.emit(Lane::data, label, What{Collective{move.kind, move.group, bytes}}, waits,
                          std::span(&whole, 1));
            takes(layer.layer, experts);
            gathered_[use].push_back(whole);
        }
    }
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
    if (!early_.empty() && slot.micro_batch == 0 && slot.work == SlotWork::forward)
        buckets_.each(slot.chunk, position, [&](std::uint32_t bucket) { reads.push_back(early_[bucket]); });
    if (uses_.empty()) return;
    const std::size_t use = done_.size();
    if (use == 0) gather(0);
    done_.push_back(builder_.buffer(0, Keep::scratch));
    writes.push_back(done_.back());
    if (use + 1 < uses_.size()) gather(use + 1);
    reads.insert(reads.end(), gathered_[use].begin(), gathered_[use].end());
}

}  // namespace orrery::strategies
