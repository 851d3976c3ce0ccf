#include "strategies/optimizer_moments.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>
#include <variant>

#include "strategies/liveness.hpp"
#include "strategies/optimizers.hpp"
#include "strategies/ownership.hpp"
#include "strategies/state_bytes.hpp"

namespace orrery::strategies {

namespace {

/// Elements of the trained parameters of a role's layers, of experts or of the others, from the last layer on.
std::vector<std::uint64_t> elements_of(const StepProgram& step, const Program& program, bool experts) {
    std::vector<std::uint64_t> elements;
    std::set<std::pair<std::int32_t, std::uint32_t>> seen;  // layers
    for (const Op& op : program.ops) {
        const auto* call = std::get_if<Call>(&op.what);
        const std::uint32_t flow = call != nullptr ? step.blocks[call->block].flow : no_flow;
        if (flow == no_flow || !seen.emplace(op.label.layer, flow).second) continue;
        const LayerFlow& layer = step.flows[flow];
        for (std::uint32_t time = 0; time < call->times; ++time)
            for (const Value& value : layer.values) {
                if (value.role != Role::weight) continue;
                const Parameter& parameter = layer.parameters[value.of];
                if (parameter.held && parameter.trained && (parameter.experts > 0) == experts)
                    elements.push_back(value.elements);
            }
    }
    std::ranges::reverse(elements);
    return elements;
}

/// Of parameters that `ranks` ranks share, the elements that the first of them updates: of each its part, or the first
/// part of all of them.
std::vector<std::uint64_t> first_share(std::vector<std::uint64_t> elements, std::uint64_t ranks, bool of_each) {
    if (of_each) {
        for (std::uint64_t& each : elements) each /= ranks;
        return elements;
    }
    std::uint64_t left = std::accumulate(elements.begin(), elements.end(), std::uint64_t{0}) / ranks;
    for (std::uint64_t& each : elements) left -= each = std::min(each, left);
    return elements;
}

}  // namespace

std::vector<std::uint64_t> optimizer_moments(const Plan& plan, const StepProgram& step, std::uint32_t role) {
    const Program& program = step.programs[role];
    std::uint64_t room = 0;  // what the program has for states on the device
    for (const Buffer& buffer : program.buffers)
        if (lasting(buffer) && buffer.keep == Keep::optimizer && buffer.where == Where::device) room += buffer.bytes;
    const std::uint64_t of_parameter = moment_bytes(plan.training);
    const std::uint64_t tensors = row_of(plan.training.optimizer).moments == 4 ? 1 : 2;
    std::vector<std::uint64_t> bytes;
    for (const bool experts : {false, true}) {
        const Ownership of = ownership(plan, class_of_bucket(experts));
        const std::uint64_t ranks = plan.mesh().group_size(of.states.split(of.replicas));
        const bool of_each = plan.strategy.sharding == Sharding::zero3;
        for (const std::uint64_t elements : first_share(elements_of(step, program, experts), ranks, of_each)) {
            const std::uint64_t one = std::min(elements * of_parameter, room) / tensors;
            if (one > 0) bytes.insert(bytes.end(), tensors, one);
            room -= one * tensors;
        }
    }
    return bytes;
}

}  // namespace orrery::strategies
