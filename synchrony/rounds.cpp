#include "synchrony/rounds.hpp"

#include <algorithm>

namespace orrery::synchrony {

Outcome simulate_rounds(const Job& job, std::uint64_t seed) {
    const std::uint32_t each = std::max(1U, job.options.local_steps);
    const std::uint64_t rounds = job.options.steps / each, workers = job.workers.size();
    Outcome outcome{.job = job, .workers = std::vector<WorkerTime>(workers)};
    std::vector<double> ends(workers);
    for (std::uint64_t round = 0; round < rounds; ++round) {
        for (std::uint32_t w = 0; w < workers; ++w) {
            ends[w] = outcome.seconds;
            for (std::uint64_t step = round * each; step < (round + 1) * each; ++step)
                ends[w] += step_seconds(job, w, step, ends[w], seed);
            outcome.workers[w].steps += each;
            outcome.workers[w].computing += ends[w] - outcome.seconds;
        }
        const double last = *std::ranges::max_element(ends);
        for (std::uint32_t w = 0; w < workers; ++w) {
            outcome.workers[w].waiting += last - ends[w];
            outcome.workers[w].exchanging += job.reduce_s;
        }
        outcome.seconds = last + job.reduce_s;
    }
    outcome.updates = rounds * each * workers;
    outcome.staleness.assign(each, rounds * workers);
    return outcome;
}

}  // namespace orrery::synchrony
