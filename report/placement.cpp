#include "report/placement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/table.hpp"
#include "base/text.hpp"
#include "base/units.hpp"

namespace orrery::report {

namespace {

using sim::PlacedStep;
using strategies::Axis;

/// Less is not worth moving ranks for.
constexpr double worth_saying = 0.001;

const PlacedStep& current(const std::vector<PlacedStep>& steps) {
    return *std::find_if(steps.begin(), steps.end(), [](const PlacedStep& step) { return step.current; });
}

bool worth(const std::vector<PlacedStep>& steps) {
    return steps.front().step_time_s < current(steps).step_time_s * (1 - worth_saying);
}

double change(const PlacedStep& step, const PlacedStep& now) { return step.step_time_s / now.step_time_s - 1; }

/// Axes of several ranks.
std::vector<Axis> axes_of(const strategies::Mesh& mesh) {
    std::vector<Axis> list;
    for (std::size_t axis = 0; axis < strategies::axes; ++axis)
        if (mesh.extent[axis] > 1) list.push_back(static_cast<Axis>(axis));
    return list;
}

std::string conclusion(const scenarios::Scenario& scenario, const std::vector<PlacedStep>& steps, Style style) {
    const PlacedStep &best = steps.front(), &now = current(steps);
    if (!worth(steps))
        return fmt::format("no placement here saves {:g}% or more: {} stays\n", 100 * worth_saying, now.placement);
    const bool file = !scenario.plan.strategy.placement_file.empty();
    return fmt::format("{} saves {} a step ({:.2f}%): --set strategy.placement={}{}\n",
                       paint(style, Ink::good, best.placement), format_seconds(now.step_time_s - best.step_time_s),
                       -100 * change(best, now), best.placement, file ? " --set strategy.placement_file=null" : "");
}

}  // namespace

std::string placement_text(const scenarios::Scenario& scenario, const sim::PlacementComparison& comparison,
                           Style style) {
    const auto& [steps, too_large] = comparison;
    const strategies::Mesh mesh = scenario.plan.mesh();
    const std::vector<Axis> axes = axes_of(mesh);
    std::vector<Table::Column> columns{{"placement", Table::Align::left}, {"step"}, {"against now"}};
    for (const Axis axis : axes) columns.push_back({fmt::format("nodes of a {} group", to_text(axis))});
    Table table(std::move(columns));
    for (const PlacedStep& step : steps) {
        std::vector<std::string> cells{
            step.placement, format_seconds(step.step_time_s),
            step.current ? "now" : fmt::format("{:+.2f}%", 100 * change(step, current(steps)))};
        for (const Axis axis : axes)
            cells.push_back(fmt::format("{} of {}", step.nodes[static_cast<std::size_t>(axis)], mesh.along(axis)));
        table.row(std::move(cells));
    }
    const std::string left_out =
        too_large.empty()
            ? ""
            : fmt::format("not simulated, tensor groups over nodes in so large a step: {}\n", join(too_large));
    return fmt::format("{}: {} GPUs, fastest placement first\n\n{}{}\n{}", paint(style, Ink::bold, scenario.name),
                       scenario.gpus, table.to_text(), left_out, conclusion(scenario, steps, style));
}

std::string placement_json(const scenarios::Scenario& scenario, const sim::PlacementComparison& comparison) {
    const auto& [steps, too_large] = comparison;
    using Json = nlohmann::ordered_json;
    Json list = Json::array();
    for (const PlacedStep& step : steps) {
        Json nodes = Json::object();
        for (const Axis axis : axes_of(scenario.plan.mesh()))
            nodes[to_text(axis)] = step.nodes[static_cast<std::size_t>(axis)];
        list.push_back({{"placement", step.placement},
                        {"step_time_s", step.step_time_s},
                        {"change", change(step, current(steps))},
                        {"current", step.current},
                        {"nodes", std::move(nodes)}});
    }
    const Json document = {{"scenario", scenario.name},
                           {"gpus", scenario.gpus},
                           {"recommended", worth(steps) ? steps.front().placement : current(steps).placement},
                           {"placements", std::move(list)},
                           {"not_simulated", too_large}};
    return document.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace orrery::report
