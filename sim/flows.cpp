#include "sim/flows.hpp"

#include <algorithm>
#include <utility>

#include "sim/link_pressure.hpp"

namespace orrery::sim {

using strategies::Axis;
using strategies::AxisSet;

SharedFlows::SharedFlows(const std::vector<Traffic>& traffic, const std::vector<Columns>& columns,
                         const topology::Cluster& cluster, const Network& network, const Marks& marks, Binding binding)
    : hops(cluster, first_link_that_matters(cluster, network)) {
    for (std::size_t job = 0; job < traffic.size(); ++job)
        jobs.emplace_back(traffic[job], cluster, network, columns[job], hops);
    for (const scenarios::BackgroundFlow& flow : marks.background)
        background.push_back(hops.add(flow.from, flow.to, true, flow.fabric_only ? cluster.first_fabric_link() : 0));
    hops.drop_links(binding == Binding::all ? slack_links(hops, cluster, network, marks) : not_of_nics(hops, cluster));
}

Flows::Flows(const Traffic& traffic, const topology::Cluster& cluster, const Network& network, Columns columns,
             HopTable& hops)
    : cluster_(cluster), columns_(columns), hops_(&hops) {
    reserve(traffic);
    add_messages(traffic);
    for (std::uint32_t set = 0; set < traffic.sets.size(); ++set) add_groups(traffic, set, network);
}

/// At most what comes: each column's messages, and a place and a hop in a group of each set.
void Flows::reserve(const Traffic& traffic) {
    std::size_t sends = 0, places = 0;
    for (std::uint32_t column = 0; column < columns_.count; ++column) {
        const std::uint32_t role = traffic.role[columns_.first_rank(column)];
        sends += traffic.sends_of[role].size();
        places += traffic.groups_of[role].size();
    }
    messages_.reserve(sends);
    members_.reserve(places);
    hops_->expect(sends + places);
}

void Flows::add_messages(const Traffic& traffic) {
    for (std::uint32_t column = 0; column < columns_.count; ++column) {
        const std::uint32_t rank = columns_.first_rank(column);
        for (const std::uint32_t number : traffic.sends_of[traffic.role[rank]]) {
            const Channel& channel = traffic.channels[number];
            const std::uint32_t to = traffic.mesh.peer(rank, channel.axis, channel.delta);
            const topology::GpuId here = traffic.gpu(rank), there = traffic.gpu(to);
            const bool inside = cluster_.node_of(here) == cluster_.node_of(there);
            messages_.push_back({column, columns_.of(to), number, inside ? no_hop : hops_->add(here, there, true)});
        }
    }
}

/// Of ranks that are first in their column: a column takes part as a whole where the set has the tensor axis.
void Flows::add_groups(const Traffic& traffic, std::uint32_t set, const Network& network) {
    const auto& [axes, contends] = traffic.sets[set];
    const bool whole = columns_.width > 1 && axes.has(Axis::tensor);
    const AxisSet across = whole ? axes.without(Axis::tensor) : axes;
    single_.push_back(traffic.mesh.group_size(across) == 1);
    if (single_.back()) return;
    for (std::uint32_t column = 0; column < columns_.count; ++column) {
        const std::uint32_t rank = columns_.first_rank(column);
        if (!traffic.mesh.leads(rank, across)) continue;
        const auto& joined = traffic.groups_of[traffic.role[rank]];
        if (std::find(joined.begin(), joined.end(), set) == joined.end()) continue;
        std::vector<std::uint32_t> ranks = traffic.mesh.group(rank, across);
        const auto first_member = static_cast<std::uint32_t>(members_.size());
        for (const std::uint32_t member : ranks) members_.push_back(columns_.of(member));
        const std::vector<topology::GpuId> gpus = traffic.placement.gpus(std::move(ranks));
        const auto [nodes, rails] = network.spread_of(gpus);
        Group group{set, first_member, static_cast<std::uint32_t>(gpus.size()), nodes, rails, hops_->size(), 0, 0};
        for (const Network::Hop& hop : network.hops(gpus)) {
            hops_->add(hop.from, hop.to, contends);
            group.share = hop.share / (whole ? columns_.width : 1);
        }
        group.hops = hops_->size() - group.first_hop;
        groups_.push_back(group);
    }
}

std::span<const LinkUse> Flows::path(const Group& group) const {
    path_.clear();
    place_.resize(hops_->used_links(), 0);
    for (std::uint32_t hop = group.first_hop; hop < group.first_hop + group.hops; ++hop)
        hops_->each_link(hop, [&](std::uint32_t link, double part) {
            if (place_[link] == 0) {
                path_.push_back({link, 0.0});
                place_[link] = static_cast<std::uint32_t>(path_.size());
            }
            path_[place_[link] - 1].weight += group.share * part;
        });
    for (const LinkUse& use : path_) place_[use.link] = 0;
    return path_;
}

}  // namespace orrery::sim
