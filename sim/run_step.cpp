#include "sim/run_step.hpp"

#include <numeric>
#include <utility>

#include "strategies/build.hpp"

namespace orrery::sim {

namespace {

/// Spans beyond this are recorded for one class of each role only.
constexpr std::size_t most_span_bytes = std::size_t{64} << 20U;

/// Ends that differ by less are the same end summed in another order.
constexpr double same_end = 1e-12;

/// Blocks are timed once; that is exact as long as their collectives stay inside a node.
strategies::StepProgram timeable(strategies::StepProgram step, const strategies::Plan& plan, const Network& network) {
    if (network.path(step.mesh.group(0, {strategies::Axis::tensor})).empty() &&
        plan.strategy.tensor <= network.gpus_per_node() && network.gpus_per_node() % plan.strategy.tensor == 0)
        return step;
    return strategies::unrolled(step);
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
      program(timeable(std::move(built), plan, network)),
      folding(fold_ranks(program, cluster, network, how.fold, how.known_folding)),
      costs(program, plan, cluster.gpu(), predictor, network, true, folding.get()) {
    if (how.all_spans || span_bytes(program, *folding) <= most_span_bytes) {
        std::vector<std::uint32_t> all(folding->classes.size());
        std::iota(all.begin(), all.end(), 0U);
        run(how.engine, all);
    } else {
        run_recording_few(how.engine);
    }
}

void RanStep::run(EngineKind kind, const std::vector<std::uint32_t>& record) {
    const auto engine =
        kind == EngineKind::fast ? make_fluid_engine(folding->capacities) : make_cm02_engine(folding->capacities);
    replayed = replay(program, costs, network, *folding, *engine, record);
    link_bytes.clear();
    for (std::uint32_t link = 0; link < folding->capacities.size(); ++link)
        link_bytes.push_back(engine->carried_bytes(link));
}

/// The slowest rank of a role is known only after the run: when it is not the one recorded, the run is repeated.
void RanStep::run_recording_few(EngineKind kind) {
    const std::size_t roles = program.programs.size();
    const auto first = last_of_each_role(folding->classes, roles);
    run(kind, first);
    const auto last = last_of_each_role(replayed.classes, roles);
    if (last != first) run(kind, last);
}

const RankClass& RanStep::slowest(std::uint32_t role) const {
    for (const std::uint32_t number : last_of_each_role(replayed.classes, program.programs.size()))
        if (replayed.classes[number].role == role) return replayed.classes[number];
    throw std::logic_error("a role without ranks");
}

}  // namespace orrery::sim
