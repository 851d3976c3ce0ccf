#include "sim/collective/link_load.hpp"

#include <algorithm>

namespace orrery::sim {

using topology::GpuId;
using topology::LinkId;
using topology::Port;

LinkLoad::LinkLoad(const topology::Cluster& cluster, const Group& group)
    : cluster_(cluster), group_(group), columns_(cluster.fabric().routers()) {}

void LinkLoad::add_route(GpuId from, GpuId to, double bytes, Bytes& load) {
    cluster_.loads(from, to, shares_);
    for (const topology::LinkShare& use : shares_) load[use.link] += bytes * use.share;
}

void LinkLoad::add_leg(const Leg& t) {
    if (cluster_.node_of(t.from) == cluster_.node_of(t.to)) return add_route(t.from, t.to, t.bytes, inside_);
    if (t.via != t.from) add_route(t.from, t.via, t.bytes, inside_);
    add_route(t.via, t.to, t.bytes, between_);
}

/// Whether routes depend on the sender only by its router: not where a hash, the load or a failure decides, or packets
/// load links unlike each other, nor where messages change rails.
bool LinkLoad::regular(const Phase& phase) const {
    const topology::Fabric& fabric = cluster_.fabric();
    if (!cluster_.regular()) return false;
    return phase.forwarded || fabric.nodes() < 2 || fabric.parts().nics_per_node < 2 || fabric.joins({0, 0}, {1, 1});
}

void LinkLoad::add(const Phase& phase) {
    if (phase.pair_bytes > 0 && !regular(phase)) {
        for (const Leg& t : expanded(phase, group_)) add_leg(t);
        return;
    }
    for (const Leg& t : phase.legs) add_leg(t);
    if (phase.pair_bytes <= 0) return;
    add_pairs_inside(phase);
    add_pairs_between(phase);
    add_ends(phase);
}

void LinkLoad::add_pairs_inside(const Phase& phase) {
    for (std::uint32_t i = 0; i < group_.nodes(); ++i) {
        const auto here = group_.node(i);
        for (const GpuId from : here)
            for (std::uint32_t j = 0; j < here.size(); ++j) {
                if (here[j] == from) continue;
                double bytes = phase.pair_bytes;
                // What others of this node's rail get passes here first.
                for (std::uint32_t b = 0; phase.forwarded && b < group_.nodes(); ++b)
                    if (b != i && j < group_.node(b).size()) bytes += phase.pair_bytes;
                add_route(from, here[j], bytes, inside_);
            }
    }
}

Port LinkLoad::port_of(GpuId gpu) const {
    const std::uint32_t node = cluster_.node_of(gpu);
    return {node, cluster_.plan_of(node).nic_of(gpu % cluster_.gpus_per_node())};
}

void LinkLoad::add_pairs_between(const Phase& phase) {
    for (std::uint32_t b = 0; b < group_.nodes(); ++b)
        for (std::uint32_t j = 0; j < group_.node(b).size(); ++j) add_column(b, j, phase);
}

/// Everything that one member gets from other nodes. Routes begin at the sender's router and take the path that the
/// fabric names, or are sprayed alike, so senders of one router and path share their trunks.
void LinkLoad::add_column(std::uint32_t to_node, std::uint32_t to_index, const Phase& phase) {
    const topology::Fabric& fabric = cluster_.fabric();
    const GpuId to = group_.node(to_node)[to_index];
    const Port enter = port_of(to);
    const bool sprayed = cluster_.sprays_alike();
    touched_.clear();
    const auto flush = [&](std::uint32_t router) {
        Column& column = columns_[router];
        if (column.bytes <= 0) return;
        route_.clear();
        fabric.route(column.from, enter, column.path, route_);
        for (const LinkId link : route_) {
            if (link < fabric.port_links()) continue;
            const LinkId trunk = cluster_.first_fabric_link() + link;
            between_[trunk] += column.bytes * (1.0 / cluster_.stands_for(trunk));
        }
        column.bytes = 0;
    };
    const auto send = [&](GpuId via, double bytes) {
        const Port leave = port_of(via);
        const std::uint32_t router = fabric.router_of(leave), path = sprayed ? 0 : fabric.usual_path(leave, enter);
        Column& column = columns_[router];
        if (column.bytes > 0 && column.path != path) flush(router);
        if (column.bytes <= 0) touched_.push_back(router);
        column.path = path;
        column.from = leave;
        column.bytes += bytes;
    };
    for (std::uint32_t a = 0; a < group_.nodes(); ++a) {
        if (a == to_node) continue;
        const auto here = group_.node(a);
        if (phase.forwarded && to_index < here.size()) {
            send(here[to_index], phase.pair_bytes * static_cast<double>(here.size()));
        } else {
            for (const GpuId from : here) send(from, phase.pair_bytes);
        }
    }
    for (const std::uint32_t router : touched_) flush(router);
}

/// The links between GPU, NIC and router at both ends of the routes.
void LinkLoad::add_ends(const Phase& phase) {
    const std::uint32_t nodes = group_.nodes();
    if (nodes < 2) return;
    for (std::uint32_t i = 0; i < nodes; ++i) {
        const auto here = group_.node(i);
        const GpuId elsewhere = group_.node((i + 1) % nodes).front();
        const double others = group_.ranks() - static_cast<double>(here.size()), across = phase.pair_bytes * others;
        double short_of = 0;  // members of other nodes beyond this node's rails: sent by each member itself
        std::vector<double> sent(here.size(), phase.forwarded ? 0 : across);
        for (std::uint32_t b = 0; phase.forwarded && b < nodes; ++b) {
            if (b == i) continue;
            const std::size_t there = group_.node(b).size();
            for (std::size_t j = 0; j < std::min(there, here.size()); ++j)
                sent[j] += phase.pair_bytes * static_cast<double>(here.size());
            if (there > here.size()) short_of += phase.pair_bytes * static_cast<double>(there - here.size());
        }
        for (std::size_t j = 0; j < here.size(); ++j) add_end(here[j], elsewhere, sent[j] + short_of, across);
    }
}

void LinkLoad::add_end(GpuId gpu, GpuId other, double sent, double received) {
    const LinkId fabric = cluster_.first_fabric_link(), ports = cluster_.fabric().ports();
    const bool on_chip = cluster_.fabric().parts().on_chip;
    const std::uint32_t port = cluster_.fabric().port(port_of(gpu));
    cluster_.route(gpu, other, route_);
    for (std::size_t k = 0; k < route_.size() && route_[k] < fabric; ++k) between_[route_[k]] += sent;
    cluster_.route(other, gpu, route_);
    for (std::size_t k = route_.size(); k > 0 && route_[k - 1] < fabric; --k) between_[route_[k - 1]] += received;
    if (on_chip) return;
    between_[fabric + port] += sent;
    between_[fabric + ports + port] += received;
}

}  // namespace orrery::sim
