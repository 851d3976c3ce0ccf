// One sharded layer as blocks, forward and backward (or its two gradients apart), under a mode of recomputation.
#pragma once

#include <vector>

#include "strategies/intern.hpp"
#include "strategies/narrow_weights.hpp"
#include "strategies/parameter_shape.hpp"
#include "strategies/partition/tensor.hpp"
#include "strategies/schedule/slot.hpp"

namespace orrery::strategies {

/// A kernel on one of a layer's weights, and what it takes of them; the layer is not said yet.
struct CastOfWeight {
    Compute what;
    StateDetail takes{};
};

struct LayerBlocks {
    static constexpr std::uint32_t none = 0xffffffff;

    /// Indices into StepProgram::blocks. none: the layer has no such work (no weights, or an embedding that is frozen),
    /// or has its backward in two parts only, or in one.
    std::uint32_t forward = none, backward = none, input_gradient = none, weight_gradient = none;
    /// Where the host waits inside the layer (Piece::host_waits), its forward and a backward that runs it again are two
    /// blocks each, the first up to that wait. none: there is no wait.
    std::uint32_t forward_to_wait = none, backward_to_wait = none;
    std::uint64_t saved_bytes = 0;  ///< kept per micro-batch between forward and backward
    /// In two parts: of saved_bytes, what the weight gradient needs, and what the input gradient adds to it: gradients
    /// of outputs, and inputs that ran again.
    std::uint64_t weight_saved_bytes = 0, left_for_weights = 0;
    std::uint64_t stays_bytes = 0;         ///< of saved_bytes, what stays where a layer is offloaded
    ParameterCounts counts{};              ///< this rank's
    std::uint32_t tensors = 0;             ///< of this rank's trained parameters, those of experts not among them
    std::uint32_t expert_tensors = 0;      ///< the same of one expert
    std::vector<ParameterShape> shapes{};  ///< of this rank's parameters (add_model_blocks)
    std::vector<NarrowWeight> narrow{};    ///< of this rank's weights (add_model_blocks)
    std::vector<CastOfWeight> casts{};     ///< of these, before the first forward (weight_casts.hpp)
    bool borrows_words = false;  ///< reads the word embedding of the rank's first layer, and forms its gradient

    [[nodiscard]] bool has_backward() const {
        return backward != none || input_gradient != none || weight_gradient != none;
    }
    /// Parameters of its weights of narrow products.
    [[nodiscard]] std::uint64_t narrow_of(bool experts, bool trained) const {
        std::uint64_t sum = 0;
        for (const NarrowWeight& weight : narrow)
            if (weight.experts == experts && weight.trained == trained) sum += weight.elements();
        return sum;
    }
};

/// Appends the blocks to the step. again: of nothing, everything that backward needs is kept; of modules, those are run
/// again before the backward that needs them (the attention core: Korthikanti et al. 2022), without another wait of the
/// host; whole, only the layer's input is kept and the whole forward is run again. split: the gradient of the input and
/// those of the weights are blocks of their own; not with the whole. either: both forms.
LayerBlocks add_blocks(StepProgram& step, Intern& intern, const ShardedLayer& layer, Again again,
                       Backwards backwards = Backwards::whole);

}  // namespace orrery::strategies
