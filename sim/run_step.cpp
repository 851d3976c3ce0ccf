#include "sim/run_step.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "base/error.hpp"
#include "sim/whole_bytes.hpp"
#include "strategies/build.hpp"

namespace orrery::sim {

namespace {

/// Spans beyond this are recorded for one class of each role only.
constexpr std::size_t most_span_bytes = std::size_t{64} << 20U;

/// Ends that differ by less are the same end summed in another order.
constexpr double same_end = 1e-12;

/// Whether each tensor group lies inside a node, so that nothing contends inside a block.
bool blocks_are_local(const strategies::Plan& plan, const Network& network) {
    return strategies::layer_groups_are_local(plan.mesh(), plan.placement, network.gpus_per_node());
}

std::unique_ptr<Engine> make_engine(EngineKind kind, const std::vector<double>& capacities) {
    switch (kind) {
        case EngineKind::fast: return make_fluid_engine(capacities);
        case EngineKind::fast_in_simgrid: return make_fluid_engine_in_simgrid(capacities);
        case EngineKind::simgrid: return make_cm02_engine(capacities);
        case EngineKind::fast_in_whole_bytes: return make_whole_byte_engine(capacities);
    }
    throw std::logic_error("an engine without a name");
}

bool slows_kernels(const Running& how) { return how.perturbed != nullptr && how.perturbed->kernels(); }

/// Blocks are timed once; that is exact as long as they are local and their kernels go to plan. Else the step is
/// unrolled. What is returned as it is is moved from.
strategies::StepProgram timeable(strategies::StepProgram& step, const strategies::Plan& plan, const Network& network,
                                 const Running& how) {
    if (slows_kernels(how) || !blocks_are_local(plan, network)) return strategies::unrolled(step);
    return std::move(step);
}

std::size_t span_bytes(const strategies::StepProgram& step, const Folding& folding) {
    std::size_t spans = 0;
    for (const RankClass& rank : folding.classes) spans += step.programs[rank.role].ops.size();
    return spans * sizeof(Span);
}

/// The class of each role on each kind of GPU that ends last, first among equals; before anything ran, the first one.
/// Ascending by role.
std::vector<std::uint32_t> last_of_kinds(const std::vector<RankClass>& classes, std::size_t roles,
                                         const KindCosts& costs) {
    constexpr std::uint32_t none = Folding::none;
    std::vector<std::uint32_t> last(roles * costs.size(), none);
    for (std::uint32_t i = 0; i < classes.size(); ++i) {
        std::uint32_t& best = last[classes[i].role * costs.size() + costs.number(classes[i].representative)];
        if (best == none || classes[i].end > classes[best].end * (1 + same_end)) best = i;
    }
    std::erase(last, none);
    return last;
}

/// Programs of the other jobs, which run as planned.
std::vector<RanBeside> beside(const strategies::StepProgram& own, const Running& how, const Network& network) {
    if (own.steps > 1 && !how.others.empty())
        throw Error("", "/other_jobs", fmt::format("beside a program of {} steps at once", own.steps),
                    "leave them out: jobs are repeated step by step");
    std::vector<RanBeside> others;
    for (const scenarios::OtherJob& job : how.others) {
        strategies::StepProgram built = strategies::build(job.plan);
        others.push_back({timeable(built, job.plan, network, {}), nullptr, std::nullopt, {}});
    }
    return others;
}

/// The folding of the step; those of the others are written into them.
std::shared_ptr<const Folding> fold(const strategies::StepProgram& program, const strategies::Plan& plan,
                                    const Network& network, const Running& how, std::vector<RanBeside>& others) {
    const bool fold = how.fold && !(how.perturbed != nullptr && how.perturbed->each_rank());
    const Marks marks = how.perturbed != nullptr ? how.perturbed->marks() : Marks{};
    const topology::Cluster& cluster = network.cluster();
    if (others.empty()) return fold_ranks(program, cluster, network, fold, how.known_folding, marks, plan.placement);
    std::vector<PlacedProgram> jobs{{&program, &plan.placement}};
    for (std::size_t i = 0; i < others.size(); ++i) jobs.push_back({&others[i].program, &how.others[i].plan.placement});
    const auto foldings = fold_jobs(jobs, cluster, network, fold, marks);
    for (std::size_t i = 0; i < others.size(); ++i) others[i].folding = foldings[i + 1];
    return foldings.front();
}

}  // namespace

RanStep::RanStep(const strategies::Plan& plan, const topology::Cluster& cluster, const Profiles& profiles,
                 const Running& how)
    : RanStep(strategies::build(plan), plan, cluster, profiles, how) {}

RanStep::RanStep(strategies::StepProgram built, const strategies::Plan& plan, const topology::Cluster& cluster,
                 const Profiles& profiles, const Running& how)
    : network(cluster, profiles),
      program(timeable(built, plan, network, how)),
      others(beside(program, how, network)),
      folding(fold(program, plan, network, how, others)),
      costs(program, plan, network, true, folding.get()) {
    for (std::size_t i = 0; i < others.size(); ++i)
        others[i].costs.emplace(others[i].program, how.others[i].plan, network, true, others[i].folding.get());
    if (how.all_spans || span_bytes(program, *folding) <= most_span_bytes) {
        std::vector<std::uint32_t> all(folding->classes.size());
        std::iota(all.begin(), all.end(), 0U);
        run(how, all);
    } else {
        run_recording_few(how);
    }
}

void RanStep::run(const Running& how, const std::vector<std::uint32_t>& record) {
    const auto engine = make_engine(how.engine, folding->capacities);
    std::vector<ReplayJob> jobs{{&program, &costs, folding.get(), record}};
    for (std::size_t i = 0; i < others.size(); ++i)
        jobs.push_back({&others[i].program, &*others[i].costs, others[i].folding.get(), {}, how.others[i].starts_at});
    ReplayedJobs ran = replay(jobs, network, *engine, how.perturbed, how.progress);
    replayed = std::move(ran.jobs.front());
    for (std::size_t i = 0; i < others.size(); ++i) others[i].replayed = std::move(ran.jobs[i + 1]);
    link_bytes = std::move(ran.link_bytes);
}

/// The slowest ranks of a role are known only after the run: when they are not those recorded, the run is repeated.
void RanStep::run_recording_few(const Running& how) {
    const auto first = last_of_kinds(folding->classes, program.programs.size(), costs);
    run(how, first);
    const auto last = slowest_of_kinds();
    if (last != first) run(how, last);
}

std::vector<std::uint32_t> RanStep::slowest_of_kinds() const {
    return last_of_kinds(replayed.classes, program.programs.size(), costs);
}

const RankClass& RanStep::slowest(std::uint32_t role) const {
    const RankClass* slowest = nullptr;
    for (const std::uint32_t number : slowest_of_kinds()) {
        const RankClass& each = replayed.classes[number];
        if (each.role == role && (slowest == nullptr || each.end > slowest->end * (1 + same_end))) slowest = &each;
    }
    if (slowest == nullptr) throw std::logic_error("a role without ranks");
    return *slowest;
}

}  // namespace orrery::sim
