// What a schedule puts on every link of a cluster.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "sim/collective/schedule.hpp"

namespace orrery::sim {

/// Bytes by link. All pairs of a phase are summed by destination and source switch, without listing them.
class LinkLoad {
public:
    using Bytes = std::unordered_map<topology::LinkId, double>;

    LinkLoad(const topology::Cluster& cluster, const Group& group);
    void add(const Phase& phase);

    /// Of traffic between nodes, from the sender's NIC on; and of traffic inside nodes, on the way to a NIC too.
    [[nodiscard]] const Bytes& between() const { return between_; }
    [[nodiscard]] const Bytes& inside() const { return inside_; }

private:
    void add_route(topology::GpuId from, topology::GpuId to, double bytes, Bytes& load);
    void add_leg(const Leg& leg);
    [[nodiscard]] bool regular(const Phase& phase) const;
    void add_pairs_inside(const Phase& phase);
    void add_pairs_between(const Phase& phase);
    void add_column(std::uint32_t to_node, std::uint32_t to_index, const Phase& phase);
    void add_ends(const Phase& phase);
    void add_end(topology::GpuId gpu, topology::GpuId other, double sent, double received);
    [[nodiscard]] topology::Port port_of(topology::GpuId gpu) const;

    const topology::Cluster& cluster_;
    const Group& group_;
    Bytes between_, inside_;
    std::vector<topology::LinkId> route_;
    std::vector<topology::LinkShare> shares_;
    struct Column {
        double bytes = 0;
        std::uint32_t path = 0;
        topology::Port from;
    };
    std::vector<Column> columns_;         // by router
    std::vector<std::uint32_t> touched_;  // routers of the current destination
};

}  // namespace orrery::sim
