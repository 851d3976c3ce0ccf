#include "sim/fluid_flows.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace orrery::sim {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// A link counts as contended only beyond the rounding of its demand, so that one full flow does not.
constexpr double demand_slack = 1e-12;

/// Rates that differ by less are the same rate summed in another order: the flow keeps its end.
constexpr double same_rate = 1e-14;

/// Ends are sums of a few hundred rounded terms, none above the clock: 450 units in the last place (0.1 ps at 1 s).
constexpr double same_moment = 1e-13;

}  // namespace

FluidFlows::FluidFlows(std::vector<double> capacity_bytes_per_second, RateWatch* watch) : watch_(watch) {
    links_.resize(capacity_bytes_per_second.size());
    for (std::size_t l = 0; l < links_.size(); ++l) links_[l].capacity = capacity_bytes_per_second[l];
}

/// Not a link that is down: its flows are at their limit, which is 0.
bool FluidFlows::contended(const Link& link) {
    return link.capacity > 0.0 && link.demand > link.capacity * (1.0 + demand_slack);
}

std::uint32_t FluidFlows::take_flow() {
    if (free_flows_.empty()) {
        flows_.emplace_back();
        return static_cast<std::uint32_t>(flows_.size() - 1);
    }
    const std::uint32_t flow = free_flows_.back();
    free_flows_.pop_back();
    return flow;
}

std::uint32_t FluidFlows::take_uses(std::uint32_t count) {
    if (count < free_uses_.size() && !free_uses_[count].empty()) {
        const std::uint32_t first = free_uses_[count].back();
        free_uses_[count].pop_back();
        return first;
    }
    const std::size_t first = uses_.size();
    uses_.resize(first + count);
    return static_cast<std::uint32_t>(first);
}

std::uint32_t FluidFlows::start(double now, std::span<const LinkUse> uses, double bytes, double rate_limit,
                                std::uint64_t sequence, std::uint64_t tag) {
    const auto used = [](const LinkUse& use) { return use.weight > 0.0; };
    const auto count = static_cast<std::uint32_t>(std::count_if(uses.begin(), uses.end(), used));
    double alone = rate_limit;
    for (const LinkUse& use : uses)
        if (used(use)) alone = std::min(alone, links_[use.link].capacity / use.weight);

    const std::uint32_t id = take_flow(), first = take_uses(count);
    flows_[id] = {bytes, bytes, now, alone, rate_limit, 0.0, sequence, tag, visit_, first, count};
    std::uint32_t at = first;
    for (const LinkUse& use : uses) {
        if (!used(use)) continue;
        Link& link = links_[use.link];
        uses_[at] = {use.weight, use.link, static_cast<std::uint32_t>(link.crossings.size())};
        link.crossings.push_back({id, at++});
        if (link.capacity < infinity) link.demand += use.weight * alone;
    }
    started_.push_back(id);
    return id;
}

/// The flows of a contended link are to be solved again.
void FluidFlows::touch(std::uint32_t id) {
    Link& link = links_[id];
    if (!contended(link) || link.dirty) return;
    link.dirty = true;
    dirty_links_.push_back(id);
}

/// A flow's rate alone, and what it asks of its links, after the capacity of one has changed.
void FluidFlows::reconsider(std::uint32_t id) {
    Flow& flow = flows_[id];
    const std::span<const Use> uses(uses_.data() + flow.first_use, flow.uses);
    double alone = flow.limit;
    for (const Use& use : uses) alone = std::min(alone, links_[use.link].capacity / use.weight);
    for (const Use& use : uses) {
        touch(use.link);
        if (links_[use.link].capacity < infinity) links_[use.link].demand += use.weight * (alone - flow.alone);
    }
    flow.alone = alone;
    started_.push_back(id);
}

void FluidFlows::set_capacity(std::uint32_t link, double bytes_per_second) {
    touch(link);
    links_[link].capacity = bytes_per_second;
    for (std::size_t i = 0; i < links_[link].crossings.size(); ++i) reconsider(links_[link].crossings[i].flow);
}

void FluidFlows::leave_links(const Flow& flow) {
    for (std::uint32_t u = flow.first_use; u < flow.first_use + flow.uses; ++u) {
        const Use& use = uses_[u];
        Link& link = links_[use.link];
        touch(use.link);
        if (flow.bytes < infinity) link.carried += use.weight * flow.bytes;
        link.crossings[use.place] = link.crossings.back();
        uses_[link.crossings[use.place].use].place = use.place;
        link.crossings.pop_back();
        if (link.crossings.empty())
            link.demand = 0.0;
        else if (link.capacity < infinity)
            link.demand -= use.weight * flow.alone;
    }
}

