// Weighted max-min fair rates of flows that share links.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/engine.hpp"

namespace orrery::sim {

/// Links and the flows over them, in rows: flow f crosses uses[first_use[f]] .. uses[first_use[f + 1] - 1].
struct MaxMinProblem {
    std::vector<double> capacity;                ///< per link, bytes per second, positive
    std::vector<double> limit;                   ///< per flow, bytes per second, positive; infinity: none
    std::vector<std::uint32_t> first_use = {0};  ///< per flow, and one more
    std::vector<LinkUse> uses;                   ///< weights positive

    void clear();
    /// Appends a flow over the uses pushed since the last one.
    void close_flow(double rate_limit);
};

/// Progressive filling (Bertsekas and Gallager, Data Networks, 1992, section 6.5.2), with weights: all rates grow
/// together; when a link is full, or a flow at its limit, the flows concerned keep their rate and the others grow on.
/// O((uses + links + flows) log (links + flows)). Keeps its memory between calls.
class MaxMinSolver {
public:
    /// Rate of each flow, bytes per second; infinite for a flow that nothing binds. Valid until the next call.
    std::span<const double> solve(const MaxMinProblem& problem);

private:
    struct Binding {
        double level;        ///< the common rate at which it binds
        std::uint32_t what;  ///< a link, or links + flow
    };
    struct Later {
        bool operator()(const Binding& a, const Binding& b) const {
            return a.level > b.level || (a.level == b.level && a.what > b.what);
        }
    };
    struct LinkState {
        double free_capacity;  ///< capacity minus weight x rate of the flows that are fixed
        double growing;        ///< sum of weights of the flows that still grow
        double summed;         ///< `growing` when it was last summed afresh
        std::uint32_t open;    ///< uses by flows that still grow
    };

    void gather_bindings(const MaxMinProblem& problem);
    void index_links(const MaxMinProblem& problem);
    void sum_afresh(const MaxMinProblem& problem, std::uint32_t link);
    void fix(const MaxMinProblem& problem, std::uint32_t flow, double rate);
    void fill_link(const MaxMinProblem& problem, std::uint32_t link, double level);

    std::vector<double> rate_;             // negative: still grows
    std::vector<LinkState> state_;         // per link
    std::vector<std::uint32_t> first_;     // per link, into crossing_
    std::vector<std::uint32_t> crossing_;  // uses of each link, as positions in problem.uses
    std::vector<std::uint32_t> flow_of_;   // per use
    std::vector<Binding> heap_;
    std::uint32_t still_growing_ = 0;
};

}  // namespace orrery::sim
