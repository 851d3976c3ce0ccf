#include "sim/run_step.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "base/error.hpp"
#include "sim/fold_like.hpp"
#include "sim/link_loads.hpp"
#include "sim/simgrid.hpp"
#include "sim/whole_bytes.hpp"
#include "strategies/build.hpp"

namespace orrery::sim {

namespace {

/// Spans beyond this are recorded for one class of each role only.
constexpr std::size_t most_span_bytes = std::size_t{64} << 20U;

/// A program is shortened to this part of it, or not at all.
constexpr double longest_part = 0.75;

/// Ends that differ by less are the same end summed in another order.
constexpr double same_end = 1e-12;

/// Whether each tensor group lies inside a node, so that nothing contends inside a block.
bool blocks_are_local(const strategies::Plan& plan, const Network& network) {
    return strategies::layer_groups_are_local(plan.mesh(), plan.placement, network.gpus_per_node());
}

std::unique_ptr<Engine> make_engine(EngineKind kind, const std::vector<double>& capacities,
                                    RateWatch* watch = nullptr) {
    switch (kind) {
        case EngineKind::fast: return make_fluid_engine_under(run_by_itself, capacities, watch);
        case EngineKind::fast_in_simgrid: return make_fluid_engine_under(simgrid().main_loop, capacities, watch);
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

std::vector<std::uint32_t> numbers(std::size_t count) {
    std::vector<std::uint32_t> all(count);
    std::iota(all.begin(), all.end(), 0U);
    return all;
}

/// A rank takes about as long to fold as four operations to replay.
bool worth_folding_again(const strategies::StepProgram& step, const Folding& folding) {
    std::size_t operations = 0;
    for (const RankClass& rank : folding.classes) operations += step.programs[rank.role].ops.size();
    return operations > 4 * folding.class_of.size();
}

bool shortened(const strategies::StepProgram& program) { return program.programs.front().rounds.left_out > 0; }

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
    if (own.steps > 1 && how.perturbed != nullptr)
        throw Error("", "/perturbations", fmt::format("beside a program of {} steps at once", own.steps),
                    "leave them out: they are drawn step by step");
    std::vector<RanBeside> others;
    for (const scenarios::OtherJob& job : how.others) {
        strategies::StepProgram built = strategies::build(job.plan);
        others.push_back({timeable(built, job.plan, network, {}), nullptr, std::nullopt, {}});
    }
    return others;
}

std::shared_ptr<const Folding> fold_known(Traffic traffic, const Network& network, bool fold, const Running& how,
                                          Binding binding = Binding::all) {
    if (how.like != nullptr && fold && binding == Binding::all && how.like->traffic != traffic)
        if (auto alike = fold_like(*how.like, traffic, network)) return alike;
    if (how.foldings != nullptr) return how.foldings->of(std::move(traffic), network, fold, binding);
    return fold_ranks(std::move(traffic), network.cluster(), network, fold, binding);
}

/// Where trunks are slow that a scenario names, those that are loaded alike are not alike.
topology::Cluster watched(const topology::Cluster& cluster, const Perturbed* perturbed) {
    if (perturbed == nullptr) return cluster;
    const std::vector<std::uint32_t>& marks = perturbed->marks().link;
    const std::size_t trunks = std::min<std::size_t>(cluster.fabric().port_links(), marks.size());
    const bool slow = std::any_of(marks.begin() + static_cast<std::ptrdiff_t>(trunks), marks.end(),
                                  [](std::uint32_t mark) { return mark != 0; });
    return slow ? cluster.with_every_link() : cluster;
}

/// The folding of the step; those of the others are written into them.
std::shared_ptr<const Folding> fold(const strategies::StepProgram& program, const strategies::Plan& plan,
                                    const Network& network, const Running& how, std::vector<RanBeside>& others) {
    const bool fold = how.fold && !(how.perturbed != nullptr && how.perturbed->each_rank());
    const Marks marks = how.perturbed != nullptr ? how.perturbed->marks() : Marks{};
    const topology::Cluster& cluster = network.cluster();
    if (others.empty() && how.perturbed == nullptr)
        return fold_known(Traffic(program, plan.placement), network, fold, how);
    if (others.empty()) return fold_ranks(program, cluster, network, fold, nullptr, marks, plan.placement);
    std::vector<PlacedProgram> jobs{{&program, &plan.placement}};
    for (std::size_t i = 0; i < others.size(); ++i) jobs.push_back({&others[i].program, &how.others[i].plan.placement});
    const auto foldings = fold_jobs(jobs, cluster, network, fold, marks);
    for (std::size_t i = 0; i < others.size(); ++i) others[i].folding = foldings[i + 1];
    return foldings.front();
}

/// Micro-batches that are written until a period shows. Where stages begin with less to do than the slowest some run
/// ahead of it for many rounds, until their inputs or outputs stop them.
std::vector<std::uint32_t> lengths(const strategies::Plan& plan) {
    const strategies::PipelineShape shape = plan.pipeline_shape();
    const std::uint32_t round = strategies::schedule_of(plan.strategy.schedule).round(shape);
    std::vector<std::uint32_t> list;
    for (std::uint32_t rounds = round > 1 ? 3 : 4; rounds <= 64; rounds *= 4) {
        const std::uint32_t length = shape.pipeline + rounds * round;
        if (shape.steps == 1 && length >= longest_part * shape.micro_batches) break;
        list.push_back(length);
    }
    return list;
}

}  // namespace

RanStep::RanStep(const strategies::Plan& plan, const topology::Cluster& cluster, const Profiles& profiles,
                 const Running& how)
    : RanStep(strategies::build(plan), plan, cluster, profiles, how) {}

RanStep::RanStep(strategies::StepProgram built, const strategies::Plan& plan, const topology::Cluster& cluster,
                 const Profiles& profiles, const Running& how)
    : network(watched(cluster, how.perturbed), profiles, insisted_algorithms(plan.strategy)),
      program(timeable(built, plan, network, how)),
      others(beside(program, how, network)),
      folding(fold(program, plan, network, how, others)),
      costs(program, plan, network, BesideCollectives::slowed, folding.get()) {
    for (std::size_t i = 0; i < others.size(); ++i)
        others[i].costs.emplace(others[i].program, how.others[i].plan, network, BesideCollectives::slowed,
                                others[i].folding.get());
    const Tapes tapes(program, costs, folding->traffic, folding->classes);
    if (how.few_spans && run_as_one(how, tapes)) return;
    if (how.all_spans || span_bytes(program, *folding) <= most_span_bytes)
        run_whole(how, tapes);
    else
        run_recording_few(how, tapes);
}

void RanStep::run_whole(const Running& how, const Tapes& tapes) {
    run(how, tapes, numbers(folding->classes.size()));
    find_rounds(tapes, replayed.classes);
    if (period) repeat(program, *period, replayed);
}

void RanStep::run(const Running& how, const Tapes& tapes, const std::vector<std::uint32_t>& record) {
    const auto engine = make_engine(how.engine, folding->capacities);
    std::vector<ReplayJob> jobs{{&program, &costs, folding.get(), record, 0, &tapes}};
    for (std::size_t i = 0; i < others.size(); ++i)
        jobs.push_back({&others[i].program, &*others[i].costs, others[i].folding.get(), {}, how.others[i].starts_at});
    ReplayedJobs ran = replay(jobs, network, *engine, how.perturbed, how.progress);
    replayed = std::move(ran.jobs.front());
    for (std::size_t i = 0; i < others.size(); ++i) others[i].replayed = std::move(ran.jobs[i + 1]);
    link_bytes = std::move(ran.link_bytes);
}

/// The slowest ranks of a role are known only after the run: when they are not those recorded, the run is repeated.
void RanStep::run_recording_few(const Running& how, const Tapes& tapes) {
    const auto first = last_of_kinds(folding->classes, program.programs.size(), costs);
    run(how, tapes, first);
    const auto last = slowest_of_kinds();
    if (last != first) run(how, tapes, last);
}

void RanStep::find_rounds(const Tapes& tapes, const std::vector<RankClass>& classes) {
    if (shortened(program) && tapes.steady()) period = find_period(program, costs, tapes, classes);
}

Replayed RanStep::replay_alone(const Running& how, const Tapes& tapes, const Folding& by, const KnownStart* known,
                               RateWatch* watch) {
    const auto engine = make_engine(how.engine, by.capacities, watch);
    const ReplayJob job{&program, &costs, &by, numbers(by.classes.size()), 0, &tapes, known};
    ReplayedJobs ran = replay({&job, 1}, network, *engine, nullptr, how.progress);
    link_bytes = std::move(ran.link_bytes);
    return std::move(ran.jobs.front());
}

/// By the traffic before they meet: where NICs alone bind, by a folding that counts nothing else; no folding where none
/// is much coarser than the step's own.
RanStep::Replicas RanStep::replay_replicas(const Running& how, const Tapes& tapes) {
    Traffic traffic = before_replicas_meet(program, folding->traffic);
    if (traffic == folding->traffic) return {};
    const auto all = fold_known(traffic, network, true, how);
    const auto nics = fold_known(std::move(traffic), network, true, how, Binding::nics);
    if (2 * nics->classes.size() <= all->classes.size() && LinkLoads::can_watch(*nics, *all)) {
        LinkLoads loads(*nics, *all, network.cluster());
        Replayed replayed_by_nics = replay_alone(how, tapes, *nics, nullptr, &loads);
        if (loads.all_held()) return {nics, std::move(replayed_by_nics)};
    }
    if (2 * all->classes.size() > folding->classes.size()) return {};
    return {all, replay_alone(how, tapes, *all, nullptr, nullptr)};
}

/// Until the first collective among replicas, by a folding that knows none of their groups; from there by the step's
/// own. Whether it could be done, or a shortened step showed no period.
bool RanStep::run_as_one(const Running& how, const Tapes& tapes) {
    // Adaptive routes are those of the step's own folding.
    const bool fluid = how.engine == EngineKind::fast || how.engine == EngineKind::fast_in_simgrid;
    const bool alone = fluid && others.empty() && how.perturbed == nullptr && folding->folded &&
                       network.cluster().routing().policy != topology::RoutingPolicy::adaptive;
    if (!alone || !worth_folding_again(program, *folding)) return false;
    const auto [coarse, first] = replay_replicas(how, tapes);
    if (coarse == nullptr || !std::isfinite(first.meets)) return false;
    const KnownStart known{coarse.get(), &first.classes,
                           last_quiet_moment(*folding, *coarse, tapes, first.classes, first.meets)};
    find_rounds(tapes, first.classes);
    if (period && period->at > known.until) period.reset();
    if (shortened(program) && !period) return true;
    replayed = replay_alone(how, tapes, *folding, &known, nullptr);
    complete_spans(known, tapes);
    if (period) repeat(program, *period, replayed);
    return true;
}

/// Of the classes that end last; others have none.
void RanStep::complete_spans(const KnownStart& known, const Tapes& tapes) {
    const std::vector<std::uint32_t> last = slowest_of_kinds();
    for (std::uint32_t number = 0; number < replayed.classes.size(); ++number) {
        RankClass& rank = replayed.classes[number];
        const std::vector<Span> rest = std::exchange(rank.spans, {});
        if (std::ranges::find(last, number) == last.end()) continue;
        const RankClass& before = (*known.classes)[known.folding->class_of[rank.representative]];
        const Tape& tape = tapes.of(rank);
        rank.spans = before.spans;
        for (std::size_t i = 0, first = tape.ops.size() - rest.size(); i < tape.ops.size(); ++i) {
            if (!known.knows(tape.ops[i], before.spans[i])) rank.spans[i] = rest[i - first];
        }
        std::ranges::copy_if(before.data_waits, std::back_inserter(rank.data_waits),
                             [&](const Wait& wait) { return known.knows(tape.ops[wait.op], before.spans[wait.op]); });
    }
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

const RankClass& RanStep::slowest_of_stage(std::uint32_t stage) const {
    const std::uint32_t of_stage = program.programs_of_stage();
    const RankClass* last = &slowest(stage * of_stage);
    for (std::uint32_t role = stage * of_stage + 1; role < (stage + 1) * of_stage; ++role)
        if (slowest(role).end > last->end * (1 + same_end)) last = &slowest(role);
    return *last;
}

strategies::StepProgram short_program(const strategies::Plan& plan) {
    if (strategies::schedule_of(plan.strategy.schedule).asynchronous) return strategies::build(plan);
    for (const std::uint32_t length : lengths(plan))
        if (auto program = strategies::build_shortened(plan, length)) return std::move(*program);
    return strategies::build(plan);
}

std::unique_ptr<RanStep> run_plan(const strategies::Plan& plan, const topology::Cluster& cluster,
                                  const Profiles& profiles, const Running& how) {
    Running shortened = how;
    Foldings own;
    if (how.foldings == nullptr) shortened.foldings = &own;
    shortened.few_spans = !how.all_spans;
    if (how.perturbed == nullptr && how.others.empty() && !how.all_spans)
        for (const std::uint32_t length : lengths(plan)) {
            std::optional<strategies::StepProgram> program = strategies::build_shortened(plan, length);
            if (!program) continue;
            auto ran = std::make_unique<RanStep>(std::move(*program), plan, cluster, profiles, shortened);
            if (ran->complete()) return ran;
        }
    return std::make_unique<RanStep>(plan, cluster, profiles, shortened);
}

}  // namespace orrery::sim