/// Its number and its uses may be taken again.
void FluidFlows::free(std::uint32_t id) {
    const Flow& flow = flows_[id];
    if (free_uses_.size() <= flow.uses) free_uses_.resize(flow.uses + 1);
    free_uses_[flow.uses].push_back(flow.first_use);
    free_flows_.push_back(id);
}

/// What a stream has moved at its rate so far counts for its links; finite flows are counted when they end.
void FluidFlows::carry(const Flow& stream, double now) {
    for (std::uint32_t u = stream.first_use; u < stream.first_use + stream.uses; ++u)
        links_[uses_[u].link].carried += uses_[u].weight * stream.rate * (now - stream.since);
}

void FluidFlows::stop(std::uint32_t stream, double now) {
    carry(flows_[stream], now);
    leave_links(flows_[stream]);
    if (ends_.has(stream)) ends_.remove(stream);
    std::erase(started_, stream);
    free(stream);
}

double FluidFlows::next_end(double now) {
    settle(now);
    return ends_.next();
}

void FluidFlows::take_ended(double now, std::vector<Ended>& ended) {
    ending_.clear();
    while (ends_.next() <= now * (1.0 + same_moment)) ends_.take(ending_);
    for (const std::uint32_t id : ending_) {
        const Flow& flow = flows_[id];
        leave_links(flow);
        if (watch_ != nullptr) watch_->rate(flow.tag, flow.rate, 0);
        ended.push_back({flow.sequence, flow.tag});
        free(id);
    }
}

void FluidFlows::settle(double now) {
    ++visit_;
    for (const std::uint32_t flow : started_)
        if (flows_[flow].visit != visit_) solve_component(flow, now);
    started_.clear();
    for (const std::uint32_t link : dirty_links_) {
        links_[link].dirty = false;
        for (std::size_t i = 0; i < links_[link].crossings.size(); ++i) {
            const std::uint32_t flow = links_[link].crossings[i].flow;
            if (flows_[flow].visit != visit_) solve_component(flow, now);
        }
    }
    dirty_links_.clear();
    if (watch_ != nullptr) watch_->settled();
}

void FluidFlows::visit_flow(std::uint32_t flow) {
    if (flows_[flow].visit == visit_) return;
    flows_[flow].visit = visit_;
    component_.push_back(flow);
}

void FluidFlows::visit_link(std::uint32_t link_id) {
    Link& link = links_[link_id];
    if (link.visit == visit_) return;
    link.visit = visit_;
    link.local = static_cast<std::uint32_t>(problem_.capacity.size());
    problem_.capacity.push_back(link.capacity);
    for (const Crossing& crossing : link.crossings) visit_flow(crossing.flow);
}

void FluidFlows::solve_component(std::uint32_t seed, double now) {
    component_.clear();
    problem_.clear();
    visit_flow(seed);
    for (std::size_t i = 0; i < component_.size(); ++i) {
        const Flow& flow = flows_[component_[i]];
        for (std::uint32_t u = flow.first_use; u < flow.first_use + flow.uses; ++u) {
            if (!contended(links_[uses_[u].link])) continue;
            visit_link(uses_[u].link);
            problem_.uses.push_back({links_[uses_[u].link].local, uses_[u].weight});
        }
        problem_.close_flow(flow.alone);
    }
    if (problem_.uses.empty()) return set_rate(seed, flows_[seed].alone, now);
    const std::span<const double> rates = solver_.solve(problem_);
    for (std::size_t i = 0; i < component_.size(); ++i) set_rate(component_[i], rates[i], now);
}

void FluidFlows::set_rate(std::uint32_t id, double rate, double now) {
    Flow& flow = flows_[id];
    if (ends_.has(id) && std::abs(rate - flow.rate) <= same_rate * rate) return;
    if (flow.bytes == infinity) carry(flow, now);
    if (flow.rate > 0.0) flow.remaining = std::max(0.0, flow.remaining - flow.rate * (now - flow.since));
    flow.since = now;
    if (watch_ != nullptr) watch_->rate(flow.tag, flow.rate, rate);
    flow.rate = rate;
    ends_.set(id, now + flow.remaining / rate);
}

double FluidFlows::carried_bytes(std::uint32_t link, double now) const {
    double carried = links_[link].carried;
    for (const Crossing& crossing : links_[link].crossings) {
        const Flow& flow = flows_[crossing.flow];
        const double before = flow.bytes < infinity ? flow.bytes - flow.remaining : 0.0;
        const double moved = before + flow.rate * (now - flow.since);
        carried += uses_[crossing.use].weight * std::min(flow.bytes, moved);
    }
    return carried;
}

}  // namespace orrery::sim
