// From a predicted step to the job that a whole training is.
#pragma once

#include "reliability/training_run.hpp"
#include "scenarios/scenario.hpp"
#include "sim/kinds.hpp"
#include "strategies/step_program.hpp"
#include "topology/cluster.hpp"

namespace orrery::sim {

/// What failures, checkpoints and storage meet: the nodes that run ranks, the bytes of the plan's states, who saves,
/// the rates of NICs and copies. step: of the scenario's plan.
reliability::Job job_of(const scenarios::Scenario& scenario, const topology::Cluster& cluster, const Profiles& profiles,
                        const strategies::StepProgram& step, double step_seconds);

}  // namespace orrery::sim
