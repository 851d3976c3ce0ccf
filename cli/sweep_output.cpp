#include "cli/sweep_output.hpp"

#include <CLI/CLI.hpp>

#include "report/html/plans_page.hpp"
#include "report/sweep.hpp"

namespace orrery::cli {

void add_top(CLI::App& command, std::size_t& top) {
    command.add_option("--top", top, "print so many of the best points")
        ->check(CLI::Range(std::size_t{1}, std::size_t{planning::most_points}))
        ->capture_default_str();
}

PlanForms sweep_forms(const planning::Points& points, const planning::Sweep& sweep, std::size_t top,
                      const DisplayOptions& display, const std::string& command) {
    return {.csv = [&] { return report::sweep_csv(points, sweep); },
            .json = [&] { return report::sweep_json(points, sweep); },
            .html = [&, command] { return report::sweep_page(points, sweep, command); },
            .text = [&, top] { return report::sweep_text(points, sweep, top, display.style()); }};
}

}  // namespace orrery::cli
