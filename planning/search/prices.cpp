#include "planning/search/prices.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "scenarios/placement.hpp"
#include "sim/contention.hpp"

namespace orrery::planning {

using strategies::Axis;

Prices::Prices(const Site& site)
    : site_(site), network_(site.cluster, site.profiles, sim::insisted_algorithms(site.scenario.plan.strategy)) {}

namespace {

sim::OpCost least(const sim::OpCost& one, const sim::OpCost& other) {
    return {std::min(one.device, other.device), std::min(one.host, other.host),
            std::min(one.first_dispatch, other.first_dispatch), std::min(one.host_to_end, other.host_to_end)};
}

}  // namespace

std::vector<sim::OpCost> Prices::of(const strategies::StepProgram& step, const strategies::Plan& plan) const {
    std::vector<sim::OpCost> all;
    for (std::uint32_t kind = 0; kind < network_.kinds().size(); ++kind) {
        const sim::Costs priced = costs(kind, step, plan);
        for (std::uint32_t i = 0; i < step.programs.front().ops.size(); ++i)
            if (all.size() == i)
                all.push_back(priced.of(0, i));
            else
                all[i] = least(all[i], priced.of(0, i));
    }
    return all;
}

std::vector<BlockPrice> Prices::blocks(const strategies::StepProgram& step, const strategies::Plan& plan,
                                       std::optional<std::uint32_t> kind, OnOtherKinds collectives) const {
    std::vector<BlockPrice> all;
    const std::uint32_t first = network_.kinds().of(placed_->placement.gpus({0}).front());
    for (std::uint32_t on = kind.value_or(0); on < (kind ? *kind + 1 : network_.kinds().size()); ++on) {
        const sim::Costs priced = costs(on, step, plan);
        for (std::uint32_t block = 0; block < step.blocks.size(); ++block) {
            const auto& [ops, cost, shares] = priced.block(block);
            double kernels = shares.gemm + shares.attention + shares.memory_bound;
            for (std::size_t i = 0; i < ops.size(); ++i)
                if (step.blocks[block].ops[i].lane != strategies::Lane::compute) kernels -= ops[i].seconds;
            kernels = std::max(kernels, 0.0);
            sim::OpCost price = cost;
            if (on != first && collectives == OnOtherKinds::nothing) price.device = std::min(price.device, kernels);
            if (all.size() == block)
                all.push_back({price, kernels});
            else
                all[block] = {least(all[block].cost, price), std::min(all[block].kernels, kernels)};
        }
    }
    return all;
}

double Prices::least_contention() const {
    double least = std::numeric_limits<double>::infinity();
    for (std::uint32_t kind = 0; kind < network_.kinds().size(); ++kind)
        least = std::min(
            least, sim::least_contention(network_, network_.kinds()[kind].gpu, *network_.kinds()[kind].predictor));
    return least;
}

/// `step` is a part, at whose own clock it may take longer than in the whole.
sim::Costs Prices::costs(std::uint32_t kind, const strategies::StepProgram& step, const strategies::Plan& plan) const {
    const sim::GpuKind& gpu = network_.kinds()[kind];
    constexpr auto beside = sim::BesideCollectives::slowed;
    return {step, plan, gpu.gpu, *gpu.predictor, network_, beside, nullptr, 0, sim::StepClock::highest};
}

std::vector<std::uint32_t> Prices::ranks_of(std::uint32_t stage) const {
    const std::uint32_t ranks = placed_->mesh.ranks() / placed_->mesh.along(Axis::pipeline);
    std::vector<std::uint32_t> own(ranks);
    std::iota(own.begin(), own.end(), stage * ranks);
    return own;
}

std::vector<std::uint32_t> Prices::kinds(std::uint32_t stage) const {
    return network_.kinds().among(placed_->placement.gpus(ranks_of(stage)));
}

std::vector<std::vector<std::uint32_t>> Prices::kinds_by_data(std::uint32_t stage) const {
    std::map<std::uint32_t, std::vector<std::uint32_t>> ranks;  // by data rank
    for (const std::uint32_t rank : ranks_of(stage)) ranks[placed_->mesh.data_rank(rank)].push_back(rank);
    std::vector<std::vector<std::uint32_t>> kinds;
    for (auto& [data, own] : ranks) kinds.push_back(network_.kinds().among(placed_->placement.gpus(std::move(own))));
    return kinds;
}

double Prices::copy(const strategies::Plan& plan, std::uint64_t bytes) {
    const auto [place, fresh] = placed_->copies.try_emplace(bytes);
    if (!fresh) return place->second;
    strategies::StepProgram step;
    step.mesh = placed_->mesh;
    strategies::Builder builder("copies");
    using strategies::Copy;
    for (const auto& [lane, to] :
         {std::pair(strategies::Lane::offload, Copy::To::host), std::pair(strategies::Lane::reload, Copy::To::device)})
        builder.emit(lane, {}, strategies::What{Copy{to, bytes}}, std::span<const strategies::BufferId>{},
                     std::span<const strategies::BufferId>{});
    step.programs = {std::move(builder).finish()};
    strategies::Plan placed = plan;
    placed.placement = placed_->placement;
    const std::vector<sim::OpCost> costs = of(step, placed);
    return place->second = std::min(costs[0].device, costs[1].device);
}

void Prices::place(const strategies::Plan& plan) {
    const Extents key{plan.mesh().extent, plan.strategy.placement.empty()};
    const auto found = known_.find(key);
    placed_ = found != known_.end() ? &found->second : &known_.emplace(key, placed(plan)).first->second;
}

Prices::Placed Prices::placed(const strategies::Plan& plan) const {
    Placed result;
    result.mesh = plan.mesh();
    result.placement = scenarios::resolve_placement(plan, site_.cluster);
    const std::uint32_t stages = plan.strategy.pipeline, stride = result.mesh.ranks() / stages;
    for (std::uint32_t stage = 0; stages > 1 && stage < stages; ++stage) {
        const topology::GpuId from = result.placement.gpu(stage * stride);
        const topology::GpuId into = result.placement.gpu((stage + 1) % stages * stride);
        add_hop(result, from, into);
        add_hop(result, into, from);
    }
    return result;
}

void Prices::add_hop(Placed& to, topology::GpuId from, topology::GpuId into) const {
    Hop hop{from, into, network_.tightest(network_.path(from, into))};
    const auto rate = [&](const Hop& of) {
        return of.tightest.empty() ? 0.0 : network_.capacity(of.tightest.front().link) / of.tightest.front().weight;
    };
    const auto kind = [&](topology::GpuId gpu) { return network_.kinds().of(gpu); };
    const auto alike = [&](const Hop& other) {
        return rate(other) == rate(hop) && kind(other.from) == kind(from) && kind(other.to) == kind(into);
    };
    const auto same = std::ranges::find_if(to.hops, alike);
    to.hop_of.push_back(static_cast<std::uint32_t>(same - to.hops.begin()));
    if (same == to.hops.end()) to.hops.push_back(std::move(hop));
}

double Prices::message(std::uint32_t stage, bool back, std::uint64_t bytes) {
    const std::uint32_t number = placed_->hop_of[2 * std::size_t{stage} + (back ? 1 : 0)];
    const auto [place, fresh] = placed_->messages.try_emplace({number, bytes});
    if (fresh) {
        const Hop& hop = placed_->hops[number];
        place->second = network_.alone(network_.message(hop.from, hop.to, static_cast<double>(bytes)), hop.tightest);
    }
    return place->second;
}

double Prices::collective(std::uint32_t stage, kernels::CollectiveKind kind, strategies::AxisSet axes,
                          std::uint64_t bytes) {
    const auto [place, fresh] =
        placed_->collectives.try_emplace({stage, static_cast<std::uint8_t>(kind), axes.bits(), bytes});
    if (!fresh) return place->second;
    const auto [known, unknown] = placed_->groups.try_emplace({stage, axes.bits()});
    Group& group = known->second;
    if (unknown) {
        const std::uint32_t first = placed_->mesh.ranks() / placed_->mesh.along(Axis::pipeline) * stage;
        group.gpus = placed_->placement.gpus(placed_->mesh.group(first, axes));
        group.tightest = network_.tightest(network_.path(group.gpus));
    }
    const auto size = static_cast<double>(bytes);
    return place->second = network_.alone(network_.collective(kind, group.gpus, size, group.tightest), group.tightest);
}

}  // namespace orrery::planning
