// One collective alone on a cluster, at any size: chosen algorithm, seconds and busiest links.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "calibrate/predictor.hpp"
#include "sim/collective/link_load.hpp"
#include "sim/collective/pricing.hpp"
#include "sim/kinds.hpp"

namespace orrery::sim {

/// What the user insists on; absent: as NCCL chooses.
struct Insisted {
    const Algorithm* algorithm = nullptr;
    std::optional<Protocol> protocol;
};

struct LinkShare {
    std::string link;           ///< topology::link_name
    double bytes = 0;           ///< that it carries
    double utilisation = 0;     ///< of its payload capacity over the collective's time
    std::uint32_t as_busy = 1;  ///< links that are as busy as this one
};

/// An algorithm that was considered.
struct Weighed {
    std::string_view algorithm, protocol;
    double seconds = 0;
};

struct CollectiveTime {
    double seconds = 0;
    std::string_view algorithm, protocol;
    std::string why;
    std::vector<Weighed> weighed;    ///< the quickest first, the one taken; empty: a table or a message
    std::vector<LinkShare> busiest;  ///< at most four, the busiest first; one of each kind of link, but
                                     ///< those that join a node's GPUs without switches
};

/// Link loads are worked out once an algorithm and scale with the size.
class CollectiveTimer {
public:
    /// Keeps references.
    CollectiveTimer(const topology::Cluster& cluster, const Profiles& profiles, Group group);

    /// As nccl-tests times it: back to back, without the framework's launch. Throws Error when what is insisted on
    /// does not serve the kind or the group.
    [[nodiscard]] CollectiveTime time(kernels::CollectiveKind kind, double bytes, const Insisted& insisted = {});
    /// Only the seconds of it.
    [[nodiscard]] double seconds(kernels::CollectiveKind kind, double bytes, const Insisted& insisted = {});

private:
    struct Loads {
        double seconds_per_byte = 0;  ///< of the network, phase after phase or all phases at once
        LinkLoad::Bytes bytes;        ///< of one byte of size
    };
    struct Answer {
        std::optional<Cost> cost;  ///< none: a table of the profile
        double seconds = 0;
        std::vector<Cost> weighed;
        bool measured_so = false;  ///< among just so many nodes
    };
    const Loads& loads(const Algorithm& algorithm, kernels::CollectiveKind kind);
    [[nodiscard]] double capacity(topology::LinkId link) const;
    [[nodiscard]] double slowest(const LinkLoad::Bytes& bytes) const;
    [[nodiscard]] Answer answer(kernels::CollectiveKind kind, double bytes, const Insisted& insisted);
    [[nodiscard]] Answer message(double bytes) const;
    [[nodiscard]] std::vector<LinkShare> busiest(const Loads& loads, double bytes, double seconds) const;

    const topology::Cluster& cluster_;
    Kinds kinds_;
    Group group_;
    Pricer pricer_;
    double payload_;
    std::map<std::pair<std::string_view, kernels::CollectiveKind>, Loads> loads_;
};

}  // namespace orrery::sim
