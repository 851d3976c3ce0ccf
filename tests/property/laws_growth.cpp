// Laws of more work.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "tests/property/laws.hpp"
#include "tests/property/more.hpp"
#include "tests/sim/bench.hpp"

namespace orrery::laws {

namespace {

using nlohmann::json;

constexpr double rounding = 1e-9;

/// Where transfers share links a step takes its longest path or more; how much more, no law says.
void require_path(const scenarios::Scenario& scenario, const calibrate::Predictor& predictor, double path) {
    const double step = step_seconds(scenario, predictor);
    require(step >= path * (1 - rounding), fmt::format("a path of {} s in a step of {} s", path, step));
}

}  // namespace

void more_takes_no_less(const Case& of) {
    const Growth& growth = growths()[of.seed % growths().size()];
    json less = json::parse(of.document);
    growth.first(less);
    json more = less;
    growth.more(more);
    const scenarios::Scenario smaller = sim::scenario_of(less), larger = sim::scenario_of(more);
    const calibrate::Predictor& predictor = predictor_of(growth, smaller);
    const double before = uncontended_seconds(smaller, predictor), after = uncontended_seconds(larger, predictor);
    require(after >= before * (1 - rounding), fmt::format("{}: {} s became {} s", growth.name, before, after));
    require_path(larger, predictor, after);
}

void a_straggler_delays(const Case& of) {
    const auto rank = static_cast<std::uint32_t>(of.seed % of.scenario.gpus);
    scenarios::Scenario slow = of.scenario;
    const calibrate::Predictor& predictor = sim::profiles().find(of.scenario.profile);
    const double planned = uncontended_seconds(of.scenario, predictor);
    double before = planned;
    for (const double factor : {1.1, 2.0, 20.0}) {
        slow.perturbations.stragglers = {{rank, rank, factor, {}}};
        const double after = uncontended_seconds(slow, predictor);
        require(after >= before * (1 - rounding) && after <= factor * planned * (1 + rounding),
                fmt::format("rank {} x {}: {} s became {} s", rank, factor, before, after));
        require_path(slow, predictor, after);
        before = after;
    }
}

}  // namespace orrery::laws
