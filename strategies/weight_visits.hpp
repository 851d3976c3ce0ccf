// Which layers' weights a stage's calls read one behind the other, and where they are there from before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "strategies/plan.hpp"
#include "strategies/schedule/slot.hpp"
#include "strategies/stage.hpp"

namespace orrery::strategies {

/// Neighbouring calls of one slot that read weights which are gathered together: those of a unit, which is a layer or
/// FullSharding::unit_layers of the body that are neighbours (PyTorch's fully_shard wraps layers of the body; embedding
/// and head are units of their own).
struct Visit {
    const Slot* slot;
    std::size_t begin, end;  ///< positions in the slot's chunk, which a backward goes through from the end
    /// Whether the weights stay until the backward has used them, and whether they are there from an earlier visit.
    /// Where logits read the word embedding too, the first layer's stay always: FSDP's root is not freed behind the
    /// forward (torch/distributed/fsdp/_runtime_utils.py, _post_forward_reshard).
    bool stays = false, there = false;
    bool reads = true;     ///< false: a backward of layers that have none
    bool first = false;    ///< of its unit in a program, where a secondary partition is kept (zero_plus_plus.hpp)
    bool follows = false;  ///< the visit before is its unit's, whose weights are handed on

    [[nodiscard]] std::size_t calls() const { return end - begin; }
};

/// In program order. Weights that stay without a pipeline are given back by a backward that no forward waits behind; in
/// a pipeline by a step's last (torch/distributed/pipelining/stage.py, backward_maybe_with_nosync: FSDP's
/// set_reshard_after_backward is for the last backward alone).
std::vector<Visit> weight_visits(const Plan& plan, const Stage& stage, std::span<const Slot> slots);

}  // namespace orrery::strategies
