// What a row measured of a GPU's memory.
#pragma once

#include <optional>

#include "sim/step.hpp"
#include "validate/row.hpp"

namespace orrery::validate {

/// Bytes on one GPU, and which one.
struct MeasuredMemory {
    double bytes = 0;
    bool last_stage = false;  ///< the rank that Megatron-LM logs from; else the fullest
};

/// nullopt when the row says nothing of its peak memory. Throws Skip for a value that is no amount of bytes.
std::optional<MeasuredMemory> measured_memory(const Row& row);

/// The predicted peak that a measurement is held against, in bytes. Throws Skip when there is none.
double predicted_memory(const MeasuredMemory& measured, const sim::MemoryUse& predicted);

}  // namespace orrery::validate
