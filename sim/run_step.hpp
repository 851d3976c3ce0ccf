// One plan on one cluster: built, folded, replayed.
#pragma once

#include "calibrate/predictor.hpp"
#include "sim/costs.hpp"
#include "sim/folding.hpp"
#include "sim/replay.hpp"
#include "strategies/plan.hpp"
#include "topology/cluster.hpp"

namespace orrery::sim {

/// Everything a step's reports are made from. Not copyable: its parts refer to each other.
struct RanStep {
    RanStep(const strategies::Plan& plan, const topology::Cluster& cluster, const calibrate::Predictor& predictor,
            bool fold);
    /// The same for a plan whose program (strategies::build) is at hand.
    RanStep(strategies::StepProgram built, const strategies::Plan& plan, const topology::Cluster& cluster,
            const calibrate::Predictor& predictor, bool fold);
    RanStep(const RanStep&) = delete;
    RanStep& operator=(const RanStep&) = delete;

    Network network;
    strategies::StepProgram program;  ///< unrolled when tensor groups span nodes, whose collectives contend
    Costs costs;
    Folding folding;
    Replayed replayed;
    std::vector<double> link_bytes;  ///< carried, by engine link
};

}  // namespace orrery::sim
