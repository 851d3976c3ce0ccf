// Classes of ranks that behave alike, so that one of each is simulated, and the traffic between them.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "sim/network.hpp"
#include "sim/prediction.hpp"
#include "strategies/step_program.hpp"

namespace orrery::sim {

/// Where the messages of one class along one channel go.
struct MessageRoute {
    std::uint32_t peer = 0;            ///< class that receives
    topology::GpuId from = 0, to = 0;  ///< of one member
    std::vector<LinkUse> uses;         ///< engine links
    std::vector<LinkUse> alone;        ///< cluster links of that member, for latency and choices
};

/// One class of groups of a collective.
struct GroupRoute {
    std::vector<std::uint32_t> classes;  ///< of its members, ascending, each once
    std::vector<topology::GpuId> gpus;   ///< of one such group
    std::vector<LinkUse> uses, alone;    ///< as above
};

/// A channel is an (axis, delta) along which some program sends.
struct Channel {
    strategies::Axis axis;
    std::int32_t delta;
    auto operator<=>(const Channel&) const = default;
};

/// An engine link stands for a class of cluster links: a flow on it stands for a class of flows and uses
/// (flows x crossings / links) of its capacity (engine.md). Ranks are GPUs of the same number.
struct Folding {
    std::vector<RankClass> classes;              ///< spans still empty
    std::vector<std::uint32_t> class_of;         ///< rank -> class
    std::vector<double> capacities;              ///< of the engine's links
    std::vector<std::uint32_t> link_members;     ///< cluster links that an engine link stands for
    std::vector<topology::LinkId> link_example;  ///< one of them
    std::map<std::pair<std::uint32_t, Channel>, MessageRoute> messages;  ///< by sender's class
    std::vector<GroupRoute> groups;
    std::map<std::pair<std::uint32_t, std::uint8_t>, std::uint32_t> group_of;  ///< (class, AxisSet bits) -> groups
};

/// fold true: the coarsest partition of ranks, flows and links for which max-min rates and times are exactly those of
/// the unfolded cluster (equitable.hpp). fold false: every rank and link for itself.
Folding fold_ranks(const strategies::StepProgram& step, const topology::Cluster& cluster, const Network& network,
                   bool fold);

}  // namespace orrery::sim
