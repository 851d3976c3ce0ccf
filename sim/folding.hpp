// Classes of ranks that behave alike, so that one of each is simulated, and the traffic between them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "sim/binding.hpp"
#include "sim/network.hpp"
#include "sim/perturbed.hpp"
#include "sim/step.hpp"
#include "sim/traffic.hpp"

namespace orrery::sim {

/// Where the messages of one class along one channel go.
struct MessageRoute {
    std::uint32_t peer = 0;            ///< class that receives
    topology::GpuId from = 0, to = 0;  ///< of one member
    std::uint32_t first_use = 0, uses = 0;
};

/// One class of groups of a collective.
struct GroupRoute {
    std::vector<std::uint32_t> classes;  ///< of its members, ascending, each once
    std::vector<topology::GpuId> gpus;   ///< of one such group
    std::vector<LinkUse> alone;          ///< the cluster link that binds it alone (Network::tightest)
    std::uint32_t first_use = 0, uses = 0;
};

/// One class of background flows.
struct BackgroundRoute {
    double bytes_per_second = 0;  ///< of each flow at most
    scenarios::Window when;
    std::uint32_t first_use = 0, uses = 0;
};

/// An engine link stands for a class of cluster links: a flow on it stands for a class of flows and uses
/// (flows x crossings / links) of its capacity (folding.md).
struct Folding {
    static constexpr std::uint32_t none = Traffic::none;

    explicit Folding(Traffic what) : traffic(std::move(what)) {}

    Traffic traffic;      ///< that was folded
    bool folded = false;  ///< false: every rank and link for itself
    Binding binding = Binding::all;
    std::vector<RankClass> classes;              ///< spans still empty
    std::vector<std::uint32_t> class_of;         ///< rank -> class
    std::vector<double> capacities;              ///< of the engine's links
    std::vector<std::uint32_t> link_members;     ///< cluster links that an engine link stands for
    std::vector<topology::LinkId> link_example;  ///< one of them
    std::vector<MessageRoute> messages;
    std::vector<GroupRoute> groups;
    std::vector<BackgroundRoute> background;  ///< in the first job's folding only
    std::vector<LinkUse> uses;                ///< engine links of all routes
    std::vector<std::uint32_t> message_of;    ///< [class][channel] -> messages, none where the class does not send
    std::vector<std::uint32_t> group_of;      ///< [class][set] -> groups, none where the class takes no part

    /// Number of a class's route along a channel or in a set of the traffic's numbering; none without one.
    [[nodiscard]] std::uint32_t message(std::uint32_t number, std::uint32_t channel) const {
        return message_of[number * traffic.channels.size() + channel];
    }
    [[nodiscard]] std::uint32_t group(std::uint32_t number, std::uint32_t set) const {
        return group_of[number * traffic.sets.size() + set];
    }
    [[nodiscard]] std::uint32_t group_of_rank(std::uint32_t rank, strategies::AxisSet axes) const {
        const std::uint32_t set = traffic.number(axes);
        return set == none ? none : group(class_of[rank], set);
    }
    template <class Route>
    [[nodiscard]] std::span<const LinkUse> uses_of(const Route& route) const {
        return {uses.data() + route.first_use, route.uses};
    }
};

/// A step program and where its ranks run.
struct PlacedProgram {
    const strategies::StepProgram* step;
    const strategies::RankPlacement* placement;
};

/// Jobs that share a cluster, on different GPUs: a folding of each, over the same engine links. marks: those of ranks
/// are of the first job's; background flows become routes of its folding.
std::vector<std::shared_ptr<const Folding>> fold_jobs(std::span<const PlacedProgram> jobs,
                                                      const topology::Cluster& cluster, const Network& network,
                                                      bool fold, const Marks& marks = {});

/// The same for a job by itself.
/// fold true: the coarsest partition of ranks, flows and links for which max-min rates and times are exactly those of
/// the unfolded cluster (equitable.hpp, folding.md). fold false: every rank and link for itself.
/// Ranks and links of different marks are never alike. `known`, folded without marks, is given back when it is what
/// would come out: plans that differ in time and memory alone fold alike.
std::shared_ptr<const Folding> fold_ranks(const strategies::StepProgram& step, const topology::Cluster& cluster,
                                          const Network& network, bool fold,
                                          std::shared_ptr<const Folding> known = nullptr, const Marks& marks = {},
                                          const strategies::RankPlacement& placement = {});

/// The same for traffic that is known, with nothing marked.
std::shared_ptr<const Folding> fold_ranks(Traffic traffic, const topology::Cluster& cluster, const Network& network,
                                          bool fold, Binding binding = Binding::all);

}  // namespace orrery::sim
