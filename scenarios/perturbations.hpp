// What does not go to plan in a step: slow ranks, slow or stalled links, jitter, traffic of others. Not part of a step
// program; whoever executes one applies this table to it.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace orrery::scenarios {

/// Seconds from the step's begin: from <= t < to.
struct Window {
    double from = 0, to = std::numeric_limits<double>::infinity();
    bool operator==(const Window&) const = default;
};

/// The GPUs of these ranks take `factor` times as long over what they compute in the window.
struct Straggler {
    std::uint32_t first_rank = 0, last_rank = 0;
    double factor = 1;
    Window when;
    bool operator==(const Straggler&) const = default;
};

/// Links of the fabric, both directions of a cable, move 1 / factor of their bytes per second in the window; nothing
/// at all when factor is infinite.
struct SlowLink {
    std::string links;  ///< as in /cluster/failed: "leaf 0 - spine 1", "node 4 nic 2", "leaf 3"
    double factor = 1;
    Window when;
    bool operator==(const SlowLink&) const = default;
};

/// Where background traffic begins or ends: GPUs, or nodes by all their NICs or by one.
struct TrafficEnd {
    enum class Kind : std::uint8_t { gpus, nodes, nics };
    Kind kind = Kind::gpus;
    std::uint32_t first = 0, last = 0;  ///< GPUs or nodes
    std::uint32_t nic = 0;              ///< of each node, where kind is nics
    bool operator==(const TrafficEnd&) const = default;
};

/// Traffic of others between members of two ends, at most so many bytes per second a pair: as many as the max-min fair
/// share of its links gives it. What it does not get is not sent later.
struct Background {
    TrafficEnd from, to;
    double bytes_per_second = 0;
    Window when;
    bool operator==(const Background&) const = default;
};

/// These expert ranks (numbers within each group of strategy.expert) receive `factor` times their mean share of tokens.
struct ExpertLoad {
    std::uint32_t first_rank = 0, last_rank = 0;
    double factor = 1;
    bool operator==(const ExpertLoad&) const = default;
};

struct Perturbations {
    std::vector<Straggler> stragglers = {};  ///< where several meet, factors multiply
    std::vector<SlowLink> links = {};
    /// Every kernel's time is multiplied by a log-normal factor of mean 1 whose logarithm has this standard deviation;
    /// the scenario's seed, the rank and the operation decide which.
    double jitter = 0;
    std::vector<Background> background = {};
    /// Routers that do not balance, in every layer and micro-batch alike: the first expert rank receives this many
    /// times its mean share, or `expert_loads` says who receives what. The others share the rest: no token is lost.
    /// Or experts are numbered by how much they are sought, the k-th as 1 / k^expert_zipf (Zipf's law).
    double expert_imbalance = 1;
    std::vector<ExpertLoad> expert_loads = {};
    double expert_zipf = 0;

    [[nodiscard]] bool none() const {
        return stragglers.empty() && links.empty() && jitter == 0 && background.empty() && balanced();
    }
    [[nodiscard]] bool balanced() const { return expert_imbalance == 1 && expert_loads.empty() && expert_zipf == 0; }
    bool operator==(const Perturbations&) const = default;
};

/// "rank 17 x 1.5", "ranks 8-15 x 2 from 1.5 s", "rank 0 x 1.2 from 100 ms to 2 s". The factor lies in [1, 1000].
/// Throws Error without a place. Factor 1 is legal and means nothing.
Straggler parse_straggler(std::string_view text);
/// "leaf 0 - spine 1 x 4 from 1 s to 2 s"; "node 4 nic 2 down from 1 s to 2 s": no bytes move until the window ends,
/// which it must. Throws Error without a place.
SlowLink parse_slow_link(std::string_view text);
/// "node 4 nic 0 to node 9 nic 0 at 50 Gb/s from 1 s to 2 s", "gpus 0-7 to gpus 8-15 at 1 GB/s",
/// "node 16 to nodes 0-7 at 2 GB/s". Throws Error without a place.
Background parse_background(std::string_view text);

/// "expert rank 3 x 1.5", "expert ranks 0-1 x 0.5". The factor lies in [0, 1000]. Throws Error without a place.
ExpertLoad parse_expert_load(std::string_view text);

/// Tokens that each of `ranks` expert ranks receives, which hold as many of the experts in their order, over their
/// mean; the mean of the list is 1. Throws Error without a place where the table gives more than there is, leaves a
/// rest that nobody takes, or names ranks that are not there.
std::vector<double> expert_loads(const Perturbations& table, std::uint32_t ranks, std::uint32_t experts);

/// As the parsers read it.
std::string to_text(const Straggler& straggler);
std::string to_text(const SlowLink& link);
std::string to_text(const Background& background);
std::string to_text(const ExpertLoad& load);

}  // namespace orrery::scenarios
