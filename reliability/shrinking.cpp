#include "reliability/shrinking.hpp"

#include <algorithm>
#include <cmath>

namespace orrery::reliability {

namespace {

/// Nodes in repair and what they do to the job. Those that run break, as many as run, and each repair takes its time
/// whatever the others do: the engset model of finite sources, whose chances depend on the mean of a repair alone.
class Fleet {
public:
    Fleet(const TrainingRun& run, double broken) : run_(run), broken_(broken) {}

    /// Of the job's pace, with so many nodes in repair.
    [[nodiscard]] double pace(double in_repair) const { return run_.pace(std::floor(running(in_repair))); }
    /// Nodes that break a second.
    [[nodiscard]] double breaking(double in_repair) const { return broken_ * running(in_repair) / run_.replicas; }

    /// The mean pace when as many nodes are in repair as a Poisson variable of that mean says.
    [[nodiscard]] double mean_pace(double load) const {
        if (load == 0) return pace(0);
        const double spread = 12 * std::sqrt(load) + 12, first = std::max(0.0, std::floor(load - spread));
        double chance = std::exp(first * std::log(load) - load - std::lgamma(first + 1)), sum = 0;
        for (double n = first; n < load + spread; ++n) {
            sum += chance * pace(n);
            chance *= load / (n + 1);
        }
        return sum;
    }

    struct Settled {
        double pace = 1;     ///< mean
        double returns = 0;  ///< nodes with which the job grows again, a second
    };
    /// When as many nodes come back as break.
    [[nodiscard]] Settled settled() const {
        constexpr double large = 1e200, negligible = 1e-18;
        double weight = 1, all = 0, paced = 0, returns = 0, most = 0;
        for (double n = 0;; ++n) {
            all += weight;
            paced += weight * pace(n);
            if (n >= run_.spare_nodes) returns += weight * breaking(n);
            most = std::max(most, weight);
            const double next = weight * breaking(n) * run_.repair / (n + 1);
            if (next == 0 || (next < weight && next < negligible * most)) break;
            weight = next;
            if (weight < large) continue;
            for (double* const each : {&weight, &all, &paced, &returns, &most}) *each /= large;
        }
        return {.pace = paced / all, .returns = returns / all};
    }

private:
    [[nodiscard]] double running(double in_repair) const {
        return std::max(0.0, run_.replicas - std::max(0.0, in_repair - run_.spare_nodes) * run_.per_node);
    }

    const TrainingRun& run_;
    double broken_;
};

}  // namespace

/// Until a repair's time has passed nodes only break, later as many come back. The job grows by writing a checkpoint
/// and starting anew.
double shrunk_seconds(const TrainingRun& run, double seconds, double broken) {
    constexpr int parts = 512;
    const Fleet fleet(run, broken);
    const double part = std::min(run.repair, seconds * run.replicas) / parts;
    double in_repair = 0, done = 0;
    for (int i = 0; i < parts && part > 0; ++i) {
        const double middle = in_repair + fleet.breaking(in_repair) * part / 2;
        const double pace = fleet.mean_pace(middle);
        if (done + pace * part >= seconds) return i * part + (seconds - done) / pace;
        done += pace * part;
        in_repair += fleet.breaking(middle) * part;
    }
    const Fleet::Settled settled = fleet.settled();
    const double growth = (run.outlives_node ? run.write : run.shared_write) + run.restart + run.read;
    return parts * part + (seconds - done) / settled.pace * (1 + settled.returns * growth);
}

}  // namespace orrery::reliability
