#include "synchrony/window.hpp"

#include <algorithm>
#include <cmath>

#include "base/normal.hpp"
#include "base/random.hpp"
#include "synchrony/rounds.hpp"
#include "synchrony/workers.hpp"

namespace orrery::synchrony {

namespace {

double chance(double sigma, std::uint64_t seed, std::uint32_t worker, std::uint64_t step) {
    if (sigma == 0) return 1;
    // In (0, 1): a quantile of 1 has no end.
    const double share = unit(mixed(mixed(mixed(seed) + worker) + step)) * (1 - 0x1p-52);
    return std::exp(sigma * normal_quantile(share) - sigma * sigma / 2);
}

double slowness(const Worker& worker, double now) {
    double slowest = 1;
    for (const std::vector<Slow>& part : worker.parts) {
        double factor = 1;
        for (const Slow& slow : part)
            if (slow.from <= now && now < slow.to) factor *= slow.factor;
        slowest = std::max(slowest, factor);
    }
    return slowest;
}

}  // namespace

double Outcome::mean_staleness() const {
    double sum = 0, all = 0;
    for (std::size_t steps = 0; steps < staleness.size(); ++steps) {
        sum += static_cast<double>(steps) * static_cast<double>(staleness[steps]);
        all += static_cast<double>(staleness[steps]);
    }
    return all > 0 ? sum / all : 0;
}

std::uint32_t Outcome::most_stale() const {
    return staleness.empty() ? 0 : static_cast<std::uint32_t>(staleness.size() - 1);
}

double step_seconds(const Job& job, std::uint32_t worker, std::uint64_t step, double now, std::uint64_t seed) {
    const Worker& of = job.workers[worker];
    return of.compute_s * slowness(of, now) * chance(job.options.step_jitter, seed, worker, step);
}

Outcome simulate(const Job& job, std::uint64_t seed) {
    return job.options.serves() ? simulate_served(job, seed) : simulate_rounds(job, seed);
}

}  // namespace orrery::synchrony
