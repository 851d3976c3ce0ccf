// What a step is given beside parameters, and where its losses go: the tables of strategies/dataflow.hpp in device
// memory.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "run/owned_memory.hpp"
#include "run/place.hpp"
#include "strategies/dataflow.hpp"

namespace orrery::run {

class StepData {
public:
    StepData(kernels::Device& device, const Place& place);

    /// Where a table lies for one micro-batch.
    [[nodiscard]] void* at(strategies::Table table, std::int32_t micro_batch) const;

    /// Places the ids and targets of the program's steps: whole sequences of seq + 1 tokens; the device is
    /// synchronised.
    void upload(const std::vector<std::vector<std::int32_t>>& sequences);
    /// The mean loss over this rank's tokens of each step, on the last stage, after they ended.
    [[nodiscard]] std::vector<double> losses() const;

private:
    void make_rotations();
    void make_routes();
    void make_head_tables();
    /// Of all steps.
    [[nodiscard]] std::uint64_t all_tokens() const {
        return place_.tokens() * place_.plan.pipeline_shape().all_micro_batches();
    }

    kernels::Device& device_;
    const Place& place_;
    DeviceMemory ids_, targets_, loss_, rotations_, zeros_, routes_;
    std::map<strategies::Table, DeviceMemory> heads_;  ///< where context ranks exchange or gather them
    /// Elements of the routing tables before each, from Table::copy_expert on.
    std::vector<std::uint64_t> route_begin_;
};

}  // namespace orrery::run
