#include "sim/predict.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <future>
#include <iterator>
#include <map>
#include <numeric>
#include <utility>

#include "base/error.hpp"
#include "calibrate/peak.hpp"
#include "reliability/goodput.hpp"
#include "sim/advice.hpp"
#include "sim/allocator.hpp"
#include "sim/bottleneck.hpp"
#include "sim/breakdown.hpp"
#include "sim/collective/timer.hpp"
#include "sim/doubts.hpp"
#include "sim/interval.hpp"
#include "sim/link_levels.hpp"
#include "sim/memory_use.hpp"
#include "sim/populations.hpp"
#include "sim/rates.hpp"
#include "sim/replica_window.hpp"
#include "sim/replicas_alone.hpp"
#include "sim/run_step.hpp"
#include "sim/sharing.hpp"
#include "sim/version.hpp"
#include "sim/warm_up.hpp"
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

/// Of RanStep::slowest_of_kinds().
std::map<const RankClass*, Breakdown> breakdowns(const RanStep& ran) {
    std::map<const RankClass*, Breakdown> list;
    for (const std::uint32_t number : ran.slowest_of_kinds()) {
        const RankClass& each = ran.replayed.classes[number];
        list[&each] = breakdown(ran.program, ran.costs.of_rank(each.representative), each, ran.replayed.end);
    }
    return list;
}

/// One a stage: of the class that ends last.
std::vector<Breakdown> of_stages(const RanStep& ran, const std::map<const RankClass*, Breakdown>& breakdowns) {
    std::vector<Breakdown> stages;
    for (std::uint32_t stage = 0; stage < ran.program.mesh.along(strategies::Axis::pipeline); ++stage)
        stages.push_back(breakdowns.at(&ran.slowest_of_stage(stage)));
    return stages;
}

/// What each kind of GPU does; ranks of one role on one kind are taken for alike.
std::vector<GpuUse> gpu_kinds(const scenarios::Scenario& scenario, const topology::Cluster& cluster, const RanStep& ran,
                              const std::vector<Population>& populations,
                              const std::map<const RankClass*, Breakdown>& breakdowns) {
    const Kinds& kinds = ran.network.kinds();
    const std::size_t roles = ran.program.programs.size();
    std::vector<std::uint32_t> ranks(ran.costs.size() * roles);
    for (const Population& each : populations) ranks[ran.costs.number(each.first) * roles + each.role] = each.ranks;
    std::vector<GpuUse> uses;
    for (std::uint32_t number = 0; number < ran.costs.size(); ++number) {
        const topology::Gpu& gpu = kinds[kinds.of(scenario.plan.placement.gpu(ran.costs.first_rank(number)))].gpu;
        const auto first = ranks.begin() + static_cast<std::ptrdiff_t>(number * roles);
        uses.push_back({gpu.name,
                        profile_name(scenario, cluster, gpu),
                        std::accumulate(first, first + static_cast<std::ptrdiff_t>(roles), 0U),
                        gpu.power_limit_watts,
                        {}});
    }
    for (const std::uint32_t number : ran.slowest_of_kinds()) {
        const RankClass& each = ran.replayed.classes[number];
        const std::uint32_t kind = ran.costs.number(each.representative);
        const double share = static_cast<double>(ranks[kind * roles + each.role]) / uses[kind].gpus;
        uses[kind].mean.add(breakdowns.at(&each), share);
    }
    return uses;
}

/// Of the GPUs that ranks run on, FLOP/s; with one kind its own, to the bit.
double mean_peak(const strategies::Plan& plan, const std::vector<GpuUse>& kinds) {
    const auto peak = [&](const GpuUse& use) {
        return calibrate::peak_flops(topology::find_gpu(use.gpu), plan.training.precision.compute);
    };
    const double first = peak(kinds.front());
    double mean = first;
    for (const GpuUse& use : kinds) mean += (peak(use) - first) * use.gpus / plan.ranks();
    return mean;
}

Provenance provenance(const scenarios::Scenario& scenario, const topology::Cluster& cluster,
                      const std::vector<GpuUse>& kinds, const RanStep& ran, const std::vector<Population>& ranks) {
    std::vector<std::string> profiles;
    for (const GpuUse& use : kinds)
        if (std::ranges::find(profiles, use.profile) == profiles.end()) profiles.push_back(use.profile);
    std::uint64_t ops = 0;
    for (const Population& each : ranks) ops += each.ranks * strategies::unrolled_ops(ran.program, each.role);
    return {.version = version(),
            .profile = fmt::format("{}", fmt::join(profiles, ", ")),
            .cluster = cluster.name(),
            .seed = scenario.seed,
            .gpus = scenario.plan.ranks(),
            .ops = ops,
            .classes = static_cast<std::uint32_t>(ran.replayed.classes.size())};
}

