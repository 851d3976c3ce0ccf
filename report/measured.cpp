#include "report/measured.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/units.hpp"
#include "calibrate/peak.hpp"
#include "report/meetings.hpp"
#include "sim/breakdown.hpp"
#include "sim/rates.hpp"
#include "sim/version.hpp"
#include "strategies/build.hpp"
#include "topology/catalog.hpp"

namespace orrery::report {

namespace {

using strategies::Keep;
using strategies::StepProgram;

/// Medians of the wall clock.
std::vector<std::vector<sim::Span>> wall_spans(const StepProgram& step, const run::MeasuredRun& measured) {
    Seconds begins;
    for (const run::MeasuredRank& rank : measured.ranks) {
        auto& own = begins.emplace_back();
        for (const run::OpTimes& op : rank.ops) own.push_back(op.begin);
    }
    begin_together(meetings(step), begins);
    std::vector<std::vector<sim::Span>> spans;
    for (const run::MeasuredRank& rank : measured.ranks) {
        auto& own = spans.emplace_back();
        for (std::size_t i = 0; i < rank.ops.size(); ++i)
            own.push_back({std::min(begins[rank.rank][i], rank.ops[i].end), rank.ops[i].end});
    }
    return spans;
}

bool is_transfer(const strategies::Op& op) {
    return std::holds_alternative<strategies::Collective>(op.what) ||
           std::holds_alternative<strategies::Send>(op.what) || std::holds_alternative<strategies::Recv>(op.what);
}

/// Device time, less what an operation without work shows, along the program's longest path. What is sent to other
/// hosts takes its wall-clock time: who waits for a network takes no time of the processor.
std::vector<std::vector<sim::Span>> undisturbed_spans(const StepProgram& step, const run::MeasuredRun& measured) {
    const bool network = measured.nodes > 1;
    const auto walls = network ? wall_spans(step, measured) : std::vector<std::vector<sim::Span>>{};
    Seconds durations;
    for (const run::MeasuredRank& rank : measured.ranks) {
        auto& own = durations.emplace_back();
        const auto& ops = step.programs[step.role[rank.rank]].ops;
        for (std::size_t i = 0; i < rank.ops.size(); ++i)
            own.push_back(network && is_transfer(ops[i]) ? walls[rank.rank][i].end - walls[rank.rank][i].begin
                                                         : std::max(0.0, rank.ops[i].device - rank.empty));
    }
    return earliest(step, durations);
}

double end_of(const std::vector<std::vector<sim::Span>>& spans) {
    double end = 0;
    for (const auto& rank : spans)
        for (const sim::Span& span : rank) end = std::max(end, span.end);
    return end;
}

void require_same_program(const StepProgram& step, const run::MeasuredRun& measured) {
    bool same = measured.ranks.size() == step.role.size();
    for (std::size_t r = 0; same && r < measured.ranks.size(); ++r)
        same = measured.ranks[r].ops.size() == step.programs[step.role[r]].ops.size();
    if (!same) throw Error("the run is of another plan", "orrery and orrery-device must be of the same build");
}

strategies::StageMemory memory_of(const run::RankMemory& held) {
    strategies::StageMemory memory;
    memory.at_peak[static_cast<std::size_t>(Keep::weight)] = held.weights;
    memory.at_peak[static_cast<std::size_t>(Keep::gradient)] = held.gradients;
    memory.at_peak[static_cast<std::size_t>(Keep::optimizer)] = held.optimizer;
    memory.at_peak[static_cast<std::size_t>(Keep::activation)] = held.activations;
    memory.peak = held.total();
    memory.host = held.host;
    return memory;
}

/// By stage, of its rank that ends last; memory of the one that holds most.
void stages(sim::Prediction& p) {
    const std::uint32_t count = p.program.mesh.along(strategies::Axis::pipeline);
    for (std::uint32_t stage = 0; stage < count; ++stage) {
        const sim::RankClass* slowest = nullptr;
        double latest = -1;
        for (const sim::RankClass& rank : p.trace) {
            if (p.program.mesh.coordinate(rank.representative, strategies::Axis::pipeline) != stage) continue;
            const double end = end_of({rank.spans});
            if (end > latest) {
                latest = end;
                slowest = &rank;
            }
        }
        p.stages.push_back(sim::breakdown(p.program, *slowest, p.step_time_s));
    }
}

void memories(const run::MeasuredRun& measured, sim::Prediction& p) {
    p.memory.resize(p.stages.size());
    for (const run::MeasuredRank& rank : measured.ranks) {
        auto& memory = p.memory[p.program.mesh.coordinate(rank.rank, strategies::Axis::pipeline)];
        if (rank.memory.total() >= memory.peak) memory = memory_of(rank.memory);
    }
}

}  // namespace

sim::Prediction measured_step(const scenarios::Scenario& scenario, const run::MeasuredRun& measured, Clock clock) {
    sim::Prediction p;
    p.program = strategies::unrolled(strategies::build(scenario.plan));
    require_same_program(p.program, measured);
    p.gpus = scenario.plan.ranks();
    auto spans = clock == Clock::wall ? wall_spans(p.program, measured) : undisturbed_spans(p.program, measured);
    p.step_time_s = clock == Clock::wall ? measured.step_seconds() : end_of(spans);
    for (const run::MeasuredRank& rank : measured.ranks) {
        sim::RankClass& own = p.trace.emplace_back();
        own.representative = rank.rank;
        own.role = p.program.role[rank.rank];
        own.spans = std::move(spans[rank.rank]);
        p.ops += rank.ops.size();
    }
    const topology::Cluster cluster = topology::build(scenario.cluster);
    sim::fill_rates(scenario, calibrate::peak_flops(cluster.gpu(), scenario.plan.training.precision.compute), p.program,
                    p);
    stages(p);
    memories(measured, p);
    p.memory_capacity = cluster.gpu().memory_bytes;
    p.version = sim::version();
    p.profile = clock == Clock::wall ? "measured" : "measured, undisturbed";
    p.cluster = fmt::format("{} rank{} on {} host{}: {}", measured.ranks.size(), measured.ranks.size() == 1 ? "" : "s",
                            measured.nodes, measured.nodes == 1 ? "" : "s", measured.ranks.front().device);
    p.seed = scenario.seed;
    p.classes = static_cast<std::uint32_t>(p.trace.size());
    return p;
}

nlohmann::ordered_json measured_facts(const run::MeasuredRun& measured) {
    using Json = nlohmann::ordered_json;
    Json steps = Json::array(), ranks = Json::array();
    for (const run::MeasuredStep& step : measured.steps)
        steps.push_back({{"seconds", step.seconds}, {"loss", step.loss ? Json(*step.loss) : Json(nullptr)}});
    for (const run::MeasuredRank& rank : measured.ranks) {
        Json device = Json::array(), spread = Json::array();
        for (const run::OpTimes& op : rank.ops) {
            device.push_back(op.device);
            spread.push_back(op.spread);
        }
        ranks.push_back({{"rank", rank.rank},
                         {"host", rank.host},
                         {"device", rank.device},
                         {"software", rank.software},
                         {"memory_bytes", rank.memory.total()},
                         {"clock_offset_s", rank.clock_offset},
                         {"clock_uncertainty_s", rank.clock_uncertainty},
                         {"overhead_s", rank.overhead},
                         {"device_s", device},
                         {"spread_s", spread}});
    }
    return {{"steps", steps},
            {"warmup", measured.warmup},
            {"step_spread_s", measured.step_spread()},
            {"communication", measured.communication},
            {"nodes", measured.nodes},
            {"ranks", ranks}};
}

std::string measured_lines(const scenarios::Scenario& scenario, const run::MeasuredRun& measured) {
    std::string text;
    if (measured.steps.front().loss) {
        text += "LOSS     ";
        for (const run::MeasuredStep& step : measured.steps) text += fmt::format(" {:.4f}", step.loss.value_or(0));
        text += '\n';
    }
    text += fmt::format("STEPS     {} measured after {} of warm-up: median {} +- {} (half the quartiles' range)\n",
                        measured.steps.size() - measured.warmup, measured.warmup,
                        format_seconds(measured.step_seconds()), format_seconds(measured.step_spread()));
    const double undisturbed =
        end_of(undisturbed_spans(strategies::unrolled(strategies::build(scenario.plan)), measured));
    text += fmt::format(
        "ALONE     {} if no other process took the cores: the device time of every operation along "
        "the program's longest path{}\n",
        format_seconds(undisturbed), measured.nodes > 1 ? ", the network's by the wall clock" : "");
    double overhead = 0, uncertainty = 0;
    std::uint64_t held = 0, predicted = 0;
    for (const run::MeasuredRank& rank : measured.ranks) {
        overhead = std::max(overhead, rank.overhead);
        uncertainty = std::max(uncertainty, rank.clock_uncertainty);
        held = std::max(held, rank.memory.total());
    }
    const strategies::StepProgram program = strategies::build(scenario.plan);
    for (std::uint32_t role = 0; role < program.programs.size(); ++role)
        predicted = std::max(predicted, strategies::memory(program, role).peak);
    text += fmt::format("MEMORY    at most {} held by a rank, {} predicted ({:+.1f}%)\n",
                        format_bytes(static_cast<double>(held)), format_bytes(static_cast<double>(predicted)),
                        100 * (static_cast<double>(predicted) / static_cast<double>(held) - 1));
    text += fmt::format("TIMING    taking the times took {} a step ({:.2f}%)", format_seconds(overhead),
                        100 * overhead / measured.step_seconds());
    if (measured.ranks.size() > 1)
        text += fmt::format("; clocks of ranks known to {}; {}", format_seconds(uncertainty), measured.communication);
    return text + '\n';
}

}  // namespace orrery::report
