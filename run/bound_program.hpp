// A rank's program with every operation bound to a call: what the executor walks.
#pragma once

#include <cstdint>
#include <vector>

#include "run/bind.hpp"
#include "run/stage_model.hpp"

namespace orrery::run {

/// One operation; a call of a block is one item for each operation of the block.
struct Item {
    Action action;  ///< null: nothing but its waits
    strategies::Lane lane = strategies::Lane::compute;
    strategies::Label label;
    std::uint32_t op = 0;              ///< in the program
    std::int32_t inner = -1;           ///< in the block that it calls
    bool host = false;                 ///< the host waits, and not a lane
    std::vector<std::uint32_t> waits;  ///< earlier items of other lanes
};

struct BoundProgram {
    std::vector<Item> items;
    std::vector<std::uint32_t> updates;  ///< of these, those in which a device's optimizer writes new weights
    std::uint64_t peak_bytes = 0;        ///< activations and scratch that were in use at once
    std::uint64_t extent_bytes = 0;      ///< what the arena needs
    std::uint64_t host_peak_bytes = 0, host_extent_bytes = 0;  ///< the same of host memory
};

/// base, host_base: memory of the arenas, of extent_bytes and host_extent_bytes; null to find them. Binding leaves no
/// state behind in the model. Throws Error for an operation that cannot be executed.
BoundProgram bind_program(const strategies::StepProgram& step, kernels::Device& device, const Place& place,
                          StageModel& model, const Groups& groups, const StepNumbers& numbers, std::byte* base,
                          std::byte* host_base);

}  // namespace orrery::run
