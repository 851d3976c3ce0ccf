#include "sim/foldings.hpp"

#include <algorithm>
#include <utility>

namespace orrery::sim {

namespace {

/// A rank's role, class and part of routes take some ten bytes.
constexpr std::size_t most_ranks = 8'000'000;
constexpr std::size_t most_foldings = 256;

}  // namespace

std::shared_ptr<const Folding> Foldings::of(Traffic traffic, const Network& network, bool fold, Binding binding) {
    if (auto known = find(traffic, fold, binding)) return known;
    auto folding = fold_ranks(std::move(traffic), network.cluster(), network, fold, binding);
    if (fold) keep(folding);
    return folding;
}

std::shared_ptr<const Folding> Foldings::find(const Traffic& traffic, bool fold, Binding binding) {
    const std::lock_guard lock(mutex_);
    const auto found = std::ranges::find_if(kept_, [&](const auto& folding) {
        return folding->folded == fold && folding->binding == binding && folding->traffic == traffic;
    });
    if (found == kept_.end()) return nullptr;
    kept_.splice(kept_.begin(), kept_, found);
    return *found;
}

void Foldings::keep(std::shared_ptr<const Folding> folding) {
    const std::lock_guard lock(mutex_);
    ranks_ += folding->class_of.size();
    kept_.push_front(std::move(folding));
    while (kept_.size() > 1 && (ranks_ > most_ranks || kept_.size() > most_foldings)) {
        ranks_ -= kept_.back()->class_of.size();
        kept_.pop_back();
    }
}

}  // namespace orrery::sim
