// A figure that the field teaches, and what Orrery says of it (scenarios/lectures/README.md).
#pragma once

#include <string>
#include <vector>

#include "scenarios/scenario.hpp"
#include "sim/prediction.hpp"

namespace orrery::sim {

/// A scenario, changed as the figure needs it, and what it says.
struct Case {
    scenarios::Scenario scenario;
    Prediction prediction;
};

/// What turns a pipeline of the scenario into data parallelism.
extern const std::vector<std::string> data_alone;

/// "8.59 GB of 17.2": the first stage's memory, and a GPU's.
std::string peak(const Case& of);

/// shown: null where it is the throughput over that of the same scenario changed by `against`.
struct Figure {
    const char *what, *scenario;
    std::vector<std::string> set;
    const char* expected;
    std::string (*shown)(const Case&);
    const char* reason = "";
    bool network = false;
    const std::vector<std::string>* against = &data_alone;
};

/// Of tensor ranks that divide matrices both ways, over those that divide one width.
std::vector<Figure> figures_of_grids();

}  // namespace orrery::sim
