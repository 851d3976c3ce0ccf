// Steps of a GPU as one graph (CUDA graphs): the host queues a step once, and from then on one launch a step.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "kernels/step_values.hpp"
#include "run/bound_program.hpp"
#include "run/owned_memory.hpp"

namespace orrery::run {

/// What differs from step to step lies in device memory, where the step's launches read it.
class StepGraph {
public:
    /// items: of the step's lanes. The device must outlive it.
    StepGraph(kernels::Device& device, const std::vector<Item>& items);

    /// Where launches read the numbers of their step.
    [[nodiscard]] kernels::StepValues* values() const { return values_.as<kernels::StepValues>(); }
    /// Those of the next step. No step may be under way.
    void set(const kernels::StepValues& values);
    /// One step. queue: queues all of its items; it is called for the first step, which runs as it is queued, since
    /// what launches allocate must be there before they are recorded; for the second, which is recorded; and not again.
    void step(const std::function<void()>& queue);
    /// Instead of a wait of the host, which is not there when the graph runs: what lanes are given from now on begins
    /// behind the moment.
    void hold_lanes(kernels::Device::Mark until);
    /// Whether marks belong to the graph: they are then set once, and reached in every step.
    [[nodiscard]] bool recorded() const { return graph_ != nullptr; }

private:
    void record(const std::function<void()>& queue);

    kernels::Device& device_;
    std::vector<kernels::Stream> lanes_;  ///< those with items
    DeviceMemory values_;
    HostMemory next_values_;
    bool has_run_ = false;
    std::unique_ptr<kernels::Graph> graph_;
};

}  // namespace orrery::run