/// Warnings of kinds whose ranks compute for less of the step than those of the busiest kind.
std::vector<std::string> idle_kinds(const std::vector<GpuUse>& kinds, double step_time_s) {
    constexpr double worth_saying = 0.1;
    const auto busy = [&](const GpuUse& use) { return use.mean.busy() / step_time_s; };
    const GpuUse& busiest = *std::ranges::max_element(kinds, {}, busy);
    std::vector<std::string> warnings;
    for (const GpuUse& use : kinds)
        if (busy(use) < busy(busiest) - worth_saying)
            warnings.push_back(fmt::format(
                "{} ranks compute {:.0f}% of the step and wait for others {:.0f}%, {} ranks compute {:.0f}%: the work "
                "is not divided by their rates",
                use.gpu, 100 * busy(use), 100 * use.mean.bubble / step_time_s, busiest.gpu, 100 * busy(busiest)));
    return warnings;
}

/// What a rank whose experts take more tokens than others' holds of them is not in its memory.
std::vector<std::string> expert_doubts(const scenarios::Scenario& scenario) {
    const strategies::Plan& plan = scenario.plan;
    if (scenario.perturbations.balanced()) {
        if (plan.model.experts == 0 || plan.training.expert_capacity > 0) return {};
        return {
            "experts are taken to get equally many tokens each, which without a capacity real ones do not "
            "(perturbations.expert_imbalance)"};
    }
    const std::vector<double> loads =
        scenarios::expert_loads(scenario.perturbations, plan.strategy.expert, plan.model.experts);
    const double most = plan.training.taken(std::ranges::max(loads)) / plan.training.taken(1.0);
    if (most <= 1) return {};
    return {
        fmt::format("memory is that of experts with equally many tokens: the fullest rank's take {:.2f} times as "
                    "many, and activations as much larger",
                    most)};
}

/// All that can be said of a step while it is at hand; its folding stays when the rest, which takes most of a
/// prediction's memory, is gone.
struct Described {
    Step step;
    Sharing sharing;
    double planned_step_time_s = 0;
    MemoryLimits memory_limits;
    std::vector<LinkLevel> links;
    std::vector<Derived> derived;
    std::vector<std::string> warnings;
    std::shared_ptr<const Folding> folding;
    std::optional<reliability::Job> job;  ///< where the whole training is asked for
    std::optional<WarmUp> warm_up;
};

void append(std::vector<std::string>& list, std::vector<std::string> more) {
    std::ranges::move(more, std::back_inserter(list));
}

/// Of a job whose replicas keep step as the window says, where there is one. Null: not asked for.
std::shared_ptr<const reliability::Forecast> whole_run(const scenarios::Scenario& scenario,
                                                       std::optional<reliability::Job> asked,
                                                       const synchrony::Outcome* window) {
    if (!asked) return nullptr;
    reliability::Job& job = *asked;
    if (window != nullptr) job.step_s = scenario.plan.examples() / window->tokens_per_s();
    auto forecast = reliability::forecast(reliability::training_run(job, *scenario.whole_run), scenario.seed);
    forecast.job = job;
    return std::make_shared<const reliability::Forecast>(std::move(forecast));
}

/// Of a pipeline without flushes whose window was written out for its trace, ends and all: a long one, of which all but
/// the trace is said; else nothing.
std::unique_ptr<RanStep> without_ends(const RanStep& ran, const scenarios::Scenario& scenario, Site& site,
                                      const Options& options) {
    const bool as_planned = scenario.perturbations.none() && scenario.other_jobs.empty();
    if (ran.program.steps == 1 || ran.period || !as_planned) return nullptr;
    return run_plan(scenario.plan, site.cluster, site.profiles, {.engine = options.engine, .foldings = &site.foldings});
}

/// recorded: what the trace is of.
Described described(RanStep& recorded, const scenarios::Scenario& scenario, Site& site, const Options& options) {
    const topology::Cluster& cluster = site.cluster;
    const Profiles& profiles = site.profiles;
    const std::unique_ptr<RanStep> long_run = without_ends(recorded, scenario, site, options);
    const RanStep& ran = long_run ? *long_run : recorded;
    Described d;
    d.folding = recorded.folding;
    const double seconds = ran.seconds();
    if (!scenario.perturbations.none() || !scenario.other_jobs.empty())
        d.planned_step_time_s =
            run_plan(scenario.plan, cluster, profiles, {.engine = options.engine, .foldings = &site.foldings})
                ->seconds();
    d.sharing = sharing(scenario, cluster, profiles, recorded, options.engine, d.planned_step_time_s);
    d.derived = derived_shares(ran, seconds);

    const std::map<const RankClass*, Breakdown> of_classes = breakdowns(ran);
    const std::vector<Population> ranks = populations(ran.program, scenario.plan.placement, ran.network.kinds());
    std::vector<GpuUse> kinds = gpu_kinds(scenario, cluster, ran, ranks, of_classes);
    Rates made = rates(scenario, mean_peak(scenario.plan, kinds), ran.program, seconds);
    d.warm_up = warm_up(scenario, site, ran.program, seconds);
    const double mean_seconds = d.warm_up ? d.warm_up->mean_step_time_s() : seconds;
    for (double* const whole : {&made.training_time_s, &made.end_to_end_s}) *whole *= mean_seconds / seconds;
    d.memory_limits = memory_limits(ran, scenario.plan.training, ranks);
    MemoryUse memory = memory_use(ran.program, d.memory_limits,
                                  options.keep_trace ? strategies::OverTime::sampled : strategies::OverTime::left_out);
    add_hosts(memory, ran.program, cluster, scenario.plan.placement);
    if (options.allocator) add_allocator(memory, scenario.plan);
    Provenance origin = provenance(scenario, cluster, kinds, ran, ranks);
    append(d.warnings, host_doubts(ran, memory));
    append(d.warnings, allocator_doubts(memory));
    append(d.warnings, doubts(ran, scenario.plan.placement, d.derived));
    append(d.warnings, expert_doubts(scenario));
    append(d.warnings, doubts(made, origin.profile));
    append(d.warnings, idle_kinds(kinds, seconds));
    std::vector<Breakdown> stages = of_stages(ran, of_classes);

    if (scenario.whole_run) d.job = job_of(scenario, cluster, profiles, ran.program, mean_seconds);

    Recording recording;
    if (options.keep_trace) {
        d.links = link_levels(cluster, recorded);
        auto blocks = block_spans(recorded);
        recording = {std::move(recorded.program), std::move(recorded.replayed.classes), std::move(blocks)};
    }
    d.step = {made,    std::move(memory), std::move(origin), std::move(recording),
              seconds, std::move(stages), std::move(kinds)};
    return d;
}

