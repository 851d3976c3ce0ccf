// The order in which one pipeline stage works through micro-batches.
#pragma once

#include <cstdint>
#include <vector>

#include "strategies/plan.hpp"

namespace orrery::strategies {

/// One micro-batch's forward or backward through one model chunk of the stage.
struct Slot {
    bool forward = true;
    std::uint32_t chunk = 0;
    std::uint32_t micro_batch = 0;
    bool exchange = true;  ///< boundary tensors are sent and received after this slot, together with those of the
                           ///< slots before it since the last exchange
};

/// stage in [0, pipeline), micro_batches >= 1. Every (chunk, micro-batch) appears once forward and once backward.
std::vector<Slot> schedule(const Strategy& strategy, std::uint32_t stage, std::uint32_t micro_batches);

/// GPipe (Huang et al. 2019): all forwards, then all backwards in reverse order.
std::vector<Slot> gpipe(std::uint32_t micro_batches);
/// One forward, one backward (PipeDream-Flush; SC'21, figure 4 top).
std::vector<Slot> one_f_one_b(std::uint32_t pipeline, std::uint32_t stage, std::uint32_t micro_batches);
/// Interleaved 1F1B (SC'21, figure 4 bottom): `chunks` model chunks a stage; micro_batches a multiple of pipeline.
std::vector<Slot> interleaved(std::uint32_t pipeline, std::uint32_t chunks, std::uint32_t stage,
                              std::uint32_t micro_batches);

}  // namespace orrery::strategies
