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
void require_path(const scenarios::Scenario& scenario, double path) {
    const double step = sim::quick(scenario).step_time_s;
    require(step >= path * (1 - rounding), fmt::format("a path of {} s in a step of {} s", path, step));
}

}  // namespace

void more_takes_no_less(const Case& of) {
    const Growth& growth = growths()[of.seed % growths().size()];
    json less = json::parse(of.document);
    growth.first(less);
    json more = less;
    growth.more(more);
    const scenarios::Scenario larger = sim::scenario_of(more);
    const double before = uncontended_seconds(sim::scenario_of(less)), after = uncontended_seconds(larger);
    require(after >= before * (1 - rounding), fmt::format("{}: {} s became {} s", growth.name, before, after));
    require_path(larger, after);
}

void a_straggler_delays(const Case& of) {
    const auto rank = static_cast<std::uint32_t>(of.seed % of.scenario.gpus);
    scenarios::Scenario slow = of.scenario;
    const double planned = uncontended_seconds(of.scenario);
    double before = planned;
    for (const double factor : {1.1, 2.0, 20.0}) {
        slow.perturbations.stragglers = {{rank, rank, factor, {}}};
        const double after = uncontended_seconds(slow);
        require(after >= before * (1 - rounding) && after <= factor * planned * (1 + rounding),
                fmt::format("rank {} x {}: {} s became {} s", rank, factor, before, after));
        require_path(slow, after);
        before = after;
    }
}

}  // namespace orrery::laws
