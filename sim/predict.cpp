#include "sim/predict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "base/error.hpp"
#include "sim/advice.hpp"
#include "sim/breakdown.hpp"
#include "sim/collective/timer.hpp"
#include "sim/rates.hpp"
#include "sim/run_step.hpp"
#include "sim/version.hpp"
#include "strategies/build.hpp"

namespace orrery::sim {

namespace {

/// One breakdown a stage: of the class that ends last.
void stages(const RanStep& ran, std::uint32_t pipeline, Prediction& p) {
    for (std::uint32_t stage = 0; stage < pipeline; ++stage) {
        p.stages.push_back(breakdown(ran.program, ran.costs, ran.slowest(stage), p.step_time_s));
        p.memory.push_back(strategies::memory(ran.program, stage));
        p.fits = p.fits && p.memory.back().peak <= p.memory_capacity;
    }
}

void provenance(const scenarios::Scenario& scenario, const topology::Cluster& cluster, const RanStep& ran,
                Prediction& p) {
    p.version = version();
    p.profile = scenario.profile;
    p.cluster = cluster.name();
    p.seed = scenario.seed;
    p.classes = static_cast<std::uint32_t>(ran.replayed.classes.size());
    std::vector<std::uint64_t> ops;
    for (std::uint32_t role = 0; role < ran.program.programs.size(); ++role)
        ops.push_back(strategies::unrolled_ops(ran.program, role));
    for (const std::uint16_t role : ran.program.role) p.ops += ops[role];
}

void warnings(const RanStep& ran, Prediction& p) {
    std::set<std::string> outside;
    for (std::size_t k = 0; k < ran.program.kernels.size(); ++k)
        if (ran.costs.kernels()[k].extrapolated && !std::holds_alternative<kernels::Pointwise>(ran.program.kernels[k]))
            outside.insert(kernels::to_text(ran.program.kernels[k]));
    if (!outside.empty())
        p.warnings.push_back(
            fmt::format("{} kernel shapes lie outside the measured range and are extrapolated, among them {}",
                        outside.size(), *outside.begin()));
}

/// Weak scaling against one model replica (data = 1, or what its experts are divided among), placed linearly: T_n / (n
/// T_1) in tokens per second and GPU.
void scale(const scenarios::Scenario& scenario, const topology::Cluster& cluster, const calibrate::Predictor& predictor,
           Prediction& p) {
    const strategies::Strategy& strategy = scenario.plan.strategy;
    const std::uint32_t least = scenario.plan.expert_extent();  // data ranks that hold all experts
    p.scale_base_gpus = strategy.tensor * strategy.pipeline * least;
    p.scale_factor = 1;
    if (strategy.data == least) return;
    strategies::Plan replica = scenario.plan;
    replica.strategy.data = least;
    replica.placement = {};
    replica.training.global_batch /= scenario.plan.expert_data();
    const RanStep base(replica, cluster, predictor);
    p.scale_factor = base.replayed.end / p.step_time_s;
}

}  // namespace

topology::Cluster uniform_cluster(const topology::ClusterSpec& spec) {
    topology::Cluster cluster = topology::build(spec);
    if (cluster.groups().size() == 1) return cluster;
    throw Error("", "/cluster/more_nodes", "a prediction takes one kind of GPU",
                "leave more_nodes out; `orrery topology` shows clusters of several kinds");
}

Prediction predict(const scenarios::Scenario& scenario, calibrate::ProfileStore& profiles, const Options& options) {
    const calibrate::Predictor& predictor = profiles.find(scenario.profile);
    const topology::Cluster cluster = uniform_cluster(scenario.cluster);
    strategies::StepProgram program = strategies::build(scenario.plan);
    if (options.unroll) program = strategies::unrolled(program);
    const Perturbed perturbed(scenario.perturbations, scenario.seed, cluster, scenario.plan);
    const bool as_planned = scenario.perturbations.none();
    RanStep ran(std::move(program), scenario.plan, cluster, predictor,
                {.fold = options.fold,
                 .engine = options.engine,
                 .all_spans = options.keep_trace,
                 .perturbed = as_planned ? nullptr : &perturbed});
    Prediction p;
    p.gpus = scenario.plan.ranks();
    p.step_time_s = ran.replayed.end;
    if (!as_planned)
        p.planned_step_time_s = RanStep(scenario.plan, cluster, predictor, {.engine = options.engine}).replayed.end;
    p.memory_capacity = cluster.gpu().memory_bytes;
    fill_rates(scenario, cluster.gpu(), ran.program, p);
    stages(ran, scenario.plan.strategy.pipeline, p);
    provenance(scenario, cluster, ran, p);
    warnings(ran, p);
    if (options.scale_factor) scale(scenario, cluster, predictor, p);
    if (options.advice) advise(scenario, cluster, predictor, ran.folding, p);
    if (options.keep_trace) {
        p.trace = std::move(ran.replayed.classes);
        p.program = std::move(ran.program);
    }
    return p;
}

Prediction predict(const scenarios::Scenario& scenario, const Options& options) {
    calibrate::ProfileStore profiles;
    return predict(scenario, profiles, options);
}

double collective_seconds(const topology::ClusterSpec& spec, const std::string& profile, kernels::CollectiveKind kind,
                          std::uint32_t ranks, double bytes, calibrate::ProfileStore& profiles) {
    const topology::Cluster cluster = topology::build(spec);
    if (ranks < 1 || ranks > cluster.gpus())
        throw Error("", "/cluster/nodes", fmt::format("{} ranks on {} GPUs", ranks, cluster.gpus()), "name more nodes");
    std::vector<topology::GpuId> gpus(ranks);
    std::iota(gpus.begin(), gpus.end(), 0U);
    CollectiveTimer timer(cluster, profiles.find(profile.empty() ? cluster.gpu().profile : profile),
                          Group(gpus, cluster.gpus_per_node()));
    return timer.seconds(kind, bytes);
}

double collective_seconds(const topology::ClusterSpec& spec, const std::string& profile, kernels::CollectiveKind kind,
                          std::uint32_t ranks, double bytes) {
    calibrate::ProfileStore profiles;
    return collective_seconds(spec, profile, kind, ranks, bytes, profiles);
}

}  // namespace orrery::sim
