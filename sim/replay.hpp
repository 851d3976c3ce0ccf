// Step programs replayed on an engine: every class of ranks through its program, with contended transfers.
#pragma once

#include <span>
#include <vector>

#include "base/progress.hpp"
#include "sim/engine.hpp"
#include "sim/folding.hpp"
#include "sim/kind_costs.hpp"
#include "sim/perturbed.hpp"

namespace orrery::sim {

/// One of the jobs that share a cluster.
struct ReplayJob {
    const strategies::StepProgram* step;
    const KindCosts* costs;
    const Folding* folding;                  ///< of fold_jobs()
    std::vector<std::uint32_t> record = {};  ///< classes whose spans are kept, ascending
    double starts_at = 0;                    ///< seconds
};

/// A job's first step.
struct Replayed {
    double end = 0;                      ///< seconds until the last operation of any rank has ended
    std::vector<RankClass> classes;      ///< with the time of their last end; spans of those that were recorded
    std::vector<double> own_bytes = {};  ///< by engine link: carried for this job; of several jobs only
};
struct ReplayedJobs {
    std::vector<Replayed> jobs;
    std::vector<double> link_bytes;  ///< by engine link: carried until the first job's first step has ended
};

/// Times follow from the program alone (step_program.hpp): computing operations are timed as soon as what they wait for
/// is known; transfers between nodes are handed to the engine at the moment their last party arrives. A transfer's span
/// begins when all its parties are there.
/// Each job begins a step as soon as its step before has ended, until every job has ended its first: what is given back
/// is the first of each. perturbed (null: nothing is): its kernels are the first job's, whose step must be unrolled if
/// it slows kernels; its marks must have gone into the folding. progress: operations of the first job's first step,
/// told now and then. Throws std::logic_error when an operation never ends, which verify() would have said, and Error
/// at /other_jobs when one job would repeat its step too often.
ReplayedJobs replay(std::span<const ReplayJob> jobs, const Network& network, Engine& engine,
                    const Perturbed* perturbed = nullptr, const ProgressCallback& progress = {});
/// One job, spans of all its classes.
Replayed replay(const strategies::StepProgram& step, const KindCosts& costs, const Network& network,
                const Folding& folding, Engine& engine);

}  // namespace orrery::sim
