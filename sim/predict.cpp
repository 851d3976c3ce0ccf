#include "sim/predict.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "base/error.hpp"
#include "base/units.hpp"
#include "calibrate/peak.hpp"
#include "reliability/goodput.hpp"
#include "sim/advice.hpp"
#include "sim/breakdown.hpp"
#include "sim/collective/timer.hpp"
#include "sim/doubts.hpp"
#include "sim/rates.hpp"
#include "sim/run_step.hpp"
#include "sim/sharing.hpp"
#include "sim/version.hpp"
#include "sim/whole_run.hpp"
#include "strategies/build.hpp"

namespace orrery::sim {

namespace {

std::string profile_name(const scenarios::Scenario& scenario, const topology::Cluster& cluster,
                         const topology::Gpu& gpu) {
    if (gpu.name == cluster.gpu().name) return scenario.profile;
    const auto named = scenario.more_profiles.find(gpu.name);
    return named == scenario.more_profiles.end() ? gpu.profile : named->second;
}

/// A GPU's own profile need not be among those that are shipped.
const calibrate::Predictor& find_profile(const topology::Gpu& gpu, const std::string& name,
                                         calibrate::ProfileStore& profiles) {
    if (name != gpu.profile || calibrate::ProfileStore::ships(name)) return profiles.find(name);
    throw Error(
        "", "/profile", fmt::format("no profile is shipped for {}", gpu.name),
        fmt::format("measure one (`orrery calibrate --help`) and name it: \"profile\": {{\"{}\": \"FILE.json\"}}; "
                    "shipped are {}",
                    gpu.name, fmt::join(calibrate::ProfileStore::shipped(), ", ")));
}

/// One breakdown a stage: of the class that ends last; and what its smallest GPU holds.
void stages(const RanStep& ran, const strategies::RankPlacement& placement, std::uint32_t pipeline, Prediction& p) {
    const Kinds& kinds = ran.network.kinds();
    p.stage_capacity.assign(pipeline, std::numeric_limits<std::uint64_t>::max());
    for (std::uint32_t rank = 0; rank < ran.program.role.size(); ++rank) {
        std::uint64_t& capacity = p.stage_capacity[ran.program.role[rank]];
        capacity = std::min(capacity, kinds[kinds.of(placement.gpu(rank))].gpu.memory_bytes);
    }
    p.memory_capacity = *std::ranges::min_element(p.stage_capacity);
    for (std::uint32_t stage = 0; stage < pipeline; ++stage) {
        const RankClass& slowest = ran.slowest(stage);
        p.stages.push_back(
            breakdown(ran.program, ran.costs.of_rank(slowest.representative), slowest, ran.replayed.end));
        p.memory.push_back(strategies::memory(ran.program, stage));
        p.fits = p.fits && p.memory.back().peak <= p.capacity(stage);
    }
}

/// The node whose ranks keep the most in its memory; and where what is known of copies was not measured.
void hosts(const RanStep& ran, const topology::Cluster& cluster, const strategies::RankPlacement& placement,
           Prediction& p) {
    if (std::ranges::all_of(p.memory, [](const StageMemory& stage) { return stage.host == 0; })) return;
    std::map<std::uint32_t, std::uint64_t> needs;
    for (std::uint32_t rank = 0; rank < ran.program.role.size(); ++rank)
        needs[cluster.node_of(placement.gpu(rank))] += p.memory[ran.program.role[rank]].host;
    const auto most = std::ranges::max_element(needs, {}, [](const auto& node) { return node.second; });
    p.host_memory = most->second;
    p.host_capacity = cluster.plan_of(most->first).host_memory().bytes;
    if (p.host_capacity > 0 && p.host_memory > p.host_capacity)
        p.warnings.push_back(fmt::format("node {} has {} of memory, and what is offloaded to it is {}", most->first,
                                         format_bytes(static_cast<double>(p.host_capacity)),
                                         format_bytes(static_cast<double>(p.host_memory))));
    std::set<std::string> origins;
    for (std::uint32_t kind = 0; kind < ran.costs.size(); ++kind)
        if (const auto& copies = ran.costs[kind].host_copies()) origins.insert(copies->origin());
    for (const std::string& origin : origins)
        if (!origin.empty()) p.warnings.push_back(origin);
}

/// What each kind of GPU does; ranks of one stage on one kind are taken for alike.
void gpu_kinds(const scenarios::Scenario& scenario, const topology::Cluster& cluster, const RanStep& ran,
               Prediction& p) {
    const Kinds& kinds = ran.network.kinds();
    const std::size_t roles = ran.program.programs.size();
    std::vector<std::uint32_t> ranks(ran.costs.size() * roles);
    for (std::uint32_t rank = 0; rank < ran.program.role.size(); ++rank)
        ++ranks[ran.costs.number(rank) * roles + ran.program.role[rank]];
    for (std::uint32_t number = 0; number < ran.costs.size(); ++number) {
        const topology::Gpu& gpu = kinds[kinds.of(scenario.plan.placement.gpu(ran.costs.first_rank(number)))].gpu;
        const auto first = ranks.begin() + static_cast<std::ptrdiff_t>(number * roles);
        p.gpu_kinds.push_back({gpu.name,
                               profile_name(scenario, cluster, gpu),
                               std::accumulate(first, first + static_cast<std::ptrdiff_t>(roles), 0U),
                               {}});
    }
    for (const std::uint32_t number : ran.slowest_of_kinds()) {
        const RankClass& each = ran.replayed.classes[number];
        const std::uint32_t kind = ran.costs.number(each.representative);
        GpuUse& use = p.gpu_kinds[kind];
        const double share = static_cast<double>(ranks[kind * roles + each.role]) / use.gpus;
        use.mean.add(breakdown(ran.program, ran.costs[kind], each, ran.replayed.end), share);
    }
}

/// Of the GPUs that ranks run on, FLOP/s; with one kind its own, to the bit.
double mean_peak(const strategies::Plan& plan, const Prediction& p) {
    const auto peak = [&](const GpuUse& use) {
        return calibrate::peak_flops(topology::find_gpu(use.gpu), plan.training.precision.compute);
    };
    const double first = peak(p.gpu_kinds.front());
    double mean = first;
    for (const GpuUse& use : p.gpu_kinds) mean += (peak(use) - first) * use.gpus / p.gpus;
    return mean;
}

void provenance(const scenarios::Scenario& scenario, const topology::Cluster& cluster, const RanStep& ran,
                Prediction& p) {
    p.version = version();
    std::vector<std::string> profiles;
    for (const GpuUse& use : p.gpu_kinds)
        if (std::ranges::find(profiles, use.profile) == profiles.end()) profiles.push_back(use.profile);
    p.profile = fmt::format("{}", fmt::join(profiles, ", "));
    p.cluster = cluster.name();
    p.seed = scenario.seed;
    p.classes = static_cast<std::uint32_t>(ran.replayed.classes.size());
    std::vector<std::uint64_t> ops;
    for (std::uint32_t role = 0; role < ran.program.programs.size(); ++role)
        ops.push_back(strategies::unrolled_ops(ran.program, role));
    for (const std::uint16_t role : ran.program.role) p.ops += ops[role];
}

/// Kinds whose ranks compute for less of the step than those of the busiest kind.
void idle_kinds(Prediction& p) {
    constexpr double worth_saying = 0.1;
    const auto busy = [&](const GpuUse& use) { return use.mean.busy() / p.step_time_s; };
    const GpuUse& busiest = *std::ranges::max_element(p.gpu_kinds, {}, busy);
    for (const GpuUse& use : p.gpu_kinds)
        if (busy(use) < busy(busiest) - worth_saying)
            p.warnings.push_back(fmt::format(
                "{} ranks compute {:.0f}% of the step and wait for others {:.0f}%, {} ranks compute {:.0f}%: the work "
                "is not divided by their rates",
                use.gpu, 100 * busy(use), 100 * use.mean.bubble / p.step_time_s, busiest.gpu, 100 * busy(busiest)));
}

/// Weak scaling against one model replica (data = 1, or what its experts are divided among), placed linearly: T_n / (n
/// T_1) in tokens per second and GPU.
void scale(const scenarios::Scenario& scenario, const topology::Cluster& cluster, const Profiles& profiles,
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
    const RanStep base(replica, cluster, profiles);
    p.scale_factor = base.seconds() / p.step_time_s;
}

/// The step itself, which takes most of a prediction's memory and is gone afterwards, but for its folding.
std::shared_ptr<const Folding> run_and_describe(const scenarios::Scenario& scenario, const topology::Cluster& cluster,
                                                const Profiles& profiles, const Options& options, Prediction& p) {
    strategies::StepProgram program = strategies::build(scenario.plan);
    if (options.unroll) program = strategies::unrolled(program);
    const Perturbed perturbed(scenario.perturbations, scenario.seed, cluster, scenario.plan);
    const bool as_planned = scenario.perturbations.none();
    RanStep ran(std::move(program), scenario.plan, cluster, profiles,
                {.fold = options.fold,
                 .engine = options.engine,
                 .all_spans = options.keep_trace,
                 .perturbed = as_planned ? nullptr : &perturbed,
                 .others = scenario.other_jobs});
    p.gpus = scenario.plan.ranks();
    p.step_time_s = ran.seconds();
    if (!as_planned || !scenario.other_jobs.empty())
        p.planned_step_time_s = RanStep(scenario.plan, cluster, profiles, {.engine = options.engine}).seconds();
    gpu_kinds(scenario, cluster, ran, p);
    fill_rates(scenario, mean_peak(scenario.plan, p), ran.program, p);
    describe_sharing(scenario, cluster, profiles, ran, options.engine, p);
    stages(ran, scenario.plan.placement, scenario.plan.strategy.pipeline, p);
    hosts(ran, cluster, scenario.plan.placement, p);
    provenance(scenario, cluster, ran, p);
    doubt(ran, scenario.plan.placement, p);
    idle_kinds(p);
    if (scenario.whole_run) {
        const reliability::Job job = job_of(scenario, cluster, profiles, ran.program, p.step_time_s);
        auto whole_run = std::make_shared<reliability::Forecast>(
            reliability::forecast(reliability::training_run(job, *scenario.whole_run), scenario.seed));
        whole_run->job = job;
        p.whole_run = std::move(whole_run);
    }
    if (options.keep_trace) {
        p.trace = std::move(ran.replayed.classes);
        p.program = std::move(ran.program);
    }
    return ran.folding;
}

}  // namespace

Profiles profiles_of(const scenarios::Scenario& scenario, const topology::Cluster& cluster,
                     calibrate::ProfileStore& profiles) {
    std::map<std::string, const calibrate::Predictor*> by_gpu;
    for (const topology::NodeGroup& group : cluster.groups()) {
        const std::string name = profile_name(scenario, cluster, group.gpu);
        by_gpu[group.gpu.name] = &find_profile(group.gpu, name, profiles);
    }
    return Profiles(std::move(by_gpu));
}

Prediction predict(const scenarios::Scenario& scenario, calibrate::ProfileStore& store, const Options& options) {
    const topology::Cluster cluster = topology::build(scenario.cluster);
    const Profiles profiles = profiles_of(scenario, cluster, store);
    Prediction p;
    const auto folding = run_and_describe(scenario, cluster, profiles, options, p);
    if (options.scale_factor) scale(scenario, cluster, profiles, p);
    if (options.advice) advise(scenario, cluster, profiles, folding, p);
    return p;
}

Prediction predict(const scenarios::Scenario& scenario, const Options& options) {
    calibrate::ProfileStore profiles;
    return predict(scenario, profiles, options);
}

Profiles profiles_of(const topology::Cluster& cluster, const std::string& profile, calibrate::ProfileStore& profiles) {
    std::map<std::string, const calibrate::Predictor*> by_gpu;
    for (const topology::NodeGroup& group : cluster.groups()) {
        if (!profile.empty() && group.gpu.profile != cluster.gpu().profile)
            throw Error(fmt::format("\"{}\" would time both {} and {}", profile, cluster.gpu().name, group.gpu.name),
                        "leave the profile out: each GPU has its own");
        by_gpu[group.gpu.name] = &find_profile(group.gpu, profile.empty() ? group.gpu.profile : profile, profiles);
    }
    return Profiles(std::move(by_gpu));
}

std::vector<double> kernel_seconds(const scenarios::Scenario& scenario, std::uint32_t rank) {
    calibrate::ProfileStore profiles;
    const topology::Cluster cluster = topology::build(scenario.cluster);
    const RanStep ran(scenario.plan, cluster, profiles_of(scenario, cluster, profiles));
    std::vector<double> seconds;
    for (const KernelCost& kernel : ran.costs.of_rank(rank).kernels()) seconds.push_back(kernel.seconds);
    return seconds;
}

double collective_seconds(const topology::ClusterSpec& spec, const std::string& profile, kernels::CollectiveKind kind,
                          std::uint32_t ranks, double bytes, calibrate::ProfileStore& profiles) {
    const topology::Cluster cluster = topology::build(spec);
    if (ranks < 1 || ranks > cluster.gpus())
        throw Error("", "/cluster/nodes", fmt::format("{} ranks on {} GPUs", ranks, cluster.gpus()), "name more nodes");
    std::vector<topology::GpuId> gpus(ranks);
    std::iota(gpus.begin(), gpus.end(), 0U);
    CollectiveTimer timer(cluster, profiles_of(cluster, profile, profiles), Group(gpus, cluster.gpus_per_node()));
    return timer.seconds(kind, bytes);
}

double collective_seconds(const topology::ClusterSpec& spec, const std::string& profile, kernels::CollectiveKind kind,
                          std::uint32_t ranks, double bytes) {
    calibrate::ProfileStore profiles;
    return collective_seconds(spec, profile, kind, ranks, bytes, profiles);
}

}  // namespace orrery::sim
