// How long a training takes with its failures: in closed form, and event by event over the whole run.
#pragma once

#include <cstdint>

#include "base/error.hpp"
#include "reliability/training_run.hpp"

namespace orrery::reliability {

/// Where the wall clock goes; seconds. Mean over several runs.
struct Times {
    double work = 0;         ///< steps that count, at their predicted time
    double input = 0;        ///< steps that wait for data
    double checkpoints = 0;  ///< steps that wait for a checkpoint
    double lost = 0;         ///< work that is done again
    double detection = 0;
    double restart = 0;  ///< and reading the checkpoint
    double waiting = 0;  ///< for a repaired node
    double shrunk = 0;   ///< longer steps with fewer replicas

    [[nodiscard]] double total() const {
        return work + input + checkpoints + lost + detection + restart + waiting + shrunk;
    }
    void add(const Times& other, double share);
};

/// One run, event by event.
struct Outcome {
    Times times;
    std::uint64_t failures = 0;
};
/// Failures come at exponential intervals from when the job runs (not while it waits for nodes); each picks by chance
/// whether a node is broken. Repairs take their time exactly. The same seed gives the same run.
Outcome simulate(const TrainingRun& run, std::uint64_t seed);

/// Expected wall clock: renewal equations for exponential failures (Daly 2006, equation 20, with a checkpoint that can
/// be used later than the steps go on; the same again for broken nodes that send the job back to older checkpoints),
/// times the time without a node by Erlang's loss formula. Exact but for the last checkpoint on the shared file system,
/// which is there in time or not by the mean, and for shrinking, which counts to first order.
double expected_seconds(const TrainingRun& run);

/// Many runs.
struct Forecast {
    Job job = {};  ///< where it came from one
    TrainingRun run;
    std::uint32_t runs = 0;
    Times mean;
    double failures = 0;  ///< mean
    double seconds_p10 = 0, seconds_p90 = 0;
    double closed_form_s = 0;

    [[nodiscard]] double seconds() const { return mean.total(); }
    /// Productive share of the wall clock.
    [[nodiscard]] double goodput() const { return run.work / seconds(); }
};
/// The job fails so often that nobody needs its end simulated.
class NeverEnds : public Error {
public:
    using Error::Error;
};

/// Of a run with very many failures a part stands for the whole. Throws NeverEnds.
Forecast forecast(const TrainingRun& run, std::uint64_t seed);

}  // namespace orrery::reliability
