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

/// One class for each rank.
std::vector<sim::RankClass> classes(const StepProgram& step, const run::MeasuredRun& measured,
                                    std::vector<std::vector<sim::Span>> spans) {
    std::vector<sim::RankClass> trace;
    for (const run::MeasuredRank& rank : measured.ranks) {
        sim::RankClass& own = trace.emplace_back();
        own.representative = rank.rank;
        own.role = step.role[rank.rank];
        own.spans = std::move(spans[rank.rank]);
    }
    return trace;
}

std::uint32_t stage_of(const StepProgram& step, std::uint32_t rank) {
    return step.mesh.coordinate(rank, strategies::Axis::pipeline);
}

/// By stage, of its rank that ends last.
std::vector<sim::Breakdown> breakdowns(const sim::Recording& recording, double step_time_s) {
    std::vector<sim::Breakdown> stages;
    for (std::uint32_t stage = 0; stage < recording.program.mesh.along(strategies::Axis::pipeline); ++stage) {
        const sim::RankClass* slowest = nullptr;
        double latest = -1;
        for (const sim::RankClass& rank : recording.trace) {
            if (stage_of(recording.program, rank.representative) != stage) continue;
            const double end = end_of({rank.spans});
            if (end > latest) {
                latest = end;
                slowest = &rank;
            }
        }
        stages.push_back(sim::breakdown(recording.program, *slowest, step_time_s));
    }
    return stages;
}

/// By stage, of the rank that holds most.
sim::MemoryUse memory_use(const StepProgram& step, const run::MeasuredRun& measured, std::uint64_t capacity) {
    sim::MemoryUse use;
    use.memory.resize(step.mesh.along(strategies::Axis::pipeline));
    use.memory_capacity = capacity;
    for (const run::MeasuredRank& rank : measured.ranks) {
        auto& memory = use.memory[stage_of(step, rank.rank)];
        if (rank.memory.total() >= memory.peak) memory = memory_of(rank.memory);
    }
    return use;
}

sim::Provenance provenance(const scenarios::Scenario& scenario, const run::MeasuredRun& measured, Clock clock) {
    const std::size_t ranks = measured.ranks.size();
    std::uint64_t ops = 0;
    for (const run::MeasuredRank& rank : measured.ranks) ops += rank.ops.size();
    return {.version = sim::version(),
            .profile = clock == Clock::wall ? "measured" : "measured, undisturbed",
            .cluster = fmt::format("{} rank{} on {} host{}: {}", ranks, ranks == 1 ? "" : "s", measured.nodes,
                                   measured.nodes == 1 ? "" : "s", measured.ranks.front().device),
            .seed = scenario.seed,
            .gpus = scenario.plan.ranks(),
            .ops = ops,
            .classes = static_cast<std::uint32_t>(ranks)};
}

}  // namespace

MeasuredStep measured_step(const scenarios::Scenario& scenario, const run::MeasuredRun& measured, Clock clock) {
    StepProgram step = strategies::unrolled(strategies::build(scenario.plan));
    require_same_program(step, measured);
    auto spans = clock == Clock::wall ? wall_spans(step, measured) : undisturbed_spans(step, measured);
    const double end = end_of(spans), seconds = clock == Clock::wall ? measured.step_seconds() : end / step.steps;
    const topology::Gpu gpu = topology::build(scenario.cluster).gpu();
    const double peak = calibrate::peak_flops(gpu, scenario.plan.training.precision.compute);
    const sim::Rates made = sim::rates(scenario, peak, step, seconds);
    sim::MemoryUse memory = memory_use(step, measured, gpu.memory_bytes);
    std::vector<sim::RankClass> trace = classes(step, measured, std::move(spans));
    sim::Recording recording{std::move(step), std::move(trace)};
    std::vector<sim::Breakdown> stages = breakdowns(recording, recording.program.steps == 1 ? seconds : end);
    return {{made,
             std::move(memory),
             provenance(scenario, measured, clock),
             std::move(recording),
             seconds,
             std::move(stages),
             {}},
            clock};
}

nlohmann::ordered_json measured_facts(const run::MeasuredRun& measured) {
    using Json = nlohmann::ordered_json;
    Json steps = Json::array(), ranks = Json::array();
    for (const run::MeasuredStep& step : measured.steps) steps.push_back(run::json_of(step));
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

namespace {

/// Of steps whose fp16 gradients overflowed; "" where there are none.
std::string skipped_line(const std::vector<run::MeasuredStep>& steps) {
    const auto skipped = std::ranges::count_if(steps, &run::MeasuredStep::skipped);
    if (skipped == 0) return "";
    return fmt::format(
        "SKIPPED   {} of {} steps, whose gradients were not finite: they changed nothing; the loss's scale "
        "was {:g} at last\n",
        skipped, steps.size(), steps.back().loss_scale.value_or(1));
}

}  // namespace

std::string measured_lines(const scenarios::Scenario& scenario, const run::MeasuredRun& measured) {
    std::string text;
    if (measured.steps.front().loss) {
        text += "LOSS     ";
        for (const run::MeasuredStep& step : measured.steps) text += fmt::format(" {:.4f}", step.loss.value_or(0));
        text += '\n';
    }
    text += skipped_line(measured.steps);
    text += fmt::format("STEPS     {} measured after {} of warm-up: median {} +- {} (half the quartiles' range)\n",
                        measured.steps.size() - measured.warmup, measured.warmup,
                        format_seconds(measured.step_seconds()), format_seconds(measured.step_spread()));
    const double undisturbed =
        end_of(undisturbed_spans(strategies::unrolled(strategies::build(scenario.plan)), measured));
    text += fmt::format(
        "ALONE     {} if no other process took the cores: the device time of every operation along "
        "the program's longest path{}\n",
        format_seconds(undisturbed), measured.nodes > 1 ? ", the network's by the wall clock" : "");
    double overhead = 0, uncertainty = 0, queueing = 0;
    std::uint64_t held = 0, predicted = 0;
    for (const run::MeasuredRank& rank : measured.ranks) {
        overhead = std::max(overhead, rank.overhead);
        uncertainty = std::max(uncertainty, rank.clock_uncertainty);
        queueing = std::max(queueing, rank.queueing);
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
    if (queueing > 0) text += fmt::format("; a host took {} to queue it", format_seconds(queueing));
    if (measured.ranks.size() > 1)
        text += fmt::format("; clocks of ranks known to {}; {}", format_seconds(uncertainty), measured.communication);
    return text + '\n';
}

}  // namespace orrery::report
