// What a row measured of a GPU's memory.
#pragma once

#include <optional>

#include "scenarios/scenario.hpp"
#include "sim/step.hpp"
#include "validate/row.hpp"
#include "validate/software.hpp"

namespace orrery::validate {

/// Bytes on one GPU, and what stands for them.
struct MeasuredMemory {
    /// Which GPU, and what the tool counts.
    enum class Tool : std::uint8_t {
        last_stage,  ///< PyTorch's allocator on the rank that Megatron-LM logs from: tensors and workspaces
        fullest,     ///< the same, of the fullest
        reserved,    ///< what it has reserved of the device, of the fullest
        device,      ///< nvidia-smi on the first node, from which runs are watched: all that a GPU holds
    };
    double bytes = 0;
    Tool tool = Tool::fullest;
};

/// nullopt when the row says nothing of its peak memory. Throws Skip for a value that is no amount of bytes.
std::optional<MeasuredMemory> measured_memory(const Row& row);

/// Throws Skip where the row's software keeps more than the plan that stands for it.
void check_memory(const Row& row);

/// Whether it counts what the allocator reserves for its tensors, which has to be replayed for it.
constexpr bool counts_reserved(MeasuredMemory::Tool tool) {
    return tool == MeasuredMemory::Tool::reserved || tool == MeasuredMemory::Tool::device;
}

/// The predicted peak that a measurement is held against, in bytes; the scenario is that of the prediction. Throws Skip
/// when there is none.
double predicted_memory(const MeasuredMemory& measured, const sim::MemoryUse& predicted,
                        const scenarios::Scenario& scenario, Software software);

}  // namespace orrery::validate
