// The best plans of a model on a cluster, and the proof that no other plan of the space is better.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "calibrate/profile_store.hpp"
#include "planning/crew.hpp"
#include "planning/journal.hpp"
#include "planning/search/candidates.hpp"
#include "planning/search/objective.hpp"
#include "planning/sweep/grid.hpp"

namespace orrery::planning {

struct SearchQuestion {
    /// The scenario, and the clusters that it is looked at on: each point of the grid (whose axes are no rows of
    /// plans).
    Grid sites;
    /// Rows of plans that are held to some values (space.hpp).
    std::vector<std::pair<std::string, std::vector<std::string>>> given = {};
    Objective objective = Objective::step;
    GpuPrices prices = {};
    std::size_t top = 10;
    double idle = 0.125;  ///< share of the GPUs that a plan may leave idle

    /// Of all that decides the answer.
    [[nodiscard]] std::string fingerprint() const;
};

struct FoundPlan {
    std::uint64_t number = 0;  ///< among all plans
    std::uint64_t site = 0;    ///< point of the grid
    strategies::Strategy strategy;
    std::uint32_t micro_batch = 1;
    Outcome outcome;
    double counts = 0;  ///< by the objective; less is better
};

/// The best plan of one cluster (site) of several: in a search its fastest is also its cheapest.
struct ClusterBest {
    FoundPlan plan;
    double gpus = 0;        ///< that are there, idle ones counted, spare nodes not
    double tokens = 0;      ///< of the whole training, or 10^9 where the scenario states no budget
    double time_s = 0;      ///< that they take
    double cost = 0;        ///< of them and of spare nodes; in GPU-hours where none has a price
    bool on_front = false;  ///< no cluster's best plan is both faster and cheaper
    bool proven = true;
};

struct SearchResult {
    std::uint64_t plans = 0;       ///< enumerated
    std::uint64_t too_large = 0;   ///< that do not fit into memory
    std::uint64_t excluded = 0;    ///< whose bound is above the worst of `best`
    std::uint64_t simulated = 0;   ///< that had to be, and fit
    bool proven = true;            ///< no plan of the space that fits counts less than `best` says
    bool limited = false;          ///< more should have been simulated than may be
    std::vector<FoundPlan> best;   ///< the best first; of equals the first plan; at most as many as asked for
    std::vector<FoundPlan> front;  ///< of all simulated plans, those than which none is faster and leaves more memory
    /// Where there are several sites: of each where a plan fits the best plan, the fastest first.
    std::vector<ClusterBest> clusters;
    std::vector<std::pair<std::uint64_t, std::string>> impossible;  ///< sites where no plan can be, and why
};

/// The answer that there is none: no plan can be made of the space, or none fits into memory.
class NoPlan : public Error {
public:
    using Error::Error;
};

/// How a search is run and watched.
struct SearchOptions {
    unsigned threads = 1;                  ///< for bounds
    Crew crew = {};                        ///< who simulates; none: as many threads
    std::size_t most_simulated = 200'000;  ///< beyond that nothing is proven
    /// A part of the work begins, of so many steps; one of them is done. From several threads.
    std::function<void(const char* part, std::size_t steps)> begin = [](const char*, std::size_t) {};
    std::function<void()> done = [] {};
};

/// Simulates plans on the clusters of the question, whichever process asks. Throws Error when no site allows a plan.
Simulate simulate_plans(const SearchQuestion& question, calibrate::ProfileStore& profiles);

/// Enumerates every plan, drops those whose least memory does not fit, and simulates the rest in the order of their
/// bounds until the worst of the best K counts no more than the next bound: then these are the best K of all. Of
/// several sites each is then searched for its own best plan. Plans
/// that the journal holds are not simulated again. The answer depends on the question alone: not on threads, and not on
/// what was interrupted. Throws Error when no site allows a plan, NoPlan where none can be made or none fits.
SearchResult search(const SearchQuestion& question, calibrate::ProfileStore& profiles, Journal& journal,
                    const SearchOptions& options = {});

/// What turns a scenario into the plan that was found: "--set strategy.tensor=8 ..." without what it says already.
std::vector<scenarios::Override> settings(const SearchQuestion& question, const FoundPlan& plan);

}  // namespace orrery::planning
