#include "sim/costs.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/overloaded.hpp"
#include "sim/kernel_price.hpp"
#include "sim/module_hooks.hpp"
#include "strategies/compiled.hpp"
#include "strategies/hazards.hpp"

namespace orrery::sim {

namespace {

using strategies::Collective;
using strategies::Compute;
using strategies::Lane;
using strategies::Op;
using strategies::Program;
using strategies::StepProgram;

/// Whether a step has such operations: copies between devices and hosts, say.
template <class What>
bool has(const StepProgram& step) {
    return std::ranges::any_of(step.programs, [](const Program& program) {
        return std::ranges::any_of(program.ops, [](const Op& op) { return std::holds_alternative<What>(op.what); });
    });
}

/// What a kernel belongs to.
enum class Belongs : std::uint8_t { layer, experts, router, messages, framework };

/// Whether a graph of that scope replays it.
bool is_recorded(strategies::CudaGraphScope scope, Belongs to) {
    switch (scope) {
        case strategies::CudaGraphScope::full_iteration: break;
        case strategies::CudaGraphScope::outside_experts:
            return to == Belongs::layer || to == Belongs::router || to == Belongs::messages;
        case strategies::CudaGraphScope::routers: return to == Belongs::router;
    }
    return true;
}

/// Of the host, for one kernel, by its way. Filling what it allocates is one more kernel, which PyTorch dispatches.
/// Transformer Engine has layers; optimizers and what stands between its modules are PyTorch's. What calls a
/// collective or an optimizer's loop has as much Python beside PyTorch's own modules as in Megatron-LM.
EnumTable<hardware::Way, double> dispatch_seconds(const strategies::Training& training, const topology::Gpu& gpu,
                                                  const calibrate::Predictor& predictor, Belongs to) {
    using hardware::Software;
    using hardware::Way;
    if (training.cuda_graph && is_recorded(training.cuda_graph_scope, to)) return {0, 0, 0};
    const double launch = predictor.constant("launch_seconds");
    const auto of = [&](Software software, Way way) {
        return hardware::dispatch_seconds(software, gpu.host, launch, way);
    };
    const bool framework = to == Belongs::framework || to == Belongs::router;
    const bool plain = (framework && training.software == Software::transformer_engine) ||
                       ((framework || to == Belongs::messages) && training.software == Software::pytorch);
    // What is joined by torch.compile is one launch.
    const bool compiled = !plain && strategies::is_compiled(training);
    const auto each = [&](Way way) {
        return of(plain ? Software::megatron_lm : training.software, way) /
                   (compiled ? hardware::launches_of_kernel : 1) +
               (training.deterministic ? hardware::deterministic_fills * of(Software::megatron_lm, way) : 0);
    };
    return {each(Way::forward), each(Way::backward), each(Way::neither)};
}

/// A graph's kernels follow each other closer than those of a stream.
double gap_seconds(const strategies::Training& training, const calibrate::Predictor& predictor) {
    const double gap = predictor.constant("kernel_gap_seconds");
    const bool graph = training.cuda_graph && training.cuda_graph_scope == strategies::CudaGraphScope::full_iteration;
    return graph ? std::min(gap, predictor.constant_or("graph_gap_seconds", gap)) : gap;
}

hardware::Way way_of(strategies::Phase phase) {
    using strategies::Phase;
    switch (phase) {
        case Phase::forward:
        case Phase::recompute: return hardware::Way::forward;
        case Phase::backward: return hardware::Way::backward;
        case Phase::gradient:
        case Phase::optimizer: break;
    }
    return hardware::Way::neither;
}

}  // namespace

ShareOf share_of(const kernels::Kernel& kernel) {
    return std::visit(Overloaded{[](const kernels::Gemm&) { return ShareOf::gemm; },
                                 [](const kernels::Attention&) { return ShareOf::attention; },
                                 [](const kernels::Pointwise&) { return ShareOf::memory_bound; },
                                 [](const kernels::Convolution&) { return ShareOf::gemm; },
                                 [](const kernels::Pooling&) { return ShareOf::memory_bound; },
                                 [](const kernels::BatchNorm&) { return ShareOf::memory_bound; },
                                 [](const kernels::StateSpace&) { return ShareOf::memory_bound; }},
                      kernel);
}

bool is_memory_bound(const kernels::Kernel& kernel) { return share_of(kernel) == ShareOf::memory_bound; }

Costs::Costs(const StepProgram& step, const strategies::Plan& plan, const topology::Gpu& gpu,
             const calibrate::Predictor& predictor, const Network& network, BesideCollectives beside,
             const Folding* folding, std::uint32_t rank, StepClock clock)
    : network_(network),
      folding_(folding),
      rank_(rank),
      placement_(plan.placement),
      gap_(gap_seconds(plan.training, predictor)),
      dispatch_(dispatch_seconds(plan.training, gpu, predictor, Belongs::layer)),
      routed_dispatch_(dispatch_seconds(plan.training, gpu, predictor, Belongs::experts)),
      message_dispatch_(dispatch_seconds(plan.training, gpu, predictor, Belongs::messages)),
      router_dispatch_(dispatch_seconds(plan.training, gpu, predictor, Belongs::router)),
      plain_dispatch_(dispatch_seconds(plan.training, gpu, predictor, Belongs::framework)),
      looped_product_(looped_product_seconds(predictor.constant("launch_seconds"))),
      looped_message_(looped_message_seconds(predictor.constant("launch_seconds"))),
      slows_(beside == BesideCollectives::slowed && predictor.constant("overlap_slowdown") > 1),
      gpu_(gpu),
      predictor_(predictor) {
    const double launch = predictor.constant("launch_seconds");
    const KernelPrices prices(step, plan, gpu, predictor, network.gpus_per_node(), clock);
    for (const kernels::Kernel& kernel : step.kernels) {
        const KernelPrice price = prices.of(kernel);
        const Launches launches =
            routed_dispatch_[hardware::Way::neither] > 0 ? launches_of(kernel, plan, gpu.host, launch) : Launches{};
        const auto* const product = std::get_if<kernels::Gemm>(&kernel);
        kernels_.push_back({price.seconds() + gap_, price.estimate.extrapolated, price.estimate.derived, launches,
                            product != nullptr, product != nullptr && product->spared > 0,
                            hook_seconds(kernel, plan, gpu.host)});
    }
    const topology::GpuId own = plan.placement.gpu(rank);
    if (has<strategies::Copy>(step)) {
        require_host(plan, network.cluster(), own);
        copies_.emplace(network.cluster(), predictor, own, plan.placement, step.mesh.ranks());
    }
    if (has<strategies::HostCompute>(step))
        cores_.emplace(network.cluster(), predictor, own, plan.placement, step.mesh.ranks(), plan.training.software);
    if (plan.uses_drives()) drives_.emplace(network.cluster(), own, plan, step.mesh.ranks());
    for (const Program& block : step.blocks) {
        Body& body = bodies_.emplace_back(&block, strategies::Hazards(block), std::vector<HandOut>{});
        for (const Op& op : block.ops) body.hand_outs.push_back(hand_out(op));
    }
    for (std::uint32_t block = 0; block < step.blocks.size(); ++block) {
        Beside lane;
        blocks_.push_back(block_times(step, block, lane));
        repeated_.push_back({blocks_.back().cost});
    }
    programs_.resize(step.programs.size());
    calls_.resize(step.programs.size());
    slowed_.resize(step.programs.size());
    steady_.resize(step.programs.size());
    for (std::uint32_t role = 0; role < step.programs.size(); ++role) time(step, role);
}

/// One group stands for all of its set: those of the tensor and expert axes in blocks lie inside nodes, and take as
/// long; elsewhere its time only says how much of the kernels beside it is slowed down.
const Costs::Group& Costs::group(const StepProgram& step, strategies::AxisSet set) const {
    const auto [place, fresh] = groups_.try_emplace(set.bits());
    if (!fresh) return place->second;
    const std::uint32_t number = folding_ == nullptr ? Folding::none : folding_->group_of_rank(rank_, set);
    if (number == Folding::none) {
        place->second.gpus = placement_.gpus(step.mesh.group(rank_, set));
        place->second.alone = network_.tightest(network_.path(place->second.gpus));
    } else {
        place->second.gpus = folding_->groups[number].gpus;
        place->second.alone = folding_->groups[number].alone;
    }
    if (slows_) place->second.lost = contention_of(network_, place->second.gpus, gpu_, predictor_);
    return place->second;
}

/// What an engine's loop hands out in parts moves by copy engines, or by kernels of a few blocks (Transformer Engine's
/// userbuffers, PyTorch's symmetric memory).
Contention Costs::lost_beside(const StepProgram& step, const Op& op) const {
    const Contention lost = group(step, std::get<Collective>(op.what).group).lost;
    return op.label.looped ? Contention{lost.traffic, lost.traffic} : lost;
}

double Costs::collective_seconds(const StepProgram& step, const Collective& collective) const {
    const auto [place, fresh] =
        collectives_.try_emplace({collective.on_links(), collective.group.bits(), collective.bytes, collective.once});
    if (fresh) {
        const auto& [gpus, alone, lost] = group(step, collective.group);
        const auto bytes = static_cast<double>(collective.bytes);
        place->second = network_.alone(
            network_.collective(collective.on_links(), gpus, bytes, alone, step.once_a_node(collective)), alone);
    }
    return place->second;
}

OpCost Costs::cost(const StepProgram& step, const Op& op) const {
    return std::visit(
        Overloaded{[&](const Compute& c) { return kernel_cost(op, kernels_[c.kernel].seconds); },
                   [&](const strategies::HostCompute& c) {
                       return OpCost{cores_->seconds(step.kernels[c.kernel]), 0, 0, 0};
                   },
                   [&](const strategies::Call& c) { return call_alone(c); },
                   [&](const strategies::HostSync&) { return OpCost{}; },
                   [&](const strategies::Copy& c) {
                       if (c.of_drives()) return OpCost{drives_->seconds(c), 0, 0, 0};
                       const bool out = c.to != strategies::Copy::To::device;
                       return kernel_cost(op, copies_->seconds(out ? kernels::CopyKind::device_to_host
                                                                   : kernels::CopyKind::host_to_device,
                                                               static_cast<double>(c.bytes)));
                   },
                   // Communication: the time depends on the others; here is what its launch costs the host.
                   [&](const auto&) {
                       return OpCost{0, dispatch(op), dispatch(op), 0};
                   }},
        op.what);
}

double Costs::dispatch(const Op& op) const {
    const hardware::Way way = way_of(op.label.phase);
    if (op.label.phase == strategies::Phase::optimizer && is_product(op))
        return plain_dispatch_[way] / hardware::plain_kernels_per_dispatch;
    if (op.label.phase == strategies::Phase::optimizer) return plain_dispatch_[way];
    return layer_dispatch(op, way) + hooks(op);
}

double Costs::layer_dispatch(const Op& op, hardware::Way way) const {
    if (op.label.single) return plain_dispatch_[way] / hardware::plain_kernels_per_dispatch;
    if (op.label.plain) return op.label.routed ? plain_dispatch_[way] : router_dispatch_[way];
    if (op.label.looped)
        return std::min(dispatch_[way], std::holds_alternative<Compute>(op.what) ? looped_product_ : looped_message_);
    if (op.label.routed) return routed_dispatch_[way];
    return std::holds_alternative<Compute>(op.what) ? dispatch_[way] : message_dispatch_[way];
}

BlockTimes Costs::block_times(const StepProgram& step, std::uint32_t number, Beside& beside) const {
    const Program& block = step.blocks[number];
    BlockTimes times;
    for (const Op& op : block.ops) {
        if (op.lane == Lane::compute) beside.wait(block, op);
        if (const auto* compute = std::get_if<Compute>(&op.what)) {
            const double alone = kernels_[compute->kernel].seconds;
            const Slowed slowed = beside.kernel(alone, kernels_[compute->kernel].spares);
            times.ops.push_back({alone + slowed.total(), slowed});
        } else {
            const double seconds = collective_seconds(step, std::get<Collective>(op.what));
            op.lane == Lane::compute ? beside.pass(seconds) : beside.begin(block, op, seconds, lost_beside(step, op));
            times.ops.push_back({seconds});
        }
    }
    std::vector<Span> spans;
    times.cost.device = run(number, times.ops, 0.0, never, spans);
    times.shares = shares_of(step, block, times, awaited_exchanges(number, spans));
    times.cost.host_to_end = run(number, times.ops, never, 0.0, spans);
    times.cost.first_dispatch = bodies_[number].hand_outs.front().first;
    for (const HandOut& out : bodies_[number].hand_outs) times.cost.host += out.all;
    return times;
}

/// Seconds in which the compute lane of a block waits for exchanges that run beside it.
double Costs::awaited_exchanges(std::uint32_t number, const std::vector<Span>& spans) const {
    const auto& [program, hazards, hand_outs] = bodies_[number];
    double now = 0, waited = 0;
    for (std::uint32_t i = 0; i < program->ops.size(); ++i) {
        if (program->ops[i].lane != Lane::compute) continue;
        for (const std::uint32_t other : hazards.of(i)) {
            if (program->ops[other].lane != Lane::expert || spans[other].end < spans[i].begin) continue;
            waited += std::max(0.0, spans[i].begin - now);
            break;
        }
        now = spans[i].end;
    }
    return waited;
}

/// What is not its kernels' is its collectives': `awaited` seconds those of exchanges beside them.
Shares Costs::shares_of(const StepProgram& step, const Program& block, const BlockTimes& times, double awaited) const {
    Shares shares;
    shares.expert_comm = awaited;
    double rest = times.cost.device - awaited;
    for (std::size_t i = 0; i < block.ops.size(); ++i) {
        const auto& [seconds, slowed] = times.ops[i];
        if (block.ops[i].lane != Lane::compute) continue;
        if (const auto* compute = std::get_if<Compute>(&block.ops[i].what)) {
            part_of(shares, share_of(step.kernels[compute->kernel])) += seconds - slowed.total();
            shares.expert_comm += slowed.experts;
            shares.data_comm += slowed.data;
            shares.offload += slowed.copies;
            rest -= seconds - slowed.tensor;
        } else if (std::get<Collective>(block.ops[i].what).exchanges_tokens()) {
            shares.expert_comm += seconds;
            rest -= seconds;
        }
    }
    constexpr double rounding = 1e-9;  // of differences of sums: no time of collectives
    shares.tensor_comm = rest < rounding * times.cost.device ? 0 : rest;
    return shares;
}

const OpCost& Costs::call_alone(const strategies::Call& call) const {
    std::vector<OpCost>& costs = repeated_[call.block];
    while (costs.size() < call.times) costs.push_back(costs.back().then(costs.front()));
    return costs[call.times - 1];
}

/// times: what is written of each time.
OpCost Costs::call_beside(const StepProgram& step, const strategies::Call& call, Beside& beside,
                          std::vector<BlockTimes>& times) const {
    times.push_back(block_times(step, call.block, beside));
    OpCost cost = times.front().cost;
    while (times.size() < call.times) {
        times.push_back(block_times(step, call.block, beside));
        cost = cost.then(times.back().cost);
    }
    return cost;
}

/// All operations of a role's program, in order, with what runs beside them.
void Costs::time(const StepProgram& step, std::uint32_t role) {
    const Program& program = step.programs[role];
    std::vector<OpCost>& costs = programs_[role];
    costs.reserve(program.ops.size());
    Beside beside;
    std::vector<double> left;  // by what runs beside, one round before the end of those that are written
    const std::vector<Beginning> beginnings = slows_ ? beginnings_among_data_ranks(program) : std::vector<Beginning>{};
    auto next = beginnings.begin();
    const std::uint32_t end = program.rounds.end();
    for (std::uint32_t i = 0; i < program.ops.size(); ++i) {
        if (program.rounds.ops > 0 && i == end - program.rounds.ops) left = beside.left();
        if (program.rounds.ops > 0 && i == end) steady_[role] = beside.left() == left;
        for (; next != beginnings.end() && next->at <= i; ++next) {
            const Op& begun = program.ops[next->op];
            beside.begin(program, begun, collective_seconds(step, std::get<Collective>(begun.what)),
                         lost_beside(step, begun));
        }
        const Op& op = program.ops[i];
        const auto* const call = std::get_if<strategies::Call>(&op.what);
        if (call != nullptr && beside.nothing()) {  // most operations
            costs.push_back(call_alone(*call));
            continue;
        }
        OpCost& now = costs.emplace_back(cost(step, op));
        if (!slows_) continue;
        const bool in_order = op.lane == Lane::compute || std::holds_alternative<strategies::HostSync>(op.what);
        if (in_order) beside.wait(program, op);
        if (const auto* collective = std::get_if<Collective>(&op.what);
            collective != nullptr && !in_order && !strategies::among_data_ranks(op.lane))
            beside.begin(program, op, collective_seconds(step, *collective), lost_beside(step, op));
        if (const auto* copy = std::get_if<strategies::Copy>(&op.what);
            copy != nullptr && !copy->of_drives() && copies_->takes_cores())
            beside.begin(program, op, now.device, contention_on_core(predictor_));
        if (beside.nothing() || !in_order) continue;
        if (call != nullptr) {
            now = call_beside(step, *call, beside, calls_[role][i]);
        } else if (const KernelCost* const kernel = kernel_of(op)) {
            const Slowed slowed = slowed_[role].emplace(i, beside.kernel(now.device, kernel->spares)).first->second;
            now = kernel_cost(op, now.device + slowed.total());
        } else if (const auto* collective = std::get_if<Collective>(&op.what)) {
            beside.pass(collective_seconds(step, *collective));
        }
    }
}

Slowed Costs::slowed(std::uint32_t role, std::uint32_t op) const {
    const auto found = slowed_[role].find(op);
    return found == slowed_[role].end() ? Slowed{} : found->second;
}

const BlockTimes& Costs::call(std::uint32_t role, std::uint32_t op, std::uint32_t block, std::uint32_t time) const {
    const auto found = calls_[role].find(op);
    return found == calls_[role].end() ? blocks_[block] : found->second[time];
}

}  // namespace orrery::sim
