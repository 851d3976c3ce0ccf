#include "strategies/weight_casts.hpp"

#include <algorithm>

namespace orrery::strategies {

WeightCasts::WeightCasts(const Plan& plan, const Stage& stage, bool stay, Builder& builder, Intern& intern)
    : builder_(builder), intern_(intern), stay_(stay && keeps_weight_casts(plan)), there_(stage.chunks.size(), false) {
    for (const auto& chunk : stage.chunks)
        any_ =
            any_ || std::ranges::any_of(chunk, [](const PlacedLayer& layer) { return !layer.blocks->casts.empty(); });
}

void WeightCasts::before(const Slot& slot, const PlacedLayer& layer, std::vector<BufferId>& reads) {
    if (!stand_before(slot) || layer.blocks->casts.empty()) return;
    const Label label = intern_.label(name_, Phase::forward, static_cast<std::int32_t>(slot.micro_batch), layer.layer);
    const BufferId there = builder_.buffer(0, Keep::scratch);
    for (const CastOfWeight& cast : layer.blocks->casts) {
        builder_.emit(Lane::compute, label, What{cast.what}, reads, std::span(&there, 1));
        StateDetail takes = cast.takes;
        for (StateView& view : takes.operands) view.layer = layer.layer;
        builder_.state(std::move(takes));
    }
    reads.push_back(there);
}

}  // namespace orrery::strategies
