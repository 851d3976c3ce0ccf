#include "sim/oracle.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>

#include "strategies/hazards.hpp"
#include "strategies/messages.hpp"

namespace orrery::sim {

namespace {

using strategies::Collective;
using strategies::HostSync;
using strategies::Op;
using strategies::Recv;
using strategies::Send;

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

/// Sweeps over all operations in program order until every time is known; no queues, no events, no classes.
class LongestPath {
public:
    LongestPath(const strategies::StepProgram& step, const KindCosts& costs, const Network& network,
                const strategies::RankPlacement& placement)
        : step_(step), costs_(costs), network_(network), placement_(placement) {
        for (const auto& program : step.programs) hazards_.emplace_back(program);
        for (std::uint32_t rank = 0; rank < step.mesh.ranks(); ++rank) {
            const std::size_t ops = program(rank).ops.size();
            spans_.emplace_back(ops, Span{unknown, unknown});
            ready_.emplace_back(ops, unknown);
        }
    }

    std::vector<std::vector<Span>> run() && {
        for (bool moved = true; moved;) {
            moved = false;
            for (std::uint32_t rank = 0; rank < spans_.size(); ++rank) moved |= sweep(rank);
        }
        return std::move(spans_);
    }

private:
    [[nodiscard]] const strategies::Program& program(std::uint32_t rank) const {
        return step_.programs[step_.role[rank]];
    }

    bool sweep(std::uint32_t rank) {
        bool moved = false;
        double host = 0;
        std::array<double, strategies::lanes> free{};  // NaN: the last operation of the lane has not ended
        const auto& ops = program(rank).ops;
        for (std::uint32_t i = 0; i < ops.size(); ++i) {
            const Op& op = ops[i];
            double device = 0;
            for (const std::uint32_t other : hazards_[step_.role[rank]].of(i))
                device = later(device, spans_[rank][other].end);
            if (std::holds_alternative<HostSync>(op.what)) {
                moved |= settle(rank, i, {host, later(host, device)});
                host = later(host, device);
            } else {
                double& lane = free[static_cast<std::size_t>(op.lane)];
                moved |= visit(rank, i, op, later(device, lane), host);
                lane = spans_[rank][i].end;
                host += costs_.of_rank(rank).of(step_.role[rank], i).host;
            }
        }
        return moved;
    }

    /// NaN when either is unknown.
    static double later(double a, double b) { return std::isnan(a) || std::isnan(b) ? unknown : std::max(a, b); }

    bool settle(std::uint32_t rank, std::uint32_t op, Span span) {
        if (!std::isnan(spans_[rank][op].end) || std::isnan(span.end)) return false;
        spans_[rank][op] = span;
        return true;
    }

    bool visit(std::uint32_t rank, std::uint32_t i, const Op& op, double device, double host) {
        const OpCost& cost = costs_.of_rank(rank).of(step_.role[rank], i);
        const double begin = later(device, host + cost.first_dispatch);
        if (!std::isnan(spans_[rank][i].end) || std::isnan(begin)) return false;
        const bool gradients = strategies::carries_gradients(op.lane);
        if (const auto* send = std::get_if<Send>(&op.what))
            return message(rank, i, begin, {rank, send->axis, send->delta, gradients}, static_cast<double>(send->bytes),
                           true);
        if (const auto* recv = std::get_if<Recv>(&op.what)) {
            const std::uint32_t sender = step_.mesh.peer(rank, recv->axis, recv->delta);
            return message(rank, i, begin, {sender, recv->axis, -recv->delta, gradients},
                           static_cast<double>(recv->bytes), false);
        }
        if (const auto* collective = std::get_if<Collective>(&op.what))
            return join(rank, i, op.lane, begin, *collective);
        return settle(rank, i, {begin, std::max(device + cost.device, host + cost.host_to_end)});
    }

    using Wire = std::tuple<std::uint32_t, strategies::Axis, std::int32_t, bool>;

    bool message(std::uint32_t rank, std::uint32_t i, double begin, Wire wire, double bytes, bool sends) {
        if (!std::isnan(ready_[rank][i])) return false;  // posted, the other side is still missing
        ready_[rank][i] = begin;
        auto& [from, to] = wires_[wire];
        (sends ? from : to).push_back({rank, i});
        if (from.empty() || to.empty()) return true;
        const auto [sender, send] = from.front();
        const auto [receiver, recv] = to.front();
        from.erase(from.begin());
        to.erase(to.begin());
        const double start = std::max(ready_[sender][send], ready_[receiver][recv]);
        const topology::GpuId here = placement_.gpu(sender), there = placement_.gpu(receiver);
        const double end = start + network_.alone(network_.message(here, there, bytes), network_.path(here, there));
        settle(sender, send, {start, end});
        settle(receiver, recv, {start, end});
        return true;
    }

    bool join(std::uint32_t rank, std::uint32_t i, strategies::Lane lane, double begin, const Collective& collective) {
        if (!std::isnan(ready_[rank][i])) return false;
        ready_[rank][i] = begin;
        const auto group = step_.mesh.group(rank, collective.group);
        auto& waiting = groups_[{group.front(), collective.group.bits(), lane}];
        waiting.push_back({rank, i});
        if (waiting.size() < group.size()) return true;
        double start = 0;
        for (const auto& [who, op] : waiting) start = std::max(start, ready_[who][op]);
        const auto gpus = placement_.gpus(group);
        const auto path = network_.path(gpus);
        const double end = start + network_.alone(network_.collective(collective.on_links(), gpus,
                                                                      static_cast<double>(collective.bytes), path,
                                                                      step_.once_a_node(collective)),
                                                  path);
        for (const auto& [who, op] : waiting) settle(who, op, {start, end});
        waiting.clear();
        return true;
    }

    const strategies::StepProgram& step_;
    const KindCosts& costs_;
    const Network& network_;
    const strategies::RankPlacement& placement_;
    std::vector<strategies::Hazards> hazards_;
    std::vector<std::vector<Span>> spans_;
    std::vector<std::vector<double>> ready_;
    using Posts = std::vector<std::pair<std::uint32_t, std::uint32_t>>;  // rank, op
    std::map<Wire, std::pair<Posts, Posts>> wires_;
    std::map<std::tuple<std::uint32_t, strategies::AxisSet::Bits, strategies::Lane>, Posts> groups_;
};

}  // namespace

std::vector<std::vector<Span>> longest_path(const strategies::StepProgram& step, const KindCosts& costs,
                                            const Network& network, const strategies::RankPlacement& placement) {
    return LongestPath(step, costs, network, placement).run();
}

}  // namespace orrery::sim
