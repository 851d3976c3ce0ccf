#include "planning/search/site.hpp"

#include <algorithm>
#include <utility>

#include "reliability/bill.hpp"
#include "scenarios/placement.hpp"
#include "sim/predict.hpp"

namespace orrery::planning {

using reliability::Failures;

namespace {

Error perturbed(const std::string& file = "") {
    return {file, "/perturbations", "a plan is looked for as all goes to plan",
            "leave them out: --set perturbations=null"};
}

}  // namespace

Error of_open_plan(const Error& error) {
    return error.pointer().starts_with("/perturbations/") ? perturbed(error.file()) : error;
}

Site::Site(scenarios::Scenario base, std::uint32_t most, calibrate::ProfileStore& store)
    : scenario(std::move(base)),
      cluster(topology::build(scenario.cluster)),
      profiles(sim::profiles_of(scenario, cluster, store)),
      gpus(most > 0 ? std::min(most, cluster.gpus()) : cluster.gpus()) {
    if (!scenario.perturbations.none()) throw perturbed();
    if (!scenario.other_jobs.empty())
        throw Error("", "/other_jobs", "a plan is looked for on a cluster by itself",
                    "leave them out: --set other_jobs=null");
    if (scenario.synchrony)
        throw Error("", "/synchrony", "a plan is looked for whose replicas meet in every step",
                    "leave it out: --set synchrony=null");
    for (const topology::NodeGroup& group : cluster.groups())
        most_memory = std::max(most_memory, group.gpu.memory_bytes);
}

scenarios::Scenario Site::under(const strategies::Strategy& strategy, std::uint32_t micro_batch) const {
    scenarios::Scenario result = scenario;
    result.plan.strategy = strategy;
    result.plan.training.micro_batch = micro_batch;
    result.plan.placement = scenarios::resolve_placement(result.plan, cluster);
    result.gpus = result.plan.ranks();
    return result;
}

double Site::held(std::uint32_t ranks) const {
    const std::uint32_t spare = scenario.whole_run ? scenario.whole_run->failures.spare_nodes : Failures::as_needed;
    const std::uint32_t nodes = (ranks - 1) / cluster.gpus_per_node() + 1;
    return reliability::held_gpus(ranks, nodes, spare, gpus - ranks);
}

}  // namespace orrery::planning