/// Every operation by itself, or the step in its calls, as shortly as may be.
std::unique_ptr<RanStep> run(const strategies::Plan& plan, const Site& site, bool unroll, const Running& how) {
    if (!unroll) return run_plan(plan, site.cluster, site.profiles, how);
    return std::make_unique<RanStep>(strategies::unrolled(strategies::build(plan)), plan, site.cluster, site.profiles,
                                     how);
}

Described run_and_describe(const scenarios::Scenario& scenario, Site& site, const Options& options) {
    const Perturbed perturbed(scenario.perturbations, scenario.seed, site.cluster, scenario.plan);
    const auto ran = run(scenario.plan, site, options.unroll,
                         {.fold = options.fold,
                          .engine = options.engine,
                          .all_spans = options.keep_trace,
                          .foldings = &site.foldings,
                          .perturbed = scenario.perturbations.none() ? nullptr : &perturbed,
                          .others = scenario.other_jobs,
                          .progress = options.progress});
    return described(*ran, scenario, site, options);
}

/// PyTorch's own modules, and DeepSpeed's engine around a model: ZeRO's later stages under the name of another
/// software.
bool is_run_by_scripts(const strategies::Plan& plan) {
    const strategies::Sharding sharding = plan.strategy.sharding;
    return plan.training.software == hardware::Software::pytorch ||
           (plan.training.software == hardware::Software::megatron_lm &&
            (sharding == strategies::Sharding::zero2 || sharding == strategies::Sharding::zero3));
}

/// With the doubts of the first kind of GPU.
Interval step_interval(const scenarios::Scenario& scenario, const topology::Cluster& cluster, const Profiles& profiles,
                       const Step& step, const std::vector<Derived>& derived) {
    double share = 0;
    for (const Derived& part : derived) share += part.share;
    return sim::step_interval(step.step_time_s, step.stages,
                              {.profile = profiles.of(cluster.gpu()).profile(),
                               .compute = scenario.plan.training.precision.compute,
                               .software = scenario.plan.training.software,
                               .by_scripts = is_run_by_scripts(scenario.plan),
                               .several_nodes = scenario.plan.ranks() > cluster.gpus_per_node(),
                               .derived = share});
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
    const std::shared_ptr<Site> site =
        options.session != nullptr ? options.session->site(scenario, store) : make_site(scenario, store);
    std::future<double> beside;
    if (options.scale_factor)
        beside =
            std::async(std::launch::async, [&] { return ReplicasAlone(*site).sequences_per_second(scenario.plan); });
    Described d = run_and_describe(scenario, *site, options);
    const double seconds = d.step.step_time_s;
    Scale grown;
    if (beside.valid())
        grown = {ReplicasAlone::scale_factor(scenario.plan, seconds, beside.get()), ReplicasAlone::gpus(scenario.plan)};
    const Interval interval = step_interval(scenario, site->cluster, site->profiles, d.step, d.derived);
    auto window = replica_window(scenario, *site);
    append(d.warnings, window_doubts(window.get(), d.step));
    auto whole = whole_run(scenario, std::move(d.job), window.get());
    std::string most;
    std::vector<std::string> better;
    if (options.advice) {
        most = bottleneck(scenario, d.step.stages, seconds, d.planned_step_time_s);
        better = advise(scenario, *site, *d.folding, d.step, d.memory_limits);
    }
    return {std::move(d.step),
            {grown, std::move(d.sharing), d.planned_step_time_s, interval, std::move(most), std::move(d.links),
             std::move(d.derived), std::move(better), std::move(d.warnings), std::move(whole), d.warm_up,
             std::move(window)}};
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
