// What other placements of ranks on GPUs would make of a step.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "calibrate/profile_store.hpp"
#include "scenarios/scenario.hpp"
#include "sim/step.hpp"

namespace orrery::sim {

/// A step under one placement.
struct PlacedStep {
    std::string placement;  ///< as /strategy/placement takes it; a placement_file's path
    double step_time_s = 0;
    bool current = false;                                 ///< the scenario's own
    std::array<std::uint32_t, strategies::axes> nodes{};  ///< the most that a group along each axis is spread over
};

struct PlacementComparison {
    std::vector<PlacedStep> steps;       ///< fastest first; among equals the scenario's own, then the usual order
    std::vector<std::string> too_large;  ///< not simulated
};

/// Simulates the scenario's own placement, every order of its axes, round robin, and, where GPUs are idle, the average
/// layout; those that come to the same map once.
/// Left out is what would cost far more than the answer: placements that spread tensor groups over nodes, so that each
/// kernel is simulated, of steps of more than 100 million operations. Perturbations apply. Throws Error as predict()
/// does.
PlacementComparison compare_placements(const scenarios::Scenario& scenario, calibrate::ProfileStore& profiles);

}  // namespace orrery::sim
