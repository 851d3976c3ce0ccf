#include "sim/traffic.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "strategies/messages.hpp"

namespace orrery::sim {

namespace {

using strategies::AxisSet;
using strategies::Collective;
using strategies::Send;

}  // namespace

Traffic::Traffic(const strategies::StepProgram& step, strategies::RankPlacement place)
    : mesh(step.mesh), placement(std::move(place)), role(step.role) {
    std::vector<std::set<Channel>> sent;
    std::vector<std::set<AxisSet::Bits>> joined;
    std::map<AxisSet::Bits, GroupSet> by_bits;
    for (const strategies::Program& program : step.programs) {
        sent.emplace_back();
        joined.emplace_back();
        for (const strategies::Op& op : program.ops) {
            if (const auto* send = std::get_if<Send>(&op.what))
                sent.back().insert({send->axis, send->delta, strategies::carries_gradients(op.lane)});
            if (const auto* collective = std::get_if<Collective>(&op.what)) {
                const AxisSet axes = collective->group;
                joined.back().insert(axes.bits());
                by_bits.try_emplace(axes.bits(), GroupSet{axes, false}).first->second.contends |=
                    static_cast<double>(collective->bytes) >= contends_from_bytes;
            }
        }
    }
    std::set<Channel> all;
    for (const auto& list : sent) all.insert(list.begin(), list.end());
    channels.assign(all.begin(), all.end());
    for (const auto& [bits, set] : by_bits) sets.push_back(set);
    for (std::size_t r = 0; r < step.programs.size(); ++r) {
        auto& sends = sends_of.emplace_back();
        for (const Channel& channel : sent[r]) sends.push_back(number(channel));
        auto& groups = groups_of.emplace_back();
        for (const AxisSet::Bits bits : joined[r]) groups.push_back(number(by_bits.at(bits).axes));
    }
}

bool Traffic::operator==(const Traffic& other) const {
    return mesh.extent == other.mesh.extent && channels == other.channels && sets == other.sets &&
           sends_of == other.sends_of && groups_of == other.groups_of && role == other.role &&
           placement == other.placement;
}

std::uint32_t Traffic::number(Channel channel) const {
    const auto place = std::lower_bound(channels.begin(), channels.end(), channel);
    return place != channels.end() && *place == channel ? static_cast<std::uint32_t>(place - channels.begin()) : none;
}

std::uint32_t Traffic::number(AxisSet axes) const {
    const auto fewer = [](const GroupSet& set, AxisSet wanted) { return set.axes.bits() < wanted.bits(); };
    const auto place = std::lower_bound(sets.begin(), sets.end(), axes, fewer);
    return place != sets.end() && place->axes == axes ? static_cast<std::uint32_t>(place - sets.begin()) : none;
}

}  // namespace orrery::sim
