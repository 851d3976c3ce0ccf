#include "sim/placement_advice.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "sim/predict.hpp"
#include "sim/run_step.hpp"
#include "strategies/build.hpp"

namespace orrery::sim {

namespace {

using strategies::Axis;
using strategies::RankPlacement;

constexpr std::uint64_t most_operations = 100'000'000;

std::uint64_t operations(const strategies::StepProgram& step) {
    std::vector<std::uint64_t> of_role;
    for (std::uint32_t role = 0; role < step.programs.size(); ++role)
        of_role.push_back(strategies::unrolled_ops(step, role));
    std::uint64_t sum = 0;
    for (const std::uint16_t role : step.role) sum += of_role[role];
    return sum;
}

struct Candidate {
    std::string name;
    RankPlacement placement;
};

/// The scenario's own is the first.
std::vector<Candidate> candidates(const strategies::Plan& plan, const topology::Cluster& cluster) {
    const strategies::Mesh mesh = plan.mesh();
    const strategies::Nodes nodes{cluster.nodes(), cluster.gpus_per_node()};
    std::vector<Candidate> list;
    const auto add = [&](std::string name, RankPlacement placement) {
        const auto same = [&](const Candidate& other) { return other.placement == placement; };
        if (std::none_of(list.begin(), list.end(), same)) list.push_back({std::move(name), std::move(placement)});
    };
    const std::string& file = plan.strategy.placement_file;
    std::string own = file.empty() ? plan.strategy.placement : file;
    if (own.empty()) own = "linear";
    add(std::move(own), plan.placement);
    for (const strategies::AxisOrder& order : strategies::axis_orders(mesh))
        add(order.empty() ? "linear" : to_text(order), strategies::by_axes(mesh, order));
    add("round_robin", strategies::round_robin(mesh.ranks(), nodes));
    if (mesh.ranks() < cluster.gpus()) add("average", strategies::evenly(mesh.ranks(), nodes));
    return list;
}

/// The most nodes that a group along `axis` is spread over.
std::uint32_t most_nodes(const strategies::Mesh& mesh, Axis axis, const RankPlacement& placement,
                         const Network& network) {
    std::uint32_t most = 1;
    if (mesh.along(axis) == 1) return most;
    for (std::uint32_t rank = 0; rank < mesh.ranks(); ++rank)
        if (mesh.leads(rank, {axis}))
            most = std::max(most, network.spread_of(placement.gpus(mesh.group(rank, {axis}))).nodes);
    return most;
}

}  // namespace

PlacementComparison compare_placements(const scenarios::Scenario& scenario, calibrate::ProfileStore& store) {
    if (!scenario.other_jobs.empty())
        throw Error("", "/other_jobs", "placements are compared for a job by itself", "leave the other jobs out");
    const topology::Cluster cluster = topology::build(scenario.cluster);
    const Profiles profiles = profiles_of(scenario, cluster, store);
    const Perturbed perturbed(scenario.perturbations, scenario.seed, cluster, scenario.plan);
    const strategies::StepProgram program = strategies::build(scenario.plan);
    const bool large = operations(program) > most_operations;
    PlacementComparison comparison;
    auto& [steps, too_large] = comparison;
    for (Candidate& candidate : candidates(scenario.plan, cluster)) {
        strategies::Plan plan = scenario.plan;
        plan.placement = std::move(candidate.placement);
        if (large && !steps.empty() &&
            !strategies::layer_groups_are_local(plan.mesh(), plan.placement, cluster.gpus_per_node())) {
            too_large.push_back(std::move(candidate.name));
            continue;
        }
        const RanStep ran(program, plan, cluster, profiles,
                          {.perturbed = scenario.perturbations.none() ? nullptr : &perturbed});
        PlacedStep step{std::move(candidate.name), ran.seconds(), steps.empty(), {}};
        for (std::size_t axis = 0; axis < strategies::axes; ++axis)
            step.nodes[axis] = most_nodes(plan.mesh(), static_cast<Axis>(axis), plan.placement, ran.network);
        steps.push_back(std::move(step));
    }
    std::stable_sort(steps.begin(), steps.end(),
                     [](const PlacedStep& a, const PlacedStep& b) { return a.step_time_s < b.step_time_s; });
    return comparison;
}

}  // namespace orrery::sim
