#include "sim/bottleneck.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace orrery::sim {

namespace {

constexpr double worth_naming = 0.05;  // share of the step

struct Part {
    const char* name;
    double Breakdown::*seconds;
};

constexpr std::array<Part, 10> parts{{
    {"attention", &Breakdown::attention},
    {"memory-bound kernels", &Breakdown::memory_bound},
    {"tensor-parallel communication", &Breakdown::tensor_comm},
    {"expert-parallel communication", &Breakdown::expert_comm},
    {"pipeline communication", &Breakdown::pipeline_comm},
    {"data-parallel communication", &Breakdown::data_comm},
    {"copies to and from the host", &Breakdown::offload},
    {"optimizer", &Breakdown::optimizer},
    {"kernel launches", &Breakdown::launch},
    {"pipeline bubble", &Breakdown::bubble},
}};

/// Of the step, the mean over the stages.
double share(const std::vector<Breakdown>& stages, double step_time_s, double Breakdown::*seconds) {
    double sum = 0;
    for (const Breakdown& stage : stages) sum += stage.*seconds;
    return sum / static_cast<double>(stages.size()) / step_time_s;
}

/// The one kind of thing that does not go to plan, or all of them in general.
std::string disturbance(const scenarios::Scenario& scenario) {
    const scenarios::Perturbations& table = scenario.perturbations;
    scenarios::Perturbations other = table;
    other.stragglers.clear();
    if (table.stragglers.empty() || !other.none() || !scenario.other_jobs.empty()) return "what does not go to plan";
    const auto worst = std::ranges::max_element(table.stragglers, {}, &scenarios::Straggler::factor);
    const std::size_t more = table.stragglers.size() - 1;
    return "straggler " + to_text(*worst) + (more > 0 ? fmt::format(" and {} more", more) : "");
}

std::string text(const std::string& name, double part) { return fmt::format("{} {:.0f}%", name, 100 * part); }

/// tensor_comm is of tensor and of context ranks. Without a pipeline a rank waits for others of its groups alone: those
/// on slower GPUs, or with more tokens.
std::string name_of(const Part& part, const strategies::Strategy& strategy) {
    if (part.seconds == &Breakdown::bubble && strategy.pipeline == 1) return "waiting for slower ranks";
    if (part.seconds == &Breakdown::offload && strategy.optimizer_cpu_offload) return "the host's optimizer and copies";
    if (part.seconds == &Breakdown::expert_comm && strategy.split_classes > 1) return "exchange of features";
    if (part.seconds != &Breakdown::tensor_comm || strategy.context == 1) return part.name;
    return strategy.tensor == 1 ? "context-parallel communication" : "tensor- and context-parallel communication";
}

/// Matrix products are what a step is for: the largest of the rest is named, unless they leave little of it.
std::string of_plan(const strategies::Strategy& strategy, const std::vector<Breakdown>& stages, double step_time_s) {
    const auto part_of_step = [&](double Breakdown::*seconds) { return share(stages, step_time_s, seconds); };
    const double products = part_of_step(&Breakdown::gemm);
    const auto* const worst =
        std::ranges::max_element(parts, {}, [&](const Part& part) { return part_of_step(part.seconds); });
    const double most = part_of_step(worst->seconds);
    if (most < worth_naming) return text("matrix products", products);
    return text(name_of(*worst, strategy), most) + (products > most ? ", after " + text("GEMM", products) : "");
}

}  // namespace

std::string bottleneck(const scenarios::Scenario& scenario, const std::vector<Breakdown>& stages, double step_time_s,
                       double planned_step_time_s) {
    const double lost = planned_step_time_s > 0 ? 1 - planned_step_time_s / step_time_s : 0;
    const std::string of_it = of_plan(scenario.plan.strategy, stages, step_time_s);
    return lost < worth_naming ? of_it : text(disturbance(scenario), lost) + ", then " + of_it;
}

}  // namespace orrery::sim
