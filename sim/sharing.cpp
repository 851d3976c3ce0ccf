#include "sim/sharing.hpp"

#include <algorithm>

#include "topology/link_name.hpp"

namespace orrery::sim {

namespace {

constexpr std::size_t most_links = 8;  // that are listed

/// Less is rounding of what engines say a link has carried.
constexpr double least_part = 1e-9;

std::vector<SharedLink> busiest(const topology::Cluster& cluster, const RanStep& ran) {
    std::vector<SharedLink> links;
    const Folding& folding = *ran.folding;
    for (std::size_t i = 0; i < ran.replayed.own_bytes.size(); ++i) {
        const double own = ran.replayed.own_bytes[i], others = ran.link_bytes[i] - own;
        if (own <= 0 || others <= least_part * own) continue;
        links.push_back({topology::link_name(cluster, folding.link_example[i]), folding.link_members[i],
                         folding.capacities[i], own, others,
                         ran.link_bytes[i] / (folding.capacities[i] * ran.replayed.end)});
    }
    std::ranges::stable_sort(links, std::greater<>(), &SharedLink::busy);
    links.resize(std::min(links.size(), most_links));
    return links;
}

}  // namespace

Sharing sharing(const scenarios::Scenario& scenario, const topology::Cluster& cluster, const Profiles& profiles,
                const RanStep& ran, EngineKind engine, double planned_step_time_s) {
    Sharing shared{.jobs = {}, .shared_links = busiest(cluster, ran)};
    if (scenario.other_jobs.empty()) return shared;
    shared.jobs.push_back({scenario.name, scenario.gpus, 0, planned_step_time_s, ran.seconds()});
    for (std::size_t i = 0; i < ran.others.size(); ++i) {
        const scenarios::OtherJob& job = scenario.other_jobs[i];
        const RanStep alone(job.plan, cluster, profiles, {.engine = engine});
        shared.jobs.push_back({job.name, job.plan.ranks(), job.starts_at, alone.replayed.end,
                               ran.others[i].replayed.end - job.starts_at});
    }
    return shared;
}

}  // namespace orrery::sim
