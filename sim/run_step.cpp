#include "sim/run_step.hpp"

#include <utility>

#include "strategies/build.hpp"

namespace orrery::sim {

namespace {

/// Blocks are timed once; that is exact as long as their collectives stay inside a node.
strategies::StepProgram timeable(strategies::StepProgram step, const strategies::Plan& plan, const Network& network) {
    if (network.path(step.mesh.group(0, {strategies::Axis::tensor})).empty() &&
        plan.strategy.tensor <= network.gpus_per_node() && network.gpus_per_node() % plan.strategy.tensor == 0)
        return step;
    return strategies::unrolled(step);
}

}  // namespace

RanStep::RanStep(const strategies::Plan& plan, const topology::Cluster& cluster, const calibrate::Predictor& predictor,
                 bool fold)
    : RanStep(strategies::build(plan), plan, cluster, predictor, fold) {}

RanStep::RanStep(strategies::StepProgram built, const strategies::Plan& plan, const topology::Cluster& cluster,
                 const calibrate::Predictor& predictor, bool fold)
    : network(cluster, predictor),
      program(timeable(std::move(built), plan, network)),
      costs(program, plan, cluster.gpu(), predictor, network),
      folding(fold_ranks(program, cluster, network, fold)) {
    const auto engine = make_fluid_engine(folding.capacities);
    replayed = replay(program, costs, network, folding, *engine);
    for (std::uint32_t link = 0; link < folding.capacities.size(); ++link)
        link_bytes.push_back(engine->carried_bytes(link));
}

}  // namespace orrery::sim
