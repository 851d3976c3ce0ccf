// Which pieces of a layer run again in its backward under selective recomputation, when, and what need not be kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "strategies/modules.hpp"
#include "strategies/partition/tensor.hpp"

namespace orrery::strategies {

/// Pieces [first, last) run again just before the backward of piece `before`. They bring back what the pieces of
/// `brings` had not kept.
struct Rerun {
    std::size_t first = 0, last = 0, before = 0;
    std::vector<std::size_t> brings = {};
};

struct Reruns {
    std::vector<Rerun> list;             ///< as a backward comes to them
    std::vector<std::uint64_t> dropped;  ///< by piece: of saved_bytes, what is not kept
    /// Of these, what gradients of weights need: brought back before that of the input, it stays until they are formed.
    std::vector<std::uint64_t> for_weights;
};

/// How many pieces of a layer run again before nothing is left that its backward needs of it: what a piece takes is
/// there once those before it ran (PyTorch, torch/utils/checkpoint.py, _StopRecomputationError, raised where the last
/// tensor that was saved is saved again: of PyTorch's own operators before they run).
std::size_t pieces_needed(const ShardedLayer& layer);

/// Of these modules, those that the layer has. A module whose pieces stand apart runs again as often. early: of its
/// pieces those alone that leave what its backward needs; those without output, whose output is needed, run to their
/// end.
Reruns reruns(const ShardedLayer& layer, ModuleSet modules, bool early = false);

}  // namespace orrery::strategies
