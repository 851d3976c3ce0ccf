#include "report/lone_rank.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "base/error.hpp"
#include "base/table.hpp"
#include "base/units.hpp"
#include "strategies/build.hpp"

namespace orrery::report {

namespace {

using strategies::StepProgram;

const strategies::Program& program_of(const StepProgram& step, const run::MeasuredRun& measured,
                                      const std::vector<double>& kernel_seconds) {
    const std::uint32_t rank = measured.alone && measured.ranks.size() == 1 ? measured.ranks.front().rank : 0;
    const strategies::Program& program = step.programs[step.role.at(std::min<std::size_t>(rank, step.role.size() - 1))];
    if (!measured.alone || rank >= step.role.size() || measured.ranks.front().ops.size() != program.ops.size() ||
        kernel_seconds.size() != step.kernels.size())
        throw Error("the run is of another plan", "orrery and orrery-device must be of the same build");
    return program;
}

}  // namespace

LoneRank lone_rank(const scenarios::Scenario& scenario, const run::MeasuredRun& measured,
                   const std::vector<double>& kernel_seconds, Clock clock) {
    const StepProgram called = strategies::build(scenario.plan), step = strategies::unrolled(called);
    const strategies::Program& program = program_of(step, measured, kernel_seconds);
    const run::MeasuredRank& ran = measured.ranks.front();
    LoneRank out;
    out.rank = ran.rank;
    out.stage = step.mesh.coordinate(out.rank, strategies::Axis::pipeline);
    out.held = ran.memory.total();
    out.peak = strategies::memory(called, called.role[out.rank]).peak;
    std::map<std::tuple<std::uint32_t, strategies::Phase, std::uint32_t>, KernelGroup> groups;
    for (std::size_t i = 0; i < program.ops.size(); ++i) {
        const strategies::Op& op = program.ops[i];
        const auto* compute = std::get_if<strategies::Compute>(&op.what);
        if (compute == nullptr) continue;
        const run::OpTimes& times = ran.ops[i];
        const double seconds = clock == Clock::wall ? times.seconds : std::max(0.0, times.device - ran.empty);
        KernelGroup& group = groups[{op.label.name, op.label.phase, compute->kernel}];
        group.name = fmt::format("{} ({})", step.names[op.label.name], name(op.label.phase));
        group.kernel = kernels::to_text(step.kernels[compute->kernel]);
        ++group.count;
        group.measured += seconds;
        group.predicted += kernel_seconds[compute->kernel];
    }
    for (auto& [key, group] : groups) {
        out.measured += group.measured;
        out.predicted += group.predicted;
        out.groups.push_back(std::move(group));
    }
    std::ranges::stable_sort(out.groups, std::ranges::greater{}, &KernelGroup::measured);
    return out;
}

std::string to_text(const LoneRank& rank, const scenarios::Scenario& scenario, const run::MeasuredRun& measured,
                    Style style, std::size_t rows) {
    const run::MeasuredRank& ran = measured.ranks.front();
    std::string text =
        paint(style, Ink::bold,
              fmt::format("{}: rank {} of {} alone (stage {}), communication left out", scenario.name, rank.rank,
                          scenario.plan.ranks(), rank.stage)) +
        fmt::format("\n{} of {} measured on {}\n\n", measured.steps.size() - measured.warmup,
                    measured.steps.size() == 1 ? "1 step" : fmt::format("{} steps", measured.steps.size()), ran.device);
    Table table({{"operation", Table::Align::left},
                 {"kernel", Table::Align::left},
                 {"count"},
                 {"measured"},
                 {"predicted"},
                 {"error"}});
    for (std::size_t i = 0; i < std::min(rows, rank.groups.size()); ++i) {
        const KernelGroup& group = rank.groups[i];
        table.row({group.name, group.kernel, fmt::format("{}", group.count), format_seconds(group.measured),
                   format_seconds(group.predicted), format_relative(group.error())});
    }
    if (rank.groups.size() > rows) {
        KernelGroup rest;
        for (std::size_t i = rows; i < rank.groups.size(); ++i) {
            rest.count += rank.groups[i].count;
            rest.measured += rank.groups[i].measured;
            rest.predicted += rank.groups[i].predicted;
        }
        table.row({fmt::format("{} others", rank.groups.size() - rows), "", fmt::format("{}", rest.count),
                   format_seconds(rest.measured), format_seconds(rest.predicted), format_relative(rest.error())});
    }
    table.row({"all kernels", "", "", format_seconds(rank.measured), format_seconds(rank.predicted),
               format_relative(rank.error())});
    text += table.to_text();
    text += fmt::format("\nSTEP      {} +- {} from the first kernel to the last, with nothing to wait for\n",
                        format_seconds(measured.step_seconds()), format_seconds(measured.step_spread()));
    text += fmt::format("MEMORY    {} held, {} predicted ({})\n", format_bytes(static_cast<double>(rank.held)),
                        format_bytes(static_cast<double>(rank.peak)),
                        format_relative(static_cast<double>(rank.peak) / static_cast<double>(rank.held) - 1));
    return text;
}

nlohmann::ordered_json to_json(const LoneRank& rank, const run::MeasuredRun& measured) {
    using Json = nlohmann::ordered_json;
    Json groups = Json::array();
    for (const KernelGroup& group : rank.groups)
        groups.push_back({{"name", group.name},
                          {"kernel", group.kernel},
                          {"count", group.count},
                          {"measured_s", group.measured},
                          {"predicted_s", group.predicted}});
    return {{"only_rank", rank.rank},
            {"stage", rank.stage},
            {"measured_s", rank.measured},
            {"predicted_s", rank.predicted},
            {"step_time_s", measured.step_seconds()},
            {"memory_bytes", {{"measured", rank.held}, {"predicted", rank.peak}}},
            {"kernels", groups},
            {"measured", measured_facts(measured)}};
}

}  // namespace orrery::report
