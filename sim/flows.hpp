// Every message and every collective of the steps that run at once, and background traffic, once each, with the links
// that can bind it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/binding.hpp"
#include "sim/columns.hpp"
#include "sim/hop_table.hpp"
#include "sim/network.hpp"
#include "sim/perturbed.hpp"
#include "sim/traffic.hpp"

namespace orrery::sim {

/// Between columns: a flow of the table stands for the flows of all ranks of its column, which are alike. Links are
/// those of the first ranks, numbered as in the table of hops.
class Flows {
public:
    static constexpr std::uint32_t no_hop = 0xffffffff;

    struct Message {
        std::uint32_t from, to;  ///< columns
        std::uint32_t channel;
        std::uint32_t hop;  ///< no_hop inside a node
    };
    struct Group {
        std::uint32_t set;
        std::uint32_t first_member, members;
        std::uint32_t nodes, rails;     ///< rails: of the node with the fewest (Network::spread_of)
        std::uint32_t first_hop, hops;  ///< none inside a node
        double share;                   ///< of the ring's traffic that each hop carries
    };

    /// Adds its hops to the table, which must outlive it.
    Flows(const Traffic& traffic, const topology::Cluster& cluster, const Network& network, Columns columns,
          HopTable& hops);

    [[nodiscard]] const Columns& columns() const { return columns_; }
    [[nodiscard]] const std::vector<Message>& messages() const { return messages_; }
    /// Without groups of a single column, of which each column has one.
    [[nodiscard]] const std::vector<Group>& groups() const { return groups_; }
    [[nodiscard]] std::span<const std::uint32_t> members(const Group& group) const {
        return {members_.data() + group.first_member, group.members};
    }
    /// fill(link, share of the message) for each link of a message.
    template <class Fill>
    void each_link(const Message& message, const Fill& fill) const {
        if (message.hop != no_hop) hops_->each_link(message.hop, fill);
    }
    /// Each link of the group's ring once, with its weight for one byte of ring traffic. Valid until the next call.
    [[nodiscard]] std::span<const LinkUse> path(const Group& group) const;

    /// Whether each group of a set is a single column.
    [[nodiscard]] bool single_column(std::uint32_t set) const { return single_[set]; }

private:
    void reserve(const Traffic& traffic);
    void add_messages(const Traffic& traffic);
    void add_groups(const Traffic& traffic, std::uint32_t set, const Network& network);

    const topology::Cluster& cluster_;
    Columns columns_;
    std::vector<Message> messages_;
    std::vector<Group> groups_;
    std::vector<std::uint32_t> members_;
    std::vector<bool> single_;
    HopTable* hops_;
    mutable std::vector<std::uint32_t> place_;  // of a link in path_, one more
    mutable std::vector<LinkUse> path_;
};

/// The flows of all steps of a cluster and its background traffic, over one table of hops.
struct SharedFlows {
    HopTable hops;  ///< without links that do not count, and slack ones (link_pressure.hpp)
    std::vector<Flows> jobs;
    std::vector<std::uint32_t> background;  ///< hop of each of marks.background

    /// columns: of each job.
    SharedFlows(const std::vector<Traffic>& jobs, const std::vector<Columns>& columns, const topology::Cluster& cluster,
                const Network& network, const Marks& marks, Binding binding = Binding::all);
    SharedFlows(const SharedFlows&) = delete;  // flows refer to its hops
    SharedFlows& operator=(const SharedFlows&) = delete;
};

}  // namespace orrery::sim
