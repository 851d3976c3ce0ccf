#include "run/groups.hpp"

#include <fmt/format.h>

#include <set>

#include "base/error.hpp"
#include "run/streams.hpp"

namespace orrery::run {

namespace {

using strategies::AxisSet;
using strategies::Collective;
using strategies::Lane;

/// In an order that is the same on every rank.
std::map<std::pair<AxisSet::Bits, Lane>, AxisSet> used_groups(const strategies::StepProgram& step) {
    std::map<std::pair<AxisSet::Bits, Lane>, AxisSet> used;
    for (const auto* list : {&step.blocks, &step.programs})
        for (const strategies::Program& program : *list)
            for (const strategies::Op& op : program.ops)
                if (const auto* collective = std::get_if<Collective>(&op.what))
                    used.emplace(std::pair(collective->group.bits(), op.lane), collective->group);
    return used;
}

}  // namespace

Groups::Groups(kernels::Communicator* world, const strategies::StepProgram& step) {
    const std::uint32_t ranks = world == nullptr ? 1 : world->ranks();
    if (ranks != step.mesh.ranks())
        throw Error(fmt::format("{} ranks were started, the plan needs {}", ranks, step.mesh.ranks()),
                    fmt::format("start {} ranks: mpirun -n {}", step.mesh.ranks(), step.mesh.ranks()));
    if (world == nullptr) return;
    for (const auto& [key, axes] : used_groups(step))
        if (step.mesh.group_size(axes) > 1) {
            auto& group = groups_[key] = world->split(step.mesh.group(world->rank(), axes).front());
            group->prepare(stream_of(key.second));
        }
    if (step.mesh.along(strategies::Axis::pipeline) == 1) return;
    for (auto& direction : pipeline_)
        for (auto& link : direction) link = world->split(0);
}

kernels::Communicator& Groups::pipeline(bool forward, std::uint32_t from, std::uint32_t to) const {
    const bool neighbours = from + 1 == to || to + 1 == from;
    return *pipeline_[forward ? 0 : 1][neighbours ? from % 2 : from < to ? 2 : 3];
}

kernels::Communicator* Groups::of(AxisSet axes, Lane lane) const {
    const auto found = groups_.find({axes.bits(), lane});
    return found == groups_.end() ? nullptr : found->second.get();
}

}  // namespace orrery::run
