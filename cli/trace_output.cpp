#include "cli/trace_output.hpp"

#include "report/chrome_trace.hpp"

namespace orrery::cli {

void write_trace(Output& trace, const std::string& file, const scenarios::Scenario& scenario, const sim::Step& step,
                 bool quiet, const std::vector<std::uint32_t>& ranks) {
    if (!trace.wanted()) return;
    const std::string left_out =
        report::chrome_trace(scenario, step, [&](std::string_view text) { trace.write(text); }, {.ranks = ranks});
    if (!left_out.empty() && !quiet) note(file, "left out: " + left_out);
}

}  // namespace orrery::cli
