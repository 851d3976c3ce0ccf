// What a planner asks of a cluster: its switches and cables, what they can carry, how far GPUs are apart, and whether
// it holds together.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "topology/cluster.hpp"

namespace orrery::topology {

struct Survey {
    struct Switches {
        std::string name;  ///< "leaf"
        std::uint32_t count = 0;
        std::uint32_t ports_used = 0;     ///< of the fullest switch
        std::uint32_t ports_offered = 0;  ///< of the product; 0: a router on a chip
    };
    struct Cables {
        std::string name;  ///< "node - leaf"
        std::uint32_t count = 0;
        double bytes_per_second = 0;  ///< of one cable, one direction; where they differ, of the slowest
        double fastest_bytes_per_second = 0;
        double latency_seconds = 0;  ///< cable and the switch it leads into; the least and the most
        double longest_seconds = 0;
    };
    struct Hops {
        std::uint32_t switches = 0;    ///< links, for chips
        std::uint64_t node_pairs = 0;  ///< ordered
        bool operator==(const Hops&) const = default;
    };
    struct Check {
        bool ok = true;
        std::string text;
    };

    std::vector<Switches> switches;
    std::vector<Cables> cables;
    double bisection_bytes_per_second = 0;  ///< over what works
    bool bisection_intact = false;          ///< there are failures, too many links to say what they cost
    double injection_bytes_per_second = 0;  ///< all NICs of half the nodes together, one direction
    double oversubscription = 0;            ///< injection over bisection; 0: no network
    std::vector<Hops> hops;                 ///< ascending
    double mean_switches = 0;
    bool sampled = false;                              ///< the hops are estimated from some of the nodes
    double nearest_seconds = 0, farthest_seconds = 0;  ///< latency from GPU to GPU of other nodes, over 1,000 pairs
    std::uint32_t failed_links = 0;
    std::vector<Check> checks;

    [[nodiscard]] std::uint32_t diameter() const { return hops.empty() ? 0 : hops.back().switches; }
    [[nodiscard]] bool sound() const;
};

/// Takes time in proportion to the cluster's links: 0.3 s for a million GPUs.
Survey survey(const Cluster& cluster);

}  // namespace orrery::topology
