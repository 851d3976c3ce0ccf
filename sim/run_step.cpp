#include "sim/run_step.hpp"

#include <numeric>
#include <stdexcept>
#include <utility>

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

/// Of `program`, that timeable() made of `built`.
Costs costs_of(const strategies::StepProgram& built, const strategies::StepProgram& program,
               const strategies::Plan& plan, const topology::Cluster& cluster, const calibrate::Predictor& predictor,
               const Network& network, const Folding& folding, const Running& how) {
    const auto costs = [&](const strategies::StepProgram& step) {
        return Costs(step, plan, cluster.gpu(), predictor, network, true, &folding);
    };
    if (slows_kernels(how) && blocks_are_local(plan, network)) return costs(built).unrolled(built);
    return costs(program);
}

std::size_t span_bytes(const strategies::StepProgram& step, const Folding& folding) {
    std::size_t spans = 0;
    for (const RankClass& rank : folding.classes) spans += step.programs[rank.role].ops.size();
    return spans * sizeof(Span);
}

/// The class of each role that ends last, first among equals; before anything ran, the role's first class.
std::vector<std::uint32_t> last_of_each_role(const std::vector<RankClass>& classes, std::size_t roles) {
    constexpr std::uint32_t none = Folding::none;
    std::vector<std::uint32_t> last(roles, none);
    for (std::uint32_t i = 0; i < classes.size(); ++i) {
        std::uint32_t& best = last[classes[i].role];
        if (best == none || classes[i].end > classes[best].end * (1 + same_end)) best = i;
    }
    std::erase(last, none);
    return last;
}

}  // namespace

RanStep::RanStep(const strategies::Plan& plan, const topology::Cluster& cluster, const calibrate::Predictor& predictor,
                 const Running& how)
    : RanStep(strategies::build(plan), plan, cluster, predictor, how) {}

RanStep::RanStep(strategies::StepProgram built, const strategies::Plan& plan, const topology::Cluster& cluster,
                 const calibrate::Predictor& predictor, const Running& how)
    : network(cluster, predictor),
      program(timeable(built, plan, network, how)),
      folding(fold_ranks(program, cluster, network,
                         how.fold && !(how.perturbed != nullptr && how.perturbed->each_rank()), how.known_folding,
                         how.perturbed != nullptr ? how.perturbed->marks() : Marks{}, plan.placement)),
      costs(costs_of(built, program, plan, cluster, predictor, network, *folding, how)) {
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
    replayed = replay(program, costs, network, *folding, *engine, record, how.perturbed);
    link_bytes.clear();
    for (std::uint32_t link = 0; link < folding->capacities.size(); ++link)
        link_bytes.push_back(engine->carried_bytes(link));
}

/// The slowest rank of a role is known only after the run: when it is not the one recorded, the run is repeated.
void RanStep::run_recording_few(const Running& how) {
    const std::size_t roles = program.programs.size();
    const auto first = last_of_each_role(folding->classes, roles);
    run(how, first);
    const auto last = last_of_each_role(replayed.classes, roles);
    if (last != first) run(how, last);
}

const RankClass& RanStep::slowest(std::uint32_t role) const {
    for (const std::uint32_t number : last_of_each_role(replayed.classes, program.programs.size()))
        if (replayed.classes[number].role == role) return replayed.classes[number];
    throw std::logic_error("a role without ranks");
}

}  // namespace orrery::sim
