// The HTML report of one predicted step.
#pragma once

#include <string>
#include <vector>

#include "calibrate/predictor.hpp"
#include "scenarios/scenario.hpp"
#include "sim/prediction.hpp"
#include "sim/scale_curve.hpp"
#include "topology/cluster.hpp"

namespace orrery::report {

/// What a step's page shows besides the prediction.
struct StepPage {
    const topology::Cluster* cluster;
    const calibrate::Predictor* predictor;  ///< of the first rank's GPU
    std::vector<sim::ScalePoint> scaling;   ///< the plan itself last
    std::string command;                    ///< that makes this page
};

/// Needs Prediction::program and Prediction::trace. Throws Error where the program was built without the page.
std::string step_page(const scenarios::Scenario& scenario, const sim::Prediction& prediction, const StepPage& more);

}  // namespace orrery::report
