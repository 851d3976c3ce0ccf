// Links that can never be the bottleneck, so that neither the engine nor the folding has to look at them.
#pragma once

#include <set>
#include <vector>

#include "sim/network.hpp"
#include "topology/cluster.hpp"

namespace orrery::sim {

/// A fabric link is slack when the NICs whose traffic it can carry, on the sending or on the receiving side, are
/// together no faster than the link: its constraint then follows from theirs, and without it max-min rates are the
/// same. In a fabric without oversubscription most links are slack, which keeps the ranks of a stage alike wherever
/// they sit.
class LinkPressure {
public:
    LinkPressure(const topology::Cluster& cluster, const Network& network);
    /// Traffic may go from one GPU to another (of another node).
    void add(topology::GpuId from, topology::GpuId to);
    /// Removes the slack links of a path; valid once all traffic has been added.
    void drop_slack(std::vector<LinkUse>& path) const;

private:
    [[nodiscard]] bool slack(topology::LinkId link) const;
    [[nodiscard]] double total(const std::set<topology::LinkId>& nics) const;

    const topology::Cluster& cluster_;
    const Network& network_;
    std::vector<std::set<topology::LinkId>> senders_, receivers_;  // by link: NIC links before and after it
};

}  // namespace orrery::sim
