// Seconds of a collective that is alone on the wire.
//
//   pipelined    latency + fill + max(bytes on the busiest link / its rate, bytes inside the node / the node's rate)
//   sequential   latency + the sum of both, phase by phase
//
// latency: start-ups on the critical path (nccl_tuning.hpp). fill: a tree's first chunk on its way through all hops,
// while the links behind it idle. Inside a node bytes flow at the rate that the profile's nccl-tests tables reach at
// their largest size. A collective of several nodes is never faster than the same one among the members of one of them,
// whose time is measured. Where nodes are of several kinds, each of these is that of the slowest kind: its ranks make
// the others wait in every step of a ring or tree.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "calibrate/predictor.hpp"
#include "sim/collective/nccl_tuning.hpp"
#include "sim/kinds.hpp"

namespace orrery::sim {

struct Cost {
    const Algorithm* algorithm = nullptr;
    Protocol protocol = Protocol::simple;
    double latency_seconds = 0;  ///< start-ups and fill
    double wire_bytes = 0;       ///< that leave, or enter, the busiest node, flags and all
    double wire_seconds = 0;     ///< what the network takes to carry them
    double inside_seconds = 0;   ///< what the nodes, and the algorithm, take at their own rate
    double proxy_seconds = 0;    ///< what the hosts' proxies take beside that (proxies.hpp)
    bool sequential = false;

    /// What NCCL knows of, by which it chooses.
    [[nodiscard]] double reckoned() const {
        return latency_seconds + (sequential ? wire_seconds + inside_seconds : std::max(wire_seconds, inside_seconds));
    }
    /// Of what flows beside the network.
    [[nodiscard]] double beside_wire() const { return std::max(inside_seconds, proxy_seconds); }
    [[nodiscard]] double seconds() const { return std::max(reckoned(), latency_seconds + proxy_seconds); }
};

/// What is to be moved.
struct Job {
    kernels::CollectiveKind kind = kernels::CollectiveKind::all_reduce;
    Shape shape;
    std::uint32_t rails = 1;  ///< members of the smallest node
    double bytes = 0;         ///< nccl-tests' size
    bool operator==(const Job&) const = default;
};

class Pricer {
public:
    /// Of the kinds of GPU that take part, at least one. `from`, `to`: as in machine_of(). Keeps their profiles.
    Pricer(const topology::Cluster& cluster, const Kinds& kinds, std::span<const std::uint32_t> numbers,
           topology::GpuId from, topology::GpuId to);

    [[nodiscard]] const Machine& machine() const { return machine_; }

    /// seconds_per_byte: that the network takes for the schedule of one byte of the job's size.
    [[nodiscard]] Cost cost(const Algorithm& algorithm, Protocol protocol, const Job& job,
                            double seconds_per_byte) const;

    /// Whether it is weighed for the kind where nobody asks for an algorithm (Algorithm::automatic).
    [[nodiscard]] bool automatic(const Algorithm& algorithm, kernels::CollectiveKind kind, const Shape& shape) const;

    /// Whether the machine has what the algorithm works with.
    [[nodiscard]] bool possible(const Algorithm& algorithm) const;

    /// Seconds of a collective among `ranks` GPUs of one node, of the slowest kind.
    [[nodiscard]] double inside_node(kernels::CollectiveKind kind, std::uint32_t ranks, double bytes) const;
    /// Where the first kind's come from.
    [[nodiscard]] std::string explain_inside(kernels::CollectiveKind kind, std::uint32_t ranks, double bytes) const;

private:
    [[nodiscard]] double inside_rate(kernels::CollectiveKind kind, std::uint32_t local) const;
    [[nodiscard]] double inside_seconds(const Outline& outline, const Job& job, double payload_share) const;
    [[nodiscard]] double fill_seconds(const Outline& outline, Protocol protocol, const Job& job,
                                      double seconds_per_byte) const;

    struct Inside {
        const calibrate::Predictor* profile;
        const topology::NodePlan* node;
    };
    std::vector<Inside> kinds_;
    Machine machine_;
};

}  // namespace orrery::sim
