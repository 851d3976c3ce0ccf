#include "sim/fold_like.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "sim/flows.hpp"
#include "sim/link_pressure.hpp"

namespace orrery::sim {

namespace {

constexpr std::uint32_t none = Folding::none;

bool joins(const Traffic& traffic, std::size_t role, std::uint32_t set) {
    return std::ranges::find(traffic.groups_of[role], set) != traffic.groups_of[role].end();
}

/// Numbers of one set in two traffics.
bool alike(const Traffic& one, std::uint32_t first, const Traffic& other, std::uint32_t second) {
    if (one.sets[first].contends != other.sets[second].contends) return false;
    for (std::size_t role = 0; role < one.groups_of.size(); ++role)
        if (joins(one, role, first) != joins(other, role, second)) return false;
    return true;
}

bool of_whole_job(const Traffic& traffic, std::uint32_t set) {
    if (traffic.sets[set].contends || traffic.mesh.group_size(traffic.sets[set].axes) != traffic.mesh.ranks())
        return false;
    for (std::size_t role = 0; role < traffic.groups_of.size(); ++role)
        if (!joins(traffic, role, set)) return false;
    return true;
}

bool same_but_for_groups(const Traffic& one, const Traffic& other) {
    return one.mesh.extent == other.mesh.extent && one.channels == other.channels && one.sends_of == other.sends_of &&
           one.role == other.role && one.placement == other.placement;
}

bool folds_like(const Traffic& known, const Traffic& traffic) {
    if (!same_but_for_groups(known, traffic)) return false;
    for (std::uint32_t set = 0; set < traffic.sets.size(); ++set) {
        const std::uint32_t before = known.number(traffic.sets[set].axes);
        if (before == none ? !of_whole_job(traffic, set) : !alike(known, before, traffic, set)) return false;
    }
    return std::ranges::all_of(
        known.sets, [&](const Traffic::GroupSet& set) { return !set.contends || traffic.number(set.axes) != none; });
}

/// The route of a group of all ranks, as fold_ranks() has it; its links bind nobody else.
GroupRoute whole_job(const Traffic& traffic, std::uint32_t set, std::size_t classes, const Network& network) {
    Traffic alone = traffic;
    alone.channels.clear();
    for (auto& sends : alone.sends_of) sends.clear();
    alone.sets = {traffic.sets[set]};
    for (auto& groups : alone.groups_of) groups = {0};
    GroupRoute route;
    route.classes.resize(classes);
    std::iota(route.classes.begin(), route.classes.end(), 0U);
    route.gpus = traffic.gpus(0, traffic.sets[set].axes);
    const topology::Cluster& cluster = network.cluster();
    HopTable hops(cluster, first_link_that_matters(cluster, network));
    const Flows flows(alone, cluster, network, tensor_columns(traffic.mesh, traffic.placement, cluster), hops);
    if (flows.groups().empty()) return route;  // inside a node
    std::vector<LinkUse> path;
    for (const LinkUse& use : flows.path(flows.groups().front())) path.push_back({hops.link(use.link), use.weight});
    route.alone = network.tightest(path);
    return route;
}

}  // namespace

std::shared_ptr<const Folding> fold_like(const Folding& known, const Traffic& traffic, const Network& network) {
    if (!known.folded || known.binding != Binding::all || !folds_like(known.traffic, traffic)) return nullptr;
    const auto folding = std::make_shared<Folding>(known);
    folding->traffic = traffic;
    folding->groups.clear();
    folding->group_of.assign(known.classes.size() * traffic.sets.size(), none);
    std::vector<std::uint32_t> moved(known.groups.size(), none);
    for (std::uint32_t set = 0; set < traffic.sets.size(); ++set) {
        const std::uint32_t before = known.traffic.number(traffic.sets[set].axes);
        const auto whole = static_cast<std::uint32_t>(folding->groups.size());
        if (before == none) folding->groups.push_back(whole_job(traffic, set, known.classes.size(), network));
        for (std::uint32_t number = 0; number < known.classes.size(); ++number) {
            std::uint32_t& group = folding->group_of[number * traffic.sets.size() + set];
            if (before == none) {
                group = whole;
            } else if (const std::uint32_t old = known.group(number, before); old != none) {
                if (moved[old] == none) {
                    moved[old] = static_cast<std::uint32_t>(folding->groups.size());
                    folding->groups.push_back(known.groups[old]);
                }
                group = moved[old];
            }
        }
    }
    return folding;
}

}  // namespace orrery::sim
