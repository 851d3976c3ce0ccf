// The flows under way: their rates, kept max-min fair as flows start and end, and when each will end.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/end_queue.hpp"
#include "sim/engine.hpp"
#include "sim/max_min.hpp"

namespace orrery::sim {

/// Rates change only where they can: a flow that starts or ends touches its own link component, and only through
/// *contended* links, those that would be full if every flow on them ran as fast as it could alone. A link that is not
/// contended can never bind (a flow is never faster than alone), so it couples nobody. Starts and ends of one moment
/// are solved together, when the next end is asked for.
class FluidFlows {
public:
    struct Ended {
        std::uint64_t sequence;
        std::uint64_t tag;
    };

    explicit FluidFlows(std::vector<double> capacity_bytes_per_second, RateWatch* watch = nullptr);
    FluidFlows(const FluidFlows&) = delete;
    FluidFlows& operator=(const FluidFlows&) = delete;

    [[nodiscard]] std::size_t links() const { return links_.size(); }

    /// bytes > 0, infinite for a stream; zero weights are left out. Returns the flow's number, which stop() takes.
    std::uint32_t start(double now, std::span<const LinkUse> uses, double bytes, double rate_limit,
                        std::uint64_t sequence, std::uint64_t tag);

    /// Takes a stream away.
    void stop(std::uint32_t stream, double now);

    /// From the time of the next next_end() on. 0: nothing moves.
    void set_capacity(std::uint32_t link, double bytes_per_second);

    /// When the next flow ends, in seconds; infinity when there is none.
    double next_end(double now);

    /// Removes the flows that have ended by `now` and appends them to `ended`. Ends that differ from `now` by no more
    /// than the rounding of its computation count as now.
    void take_ended(double now, std::vector<Ended>& ended);

    [[nodiscard]] double carried_bytes(std::uint32_t link, double now) const;

private:
    struct Use {
        double weight;
        std::uint32_t link;
        std::uint32_t place;  // in the link's crossings
    };
    struct Flow {
        double bytes, remaining, since;  // remaining bytes at the time `since`
        double alone;                    // rate if it had its links to itself
        double limit;                    // its own
        double rate;                     // 0: none yet
        std::uint64_t sequence, tag, visit;
        std::uint32_t first_use, uses;
    };
    struct Crossing {
        std::uint32_t flow;
        std::uint32_t use;  // in uses_
    };
    struct Link {
        double capacity;
        double demand = 0.0;   // sum of weight x alone
        double carried = 0.0;  // by flows that have ended
        std::uint64_t visit = 0;
        std::uint32_t local = 0;  // its number in problem_
        bool dirty = false;
        std::vector<Crossing> crossings;
    };
    [[nodiscard]] static bool contended(const Link& link);
    std::uint32_t take_flow();
    std::uint32_t take_uses(std::uint32_t count);
    void leave_links(const Flow& flow);
    void free(std::uint32_t flow);
    void carry(const Flow& stream, double now);
    void reconsider(std::uint32_t flow);
    void touch(std::uint32_t link);
    void settle(double now);
    void solve_component(std::uint32_t seed, double now);
    void visit_link(std::uint32_t link);
    void visit_flow(std::uint32_t flow);
    void set_rate(std::uint32_t flow, double rate, double now);

    RateWatch* watch_;
    std::vector<Link> links_;
    std::vector<Flow> flows_;
    std::vector<Use> uses_;
    EndQueue ends_;
    std::vector<std::uint32_t> ending_;
    std::vector<std::uint32_t> free_flows_;
    std::vector<std::vector<std::uint32_t>> free_uses_;  // by number of uses
    std::vector<std::uint32_t> started_, dirty_links_;   // since the rates were last settled

    std::uint64_t visit_ = 0;               // number of the current settling; what bears it has been reached
    std::vector<std::uint32_t> component_;  // flows, in the order of problem_
    MaxMinProblem problem_;
    MaxMinSolver solver_;
};

}  // namespace orrery::sim
