#include "sim/advice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "base/parallel.hpp"
#include "base/units.hpp"
#include "sim/run_step.hpp"
#include "strategies/stage_split.hpp"

namespace orrery::sim {

namespace {

using strategies::Plan;
using strategies::Recompute;

/// Plans beyond this many simulated operations, over all classes, are not varied: advice must not cost much more than
/// the answer.
constexpr std::uint64_t most_operations = 1'000'000;
constexpr double worth_saying = 0.01;
/// Neighbours that are simulated side by side: each takes as much memory as the step.
constexpr unsigned most_at_once = 4;

struct Neighbour {
    std::string name;
    std::function<void(Plan&)> change;
};

struct Known {
    bool measured_fused;  ///< the profile can time fused attention
    bool waits_for_host;  ///< a device does, for more of a step than is worth saying
};

/// Of experts' kernels their host has to know how many tokens came.
Neighbour graphs() {
    return {"CUDA graphs", [](Plan& p) {
                p.training.cuda_graph = true;
                if (p.model.experts > 0) p.training.cuda_graph_scope = strategies::CudaGraphScope::outside_experts;
            }};
}

std::vector<Neighbour> neighbours(const Plan& plan, const Known& known) {
    const auto& s = plan.strategy;
    std::vector<Neighbour> list;
    if (s.recompute == Recompute::full) {
        list.push_back({"selective recomputation", [](Plan& p) { p.strategy.recompute = Recompute::selective; }});
        list.push_back({"no recomputation", [](Plan& p) { p.strategy.recompute = Recompute::none; }});
    }
    if (s.recompute == Recompute::none)
        list.push_back({"selective recomputation", [](Plan& p) { p.strategy.recompute = Recompute::selective; }});
    if (s.recompute != Recompute::full)
        list.push_back({"full recomputation", [](Plan& p) { p.strategy.recompute = Recompute::full; }});
    if (s.data > 1 && s.sharding == strategies::Sharding::none)
        list.push_back({"distributed optimizer", [](Plan& p) { p.strategy.sharding = strategies::Sharding::zero1; }});
    if (s.tensor > 1 && !s.sequence_parallel)
        list.push_back({"sequence parallelism", [](Plan& p) { p.strategy.sequence_parallel = true; }});
    if (s.data > 1 && !s.overlap_grad_reduce)
        list.push_back({"overlapped gradient reduction", [](Plan& p) { p.strategy.overlap_grad_reduce = true; }});
    if (known.waits_for_host && !plan.training.cuda_graph && plan.training.software != hardware::Software::tensorflow)
        list.push_back(graphs());
    if (!plan.training.fused_attention && known.measured_fused)
        list.push_back({"fused attention", [](Plan& p) { p.training.fused_attention = true; }});
    if (s.cpu_offloading_num_layers > 0)
        list.push_back({"no layers offloaded", [](Plan& p) { p.strategy.cpu_offloading_num_layers = 0; }});
    if (s.cpu_offloading_num_layers > 1)
        list.push_back({"half as many layers offloaded", [](Plan& p) { p.strategy.cpu_offloading_num_layers /= 2; }});
    if (s.optimizer_cpu_offload)
        list.push_back({"the optimizer on the GPU", [](Plan& p) {
                            const strategies::Strategy usual;
                            p.strategy.optimizer_cpu_offload = p.strategy.overlap_optimizer_copies = false;
                            p.strategy.pipeline_read = p.strategy.pipeline_write = false;
                            p.strategy.optimizer_offload_fraction = usual.optimizer_offload_fraction;
                            p.strategy.optimizer_device = usual.optimizer_device;
                        }});
    if (plan.training.micro_batch > 1)
        list.push_back({"half the micro-batch", [](Plan& p) { p.training.micro_batch /= 2; }});
    if (s.pipeline > 1)
        list.push_back({fmt::format("{} model chunks a stage", 2 * s.virtual_pipeline), [](Plan& p) {
                            p.strategy.schedule = strategies::ScheduleKind::interleaved;
                            p.strategy.virtual_pipeline *= 2;
                        }});
    return list;
}

/// The changed plan, or nothing when it is illegal.
std::optional<Plan> changed(const Plan& plan, const Neighbour& neighbour) {
    Plan other = plan;
    neighbour.change(other);
    try {
        strategies::validate(other);
    } catch (const Error&) {
        return std::nullopt;
    }
    return other;
}

/// The stage with the least memory to spare.
struct Fullest {
    std::size_t stage;
    std::uint64_t peak;
    double spare;  ///< bytes; below 0: it does not fit
};

Fullest fullest(const MemoryUse& use) {
    const std::size_t stage = use.fullest_stage();
    return {stage, use.needed(stage), use.spare(stage)};
}

/// Of another step on the same GPUs.
Fullest fullest(const strategies::StepProgram& step, const MemoryLimits& limits) {
    return fullest(memory_use(step, limits));
}

/// That would be simulated if it folds like `folding` and all rounds were written.
std::uint64_t operations(const strategies::StepProgram& step, const Folding& folding) {
    std::uint64_t sum = 0;
    for (const RankClass& rank : folding.classes) {
        const strategies::Program& program = step.programs[rank.role];
        sum += program.ops.size() + std::uint64_t{program.rounds.left_out} * program.rounds.ops;
    }
    return sum;
}

/// More offloaded layers: the fewest that make the plan fit, or all.
Neighbour offload_enough(const Plan& plan, const MemoryLimits& limits) {
    std::uint32_t fewest = plan.strategy.cpu_offloading_num_layers;
    std::uint32_t most = strategies::chunk_sizes(plan).second;
    while (fewest + 1 < most) {
        Plan other = plan;
        const std::uint32_t layers = other.strategy.cpu_offloading_num_layers = fewest + (most - fewest) / 2;
        (fullest(short_program(other), limits).spare >= 0 ? most : fewest) = layers;
    }
    return {fmt::format("{} layers a chunk offloaded", most),
            [most](Plan& other) { other.strategy.cpu_offloading_num_layers = most; }};
}

using Advice = std::vector<std::string>;

Advice advise_memory(const Plan& plan, const Known& known, const MemoryUse& use, const MemoryLimits& limits) {
    const Fullest worst = fullest(use);
    const auto& at_peak = use.memory[worst.stage].at_peak;
    const auto kind = std::max_element(at_peak.begin(), at_peak.end()) - at_peak.begin();
    Advice advice{fmt::format("does not fit: stage {} needs {} of {}; the most, {}, is {}", worst.stage,
                              format_bytes(static_cast<double>(worst.peak)),
                              format_bytes(static_cast<double>(use.capacity(worst.stage))),
                              format_bytes(static_cast<double>(at_peak[static_cast<std::size_t>(kind)])),
                              strategies::name(static_cast<strategies::Keep>(kind)))};
    std::vector<Neighbour> others = neighbours(plan, known);
    others.push_back(offload_enough(plan, limits));
    for (const Neighbour& neighbour : others) {
        const auto other = changed(plan, neighbour);
        if (!other) continue;
        const Fullest now = fullest(short_program(*other), limits);
        if (now.spare <= worst.spare) continue;
        advice.push_back(fmt::format("{}: saves {}, peak {}{}", neighbour.name, format_bytes(now.spare - worst.spare),
                                     format_bytes(static_cast<double>(now.peak)), now.spare >= 0 ? ", fits" : ""));
    }
    return advice;
}

/// Offloading that hides all its copies costs nothing, and still buys nothing where all fits without.
Advice advise_offloading(const Plan& plan, const MemoryUse& use, const MemoryLimits& limits) {
    Plan without = plan;
    without.strategy.cpu_offloading_num_layers = 0;
    const Fullest now = fullest(use), then = fullest(short_program(without), limits);
    if (then.spare < 0) return {};
    return {fmt::format("offloading is not needed: without it the peak is {}, {} more, and fits",
                        format_bytes(static_cast<double>(then.peak)),
                        format_bytes(static_cast<double>(then.peak - now.peak)))};
}

/// A neighbour that fits, simulated.
struct Tried {
    double seconds;
    double spare;  ///< bytes, of its fullest stage
};

std::optional<Tried> try_out(const Plan& plan, const Neighbour& neighbour, Site& site, const Folding& folding,
                             const MemoryLimits& limits) {
    const auto other = changed(plan, neighbour);
    if (!other) return std::nullopt;
    const strategies::StepProgram program = short_program(*other);
    const Fullest then = fullest(program, limits);
    if (then.spare < 0 || operations(program, folding) > most_operations) return std::nullopt;
    const Running how{.foldings = &site.foldings, .like = &folding};
    return Tried{run_plan(*other, site.cluster, site.profiles, how)->seconds(), then.spare};
}

Advice advise_time(const Plan& plan, const Known& known, Site& site, const Folding& folding, const MemoryUse& use,
                   const MemoryLimits& limits, double step_time_s) {
    struct Better {
        double seconds;
        std::string text;
    };
    const std::vector<Neighbour> others = neighbours(plan, known);
    std::vector<std::optional<Tried>> tried(others.size());
    for_each_on(std::min(all_cores(), most_at_once), others.size(),
                [&](std::size_t i) { tried[i] = try_out(plan, others[i], site, folding, limits); });
    std::vector<Better> better;
    const Fullest now = fullest(use);
    for (std::size_t i = 0; i < others.size(); ++i) {
        if (!tried[i] || tried[i]->seconds > step_time_s * (1 - worth_saying)) continue;
        const double more = now.spare - tried[i]->spare;
        better.push_back({tried[i]->seconds,
                          fmt::format("{}: {} ({:+.0f}%), {}{}", others[i].name, format_seconds(tried[i]->seconds),
                                      100 * (tried[i]->seconds / step_time_s - 1), more < 0 ? "-" : "+",
                                      format_bytes(std::abs(more)))});
    }
    std::sort(better.begin(), better.end(), [](const Better& a, const Better& b) { return a.seconds < b.seconds; });
    Advice advice = plan.strategy.cpu_offloading_num_layers > 0 ? advise_offloading(plan, use, limits) : Advice{};
    for (std::size_t i = 0; i < std::min<std::size_t>(3, better.size()); ++i) advice.push_back(better[i].text);
    return advice;
}

}  // namespace

std::vector<std::string> advise(const scenarios::Scenario& scenario, Site& site, const Folding& folding,
                                const Step& step, const MemoryLimits& limits) {
    // Other plans are simulated as planned and by themselves: no comparison.
    if (!scenario.perturbations.none() || !scenario.other_jobs.empty()) return {};
    const bool measured_fused = std::ranges::all_of(site.cluster.groups(), [&](const topology::NodeGroup& group) {
        return !site.profiles.of(group.gpu).profile().attention.empty();
    });
    const bool waits = std::ranges::any_of(
        step.stages, [&](const Breakdown& stage) { return stage.launch > worth_saying * step.step_time_s; });
    const Known known{measured_fused, waits};
    return step.fits ? advise_time(scenario.plan, known, site, folding, step, limits, step.step_time_s)
                     : advise_memory(scenario.plan, known, step, limits);
}

}  // namespace orrery::sim
