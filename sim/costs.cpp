#include "sim/costs.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "base/overloaded.hpp"
#include "sim/caches.hpp"
#include "strategies/hazards.hpp"

namespace orrery::sim {

namespace {

using strategies::Collective;
using strategies::Compute;
using strategies::Lane;
using strategies::Op;
using strategies::Program;
using strategies::StepProgram;

/// Whether a step moves anything between devices and hosts.
bool copies(const StepProgram& step) {
    return std::ranges::any_of(step.programs, [](const Program& program) {
        return std::ranges::any_of(program.ops,
                                   [](const Op& op) { return std::holds_alternative<strategies::Copy>(op.what); });
    });
}

constexpr double never = -std::numeric_limits<double>::infinity();

}  // namespace

Shares& Shares::operator+=(const Shares& other) {
    gemm += other.gemm;
    attention += other.attention;
    memory_bound += other.memory_bound;
    tensor_comm += other.tensor_comm;
    expert_comm += other.expert_comm;
    return *this;
}

Shares share_of(const kernels::Kernel& kernel, double seconds) {
    using Member = double Shares::*;
    const Member member =
        std::visit(Overloaded{[](const kernels::Gemm&) -> Member { return &Shares::gemm; },
                              [](const kernels::Attention&) -> Member { return &Shares::attention; },
                              [](const kernels::Pointwise&) -> Member { return &Shares::memory_bound; },
                              [](const kernels::Convolution&) -> Member { return &Shares::gemm; },
                              [](const kernels::Pooling&) -> Member { return &Shares::memory_bound; },
                              [](const kernels::BatchNorm&) -> Member { return &Shares::memory_bound; }},
                   kernel);
    Shares shares;
    shares.*member = seconds;
    return shares;
}

bool is_memory_bound(const kernels::Kernel& kernel) { return share_of(kernel, 1).memory_bound > 0; }

Costs::Costs(const StepProgram& step, const strategies::Plan& plan, const topology::Gpu& gpu,
             const calibrate::Predictor& predictor, const Network& network, bool slowed, const Folding* folding,
             std::uint32_t rank)
    : network_(network),
      folding_(folding),
      rank_(rank),
      placement_(plan.placement),
      gap_(predictor.constant("kernel_gap_seconds")),
      dispatch_(plan.training.cuda_graph ? 0.0 : predictor.constant("dispatch_seconds")),
      slowdown_(slowed ? predictor.constant("overlap_slowdown") : 1.0) {
    // A device without a datasheet's rate is the one that the profile measured.
    const double rate = gpu.memory_bytes_per_second;
    const double memory = rate > 0 ? predictor.constant("memory_bytes_per_second") / rate : 1.0;
    const Caches caches(step, predictor, std::min(network.gpus_per_node(), step.mesh.ranks()));
    for (const kernels::Kernel& kernel : step.kernels) {
        const calibrate::Estimate estimate = predictor.kernel(kernel);
        const double scale = is_memory_bound(kernel) ? memory : 1.0;
        kernels_.push_back({caches.seconds(estimate) * scale + gap_, estimate.extrapolated});
    }
    if (copies(step))
        copies_.emplace(network.cluster(), predictor, plan.placement.gpu(rank), plan.placement, step.mesh.ranks());
    for (const Program& block : step.blocks) {
        block_times_.push_back(block_times(step, block));
        blocks_.push_back(block_cost(block, block_times_.back()));
        shares_.push_back(shares_of(step, block, block_times_.back()));
    }
    for (const Program& program : step.programs) {
        auto& costs = programs_.emplace_back();
        costs.reserve(program.ops.size());
        for (const Op& op : program.ops) costs.push_back(cost(op));
    }
    slow_down_beside_collectives(step);
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
    return place->second;
}

double Costs::collective_seconds(const StepProgram& step, const Collective& collective) const {
    const auto& [gpus, alone] = group(step, collective.group);
    return network_.alone(network_.collective(collective.kind, gpus, static_cast<double>(collective.bytes), alone),
                          alone);
}

OpCost Costs::cost(const Op& op) const {
    return std::visit(
        Overloaded{[&](const Compute& c) { return kernel_cost(kernels_[c.kernel].seconds); },
                   [&](const strategies::Call& c) { return blocks_[c.block]; },
                   [&](const strategies::HostSync&) { return OpCost{}; },
                   [&](const strategies::Copy& c) {
                       const bool out = c.to != strategies::Copy::To::device;
                       return kernel_cost(
                           copies_->seconds(out ? kernels::CopyKind::device_to_host : kernels::CopyKind::host_to_device,
                                            static_cast<double>(c.bytes)));
                   },
                   // Communication: the time depends on the others; here is what its launch costs the host.
                   [&](const auto&) {
                       return OpCost{0, dispatch_, dispatch_, 0};
                   }},
        op.what);
}

namespace {

/// Runs a block alone: the device is free at `device`, the host at `host`; returns when the last operation ends.
double run_block(const Program& block, const std::vector<double>& device_time, double dispatch, double device,
                 double host) {
    const strategies::Hazards hazards(block);
    std::array<double, strategies::lanes> free{};
    free.fill(never);
    free[static_cast<std::size_t>(Lane::compute)] = device;
    std::vector<double> end(block.ops.size(), never);
    double last = never;
    for (std::uint32_t i = 0; i < block.ops.size(); ++i) {
        host += dispatch;
        auto& lane = free[static_cast<std::size_t>(block.ops[i].lane)];
        double begin = std::max(lane, host);
        for (const std::uint32_t other : hazards.of(i)) begin = std::max(begin, end[other]);
        end[i] = lane = begin + device_time[i];
        last = std::max(last, end[i]);
    }
    return last;
}

}  // namespace

std::vector<double> Costs::block_times(const StepProgram& step, const Program& block) const {
    std::vector<double> time;
    double beside = 0;  // seconds of an asynchronous collective that kernels have yet to run beside
    for (const Op& op : block.ops) {
        if (const auto* compute = std::get_if<Compute>(&op.what)) {
            const double alone = kernels_[compute->kernel].seconds;
            const double shared = std::min(beside, alone);
            beside -= shared;
            time.push_back(alone + shared * (slowdown_ - 1.0));
        } else {
            time.push_back(collective_seconds(step, std::get<Collective>(op.what)));
            if (op.lane != Lane::compute) beside += time.back();
        }
    }
    return time;
}

OpCost Costs::block_cost(const Program& block, const std::vector<double>& times) const {
    OpCost cost;
    cost.device = run_block(block, times, 0.0, 0.0, never);
    cost.host_to_end = run_block(block, times, dispatch_, never, 0.0);
    cost.first_dispatch = dispatch_;
    cost.host = dispatch_ * static_cast<double>(block.ops.size());
    return cost;
}

/// What a call is slowed by collectives of its caller falls on its last kernel.
Costs Costs::unrolled(const StepProgram& step) && {
    for (std::size_t role = 0; role < step.programs.size(); ++role) {
        std::vector<OpCost> flat;
        for (std::size_t i = 0; i < step.programs[role].ops.size(); ++i) {
            const auto* call = std::get_if<strategies::Call>(&step.programs[role].ops[i].what);
            if (call == nullptr) {
                flat.push_back(programs_[role][i]);
                continue;
            }
            const Program& block = step.blocks[call->block];
            std::size_t last = flat.size();
            for (std::size_t k = 0; k < block.ops.size(); ++k) {
                const bool computes = std::holds_alternative<Compute>(block.ops[k].what);
                if (computes) last = flat.size();
                flat.push_back(computes ? kernel_cost(block_times_[call->block][k]) : cost(block.ops[k]));
            }
            flat[last] = kernel_cost(flat[last].device + programs_[role][i].device - blocks_[call->block].device);
        }
        programs_[role] = std::move(flat);
    }
    return std::move(*this);
}

Shares Costs::shares_of(const StepProgram& step, const Program& block, const std::vector<double>& times) const {
    Shares shares;
    for (std::size_t i = 0; i < block.ops.size(); ++i) {
        const strategies::What& what = block.ops[i].what;
        if (const auto* compute = std::get_if<Compute>(&what))
            shares += share_of(step.kernels[compute->kernel], kernels_[compute->kernel].seconds);
        else if (std::get<Collective>(what).kind == kernels::CollectiveKind::all_to_all)
            shares.expert_comm += times[i];
    }
    return shares;
}

/// Kernels that run beside a collective of another lane take longer: its time alone, as long as it lasts, counts
/// (slowdown - 1) more on the calls that follow it. So do copies that a core makes.
void Costs::slow_down_beside_collectives(const StepProgram& step) {
    for (std::size_t role = 0; role < step.programs.size(); ++role) {
        const Program& program = step.programs[role];
        double beside = 0;
        for (std::size_t i = 0; i < program.ops.size(); ++i) {
            const Op& op = program.ops[i];
            const auto* collective = std::get_if<Collective>(&op.what);
            if (collective != nullptr && op.lane != Lane::compute) beside += collective_seconds(step, *collective);
            const bool computes =
                std::holds_alternative<strategies::Call>(op.what) || std::holds_alternative<Compute>(op.what);
            if (std::holds_alternative<strategies::Copy>(op.what) && copies_->takes_cores())
                beside += programs_[role][i].device;
            if (beside <= 0 || !computes) continue;
            OpCost& cost = programs_[role][i];
            const double shared = std::min(beside, cost.device), extra = shared * (slowdown_ - 1.0);
            beside -= shared;
            cost.device += extra;
            cost.host_to_end += extra;
        }
    }
}

}  // namespace orrery::sim
