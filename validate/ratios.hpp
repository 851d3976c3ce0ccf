// Rows that compare two plans: how many times as many samples a second one makes as the other.
#pragma once

#include <functional>
#include <vector>

#include "scenarios/scenario.hpp"
#include "validate/row.hpp"

namespace orrery::validate {

/// The row's plan over its base's.
struct Ratio {
    scenarios::Scenario plan, base;
    double measured = 0;
};

/// Of a row of kind "ratio". Its plan stands under "scenario", in the keys of scenario files: as published, and as
/// "assumed" says. "base" is what it is compared with: another row of the file by its id, both measured in one unit, or
/// what changes in the scenario (a JSON merge patch), where the row measured the ratio itself. Throws Skip, too for
/// what a row says of itself that the step programs do not hold ("unmodelled"). `file`: the rows beside it.
Ratio read_ratio(const Row& row, const std::vector<Row>& file);

/// Samples a second of the plan over those of the base; seconds: of a step.
double throughput_ratio(const Ratio& ratio, const std::function<double(const scenarios::Scenario&)>& seconds);

}  // namespace orrery::validate
