// What a transfer costs on a cluster: a latency, then bytes that flow over links.
#pragma once

#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "calibrate/predictor.hpp"
#include "sim/collective/pricing.hpp"
#include "sim/engine.hpp"
#include "sim/kinds.hpp"
#include "strategies/plan.hpp"
#include "strategies/step_program.hpp"
#include "topology/cluster.hpp"

namespace orrery::sim {

/// `latency` seconds, then `bytes` over the links of its path at no more than rate_limit. bytes 0: the latency is all,
/// as for transfers inside a node, whose calibrated time is a latency in this sense.
struct Transfer {
    double latency = 0;
    double bytes = 0;
    double rate_limit = std::numeric_limits<double>::infinity();
};

/// What an exchange of tokens takes inside a node beside the links (hardware/token_exchange.hpp).
double seconds_of_tokens(const strategies::OnceANode& exchange);

/// Algorithms that a plan insists on for collectives among nodes; null: as NCCL chooses.
struct InsistedAlgorithms {
    const Algorithm *all_reduce = nullptr, *all_to_all = nullptr;
};
InsistedAlgorithms insisted_algorithms(const strategies::Strategy& strategy);

/// On a cluster of several kinds of GPU what a node does alone takes its own profile's time; what nodes do together
/// takes the launch and the pace of the slowest of their kinds.
class Network {
public:
    Network(const topology::Cluster& cluster, const Profiles& profiles, const InsistedAlgorithms& insisted = {});

    [[nodiscard]] const topology::Cluster& cluster() const { return cluster_; }
    [[nodiscard]] const Kinds& kinds() const { return kinds_; }

    [[nodiscard]] topology::LinkId first_fabric_link() const { return cluster_.first_fabric_link(); }
    [[nodiscard]] std::uint32_t gpus_per_node() const { return cluster_.gpus_per_node(); }

    /// Payload bytes per second that a link of the cluster carries, for an engine.
    [[nodiscard]] double capacity(topology::LinkId link) const { return capacity(cluster_.link(link)); }
    [[nodiscard]] double capacity(const topology::Link& link) const {
        return link.bytes_per_second * (link.tier == 0 ? 1.0 : payload_);
    }

    /// How a group is spread: its nodes, and its GPUs in the node that has the fewest.
    struct Spread {
        std::uint32_t nodes = 0, rails = 0;
    };
    /// group: ascending.
    [[nodiscard]] Spread spread_of(std::span<const topology::GpuId> group) const;

    /// Links that a message uses, empty inside a node.
    [[nodiscard]] std::vector<LinkUse> path(topology::GpuId from, topology::GpuId to) const;
    [[nodiscard]] Transfer message(topology::GpuId from, topology::GpuId to, double bytes) const;

    /// From GPU to GPU, with the share of the traffic that takes this hop.
    struct Hop {
        topology::GpuId from, to;
        double share;
    };
    /// The hops between nodes of a collective of these GPUs (ascending), for one byte of ring traffic; none inside a
    /// node. Chips that fill a grid of their torus send along all of its dimensions at once (torus_ring.hpp).
    [[nodiscard]] std::vector<Hop> hops(std::span<const topology::GpuId> group) const;
    /// Links that a collective of these GPUs (ascending) uses for one byte of ring traffic, empty inside a node. Ranks
    /// of one node run that many rings side by side, each entering and leaving the node through its own GPU's NIC.
    [[nodiscard]] std::vector<LinkUse> path(std::span<const topology::GpuId> group) const;
    /// The use that binds a transfer over `path` when it is alone, none on an empty path. It stands for the whole path
    /// in collective() and alone().
    [[nodiscard]] std::vector<LinkUse> tightest(std::span<const LinkUse> path) const;
    /// Transfer of a collective (nccl-tests' size) over the links of `path`: as measured where the profile has just
    /// this number of ranks on this number of nodes; else choosing algorithm and protocol as NCCL does, the least time
    /// when nothing else is on the wire, or the algorithm that is insisted on. tokens: of an all_to_all whose tokens go
    /// once to a node, how many they are; inside a node their kernels' time is added to that of the links.
    [[nodiscard]] Transfer collective(kernels::CollectiveKind kind, std::span<const topology::GpuId> group,
                                      double bytes, std::span<const LinkUse> path,
                                      const strategies::OnceANode* tokens = nullptr) const;

    /// Time when nothing else is on the wire.
    [[nodiscard]] double alone(const Transfer& transfer, std::span<const LinkUse> path) const;

    /// How collective() found its answer, for `orrery explain`.
    [[nodiscard]] std::string explain(kernels::CollectiveKind kind, std::span<const topology::GpuId> group,
                                      double bytes) const;

private:
    /// GPUs ascending, with the grid that chips fill. once: as in Shape.
    [[nodiscard]] Group group_of(std::span<const topology::GpuId> gpus, double once = 1) const;
    /// By the profile's own table of just such a group: a start-up, and the rest as bytes over the links, so that alone
    /// it takes what was measured and shares the links as modelled. None without such a table.
    [[nodiscard]] std::optional<Transfer> measured(kernels::CollectiveKind kind, const Group& group, double bytes,
                                                   std::span<const LinkUse> path) const;
    [[nodiscard]] double bottleneck(std::span<const LinkUse> path) const;
    [[nodiscard]] Cost choose(kernels::CollectiveKind kind, const Group& group, double bytes,
                              std::span<const LinkUse> path) const;

    /// What collectives of some kinds of GPU share.
    struct Mixture {
        double launch;  // of a collective: stream events around it
        Pricer pricer;
    };
    /// What choose() answered.
    struct Chosen {
        const Mixture* among;
        double rate;  // of the path
        Job job;
        Cost cost;
    };
    [[nodiscard]] const Algorithm* insisted_on(const Job& job) const;
    [[nodiscard]] Cost cheapest(const Pricer& pricer, const Job& job, double rate) const;
    [[nodiscard]] const Mixture& mixture(std::span<const topology::GpuId> gpus) const;
    [[nodiscard]] const calibrate::Predictor& predictor(topology::GpuId gpu) const {
        return *kinds_[kinds_.of(gpu)].predictor;
    }

    topology::Cluster cluster_;  // its adaptive routes are those of this network
    Kinds kinds_;
    InsistedAlgorithms insisted_;
    bool knows_nodes_;                                                // a profile has collectives among nodes
    double payload_;                                                  // share of a link's rate that carries payload
    mutable std::map<std::vector<std::uint32_t>, Mixture> mixtures_;  // by kinds
    mutable std::vector<Chosen> chosen_;
};

}  // namespace orrery::sim
