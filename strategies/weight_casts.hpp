// Casts of weights into what narrow products read, before the layers that use them.
#pragma once

#include <cstdint>
#include <vector>

#include "strategies/intern.hpp"
#include "strategies/schedule/slot.hpp"
#include "strategies/stage.hpp"

namespace orrery::strategies {

/// Transformer Engine casts a layer's weights in its first forward of a step and keeps that (is_first_microbatch); they
/// are cast in each forward where nothing of them is kept, as in other software (torchao, Float8Linear), and where
/// weights are gathered anew. Kernels are LayerBlocks::casts, one behind the other.
class WeightCasts {
public:
    /// stay: weights are there from step to step.
    WeightCasts(const Plan& plan, const Stage& stage, bool stay, Builder& builder, Intern& intern);

    /// Whether calls of the slot have casts before them.
    [[nodiscard]] bool stand_before(const Slot& slot) const { return any_ && !(stay_ && there_[slot.chunk]); }
    /// To be told of each forward's call before it is written; adds to what it reads.
    void before(const Slot& slot, const PlacedLayer& layer, std::vector<BufferId>& reads);
    /// All calls of the slot, a forward, have been written.
    void behind(const Slot& slot) { there_[slot.chunk] = true; }
    /// Weights are new.
    void begin_step() { there_.assign(there_.size(), false); }

private:
    Builder& builder_;
    Intern& intern_;
    bool stay_, any_ = false;
    std::vector<bool> there_;  // by chunk
    Name name_{"cast weights"};
};

}  // namespace orrery::strategies
