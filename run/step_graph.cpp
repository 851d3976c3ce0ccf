#include "run/step_graph.hpp"

#include <new>
#include <set>

#include "run/streams.hpp"

namespace orrery::run {

namespace {

/// Where a graph begins and ends: no lane's stream.
constexpr kernels::Stream origin = 0;

}  // namespace

StepGraph::StepGraph(kernels::Device& device, const std::vector<Item>& items)
    : device_(device), values_(device, sizeof(kernels::StepValues)), next_values_(device, sizeof(kernels::StepValues)) {
    std::set<kernels::Stream> used;
    for (const Item& item : items) used.insert(stream_of(item.lane));
    lanes_.assign(used.begin(), used.end());
    new (next_values_.as<void>()) kernels::StepValues;
}

void StepGraph::set(const kernels::StepValues& values) {
    *next_values_.as<kernels::StepValues>() = values;
    device_.copy(kernels::CopyKind::host_to_device, this->values(), next_values_.as<void>(), sizeof values, origin);
    device_.synchronize();
}

void StepGraph::step(const std::function<void()>& queue) {
    if (!has_run_) {
        has_run_ = true;
        return queue();
    }
    if (graph_ == nullptr) record(queue);
    graph_->launch(origin);
}

/// Lanes begin behind the origin, which ends behind all of them.
void StepGraph::record(const std::function<void()>& queue) {
    graph_ = device_.record(origin, [&] {
        for (const kernels::Stream lane : lanes_) device_.wait(lane, origin);
        queue();
        for (const kernels::Stream lane : lanes_) device_.wait(origin, lane);
    });
}

void StepGraph::hold_lanes(kernels::Device::Mark until) {
    for (const kernels::Stream lane : lanes_) device_.wait_for(lane, until);
}

}  // namespace orrery::run
