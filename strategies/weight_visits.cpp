#include "strategies/weight_visits.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "strategies/zero_plus_plus.hpp"

namespace orrery::strategies {

namespace {

using Unit = std::pair<std::uint32_t, std::size_t>;  // chunk, position of its first layer

/// Neighbours in the body, which is divided from its first layer on this chunk.
std::vector<std::pair<std::size_t, std::size_t>> units_of(const Plan& plan, const std::vector<PlacedLayer>& chunk) {
    const auto in_body = [&](const PlacedLayer& placed) {
        return placed.layer >= 0 && placed.layer < static_cast<std::int32_t>(plan.model.layers);
    };
    std::vector<std::pair<std::size_t, std::size_t>> units;
    for (std::size_t i = 0; i < chunk.size(); i = units.back().second) {
        std::size_t end = i + 1;
        while (in_body(chunk[i]) && end < chunk.size() && end - i < plan.strategy.full_sharding.unit_layers &&
               in_body(chunk[end]))
            ++end;
        units.emplace_back(i, end);
    }
    return units;
}

/// Whether a forward gives a unit back though its own backward is next, or soon. PyTorch keeps what its root has: with
/// FullyShardedDataParallel what no layer's unit has (torch/distributed/fsdp/_runtime_utils.py, _post_forward_reshard),
/// with fully_shard norm and head, as TorchTitan wraps them (apply_fsdp); DeepSpeed what is used again within
/// stage3_max_reuse_distance.
bool of_root(const Plan& plan, const std::vector<PlacedLayer>& chunk, std::pair<std::size_t, std::size_t> unit) {
    const FsdpImplementation whose = plan.strategy.full_sharding.implementation;
    if (whose == FsdpImplementation::megatron_fsdp || plan.model.decoder_layers > 0 || plan.model.takes_images())
        return false;
    const std::int32_t layer = chunk[unit.first].layer;
    const bool head = layer >= static_cast<std::int32_t>(plan.model.layers) && unit.second == chunk.size();
    return head || (whose == FsdpImplementation::fsdp1 && layer < 0);
}

/// What is there of the units that stay.
class Staying {
public:
    explicit Staying(const Plan& plan)
        : until_step_ends_(!plan.strategy.full_sharding.reshard_after_forward && plan.strategy.pipeline > 1) {}

    /// Whether the unit is there when the visit begins.
    bool pass(const Visit& visit) {
        const Unit unit{visit.slot->chunk, visit.begin};
        const bool there = there_.contains(unit);
        std::uint32_t& open = open_[unit];  // micro-batches that went forward and not yet back
        visit.slot->work == SlotWork::forward ? ++open : --open;
        there_.insert(unit);
        if (open == 0 && !until_step_ends_) there_.erase(unit);
        return there;
    }
    void step_ends() { there_.clear(); }

private:
    bool until_step_ends_;
    std::set<Unit> there_;
    std::map<Unit, std::uint32_t> open_;
};

/// Whether a layer of this stage reads the first one's words.
bool lends_words(const Stage& stage) {
    return std::ranges::any_of(stage.chunks, [](const auto& chunk) {
        return std::ranges::any_of(chunk, [](const PlacedLayer& each) { return each.blocks->borrows_words; });
    });
}

bool has_backward(const std::vector<PlacedLayer>& chunk, std::pair<std::size_t, std::size_t> unit) {
    return std::any_of(chunk.begin() + static_cast<std::ptrdiff_t>(unit.first),
                       chunk.begin() + static_cast<std::ptrdiff_t>(unit.second),
                       [](const PlacedLayer& placed) { return placed.blocks->has_backward(); });
}

}  // namespace

std::vector<Visit> weight_visits(const Plan& plan, const Stage& stage, std::span<const Slot> slots) {
    std::vector<Visit> visits;
    std::set<Unit> met;
    Staying staying(plan);
    const bool all_stay = !plan.strategy.full_sharding.reshard_after_forward, words_stay = lends_words(stage);
    std::vector<std::vector<std::pair<std::size_t, std::size_t>>> units;
    for (const auto& chunk : stage.chunks) units.push_back(units_of(plan, chunk));
    const auto visit = [&](const Slot& slot, std::pair<std::size_t, std::size_t> of) {
        Visit next{&slot, of.first, of.second};
        next.reads = slot.work == SlotWork::forward || has_backward(stage.chunks[slot.chunk], of);
        next.first = keeps_secondary(plan) && met.insert({slot.chunk, of.first}).second;
        if (!visits.empty()) {
            const Visit& before = visits.back();
            next.follows = before.first && before.slot->chunk == slot.chunk && before.begin == next.begin;
        }
        next.stays = all_stay || (words_stay && slot.chunk == 0 && next.begin == 0) ||
                     of_root(plan, stage.chunks[slot.chunk], of);
        if (next.stays) next.there = staying.pass(next);
        visits.push_back(next);
    };
    for (const Slot& slot : slots) {
        if (slot.work == SlotWork::update) staying.step_ends();
        const auto& of_chunk = units[slot.chunk];
        if (slot.work == SlotWork::forward)
            for (const auto& unit : of_chunk) visit(slot, unit);
        else if (slot.hands_gradient_on())  // gradients of weights need no weights
            for (std::size_t i = of_chunk.size(); i-- > 0;) visit(slot, of_chunk[i]);
    }
    return visits;
}

}  // namespace orrery::strategies
