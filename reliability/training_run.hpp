// A whole training as far as its goodput goes: how much work there is, how often it fails, what checkpoints cost.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>

#include "reliability/options.hpp"
#include "strategies/plan.hpp"

namespace orrery::reliability {

/// A job and its machines.
struct Job {
    double step_s = 0;                   ///< as predicted
    double steps = 0;                    ///< of the whole training
    std::uint32_t nodes = 0;             ///< on which ranks run
    std::uint32_t gpus = 0;              ///< ranks
    std::uint32_t idle_gpus = 0;         ///< of a cluster that is said to have so many nodes, those without a rank
    std::uint32_t replicas = 1;          ///< data-parallel ones
    std::uint32_t per_node = 1;          ///< replicas that a lost node takes with it at most
    std::uint32_t micro_batches = 0;     ///< of a step on each replica; 0: work divides as one likes
    double parameters = 0;               ///< of the model
    double saved_bytes[2] = {};          ///< of the whole checkpoint, by Saved
    double base_bytes = 0;               ///< of what is not saved again: the model that adapters are put beside
    double resident_bytes = 0;           ///< of weights and states, of the GPU that holds the most
    std::uint32_t savers[2] = {};        ///< ranks that write, by Savers
    std::uint32_t on_one_node[2] = {};   ///< of these, on the node that has the most of them
    double node_tokens = 0;              ///< of a step, that the node with the most input takes
    double nics_bytes_per_second = 0;    ///< of a node, one direction
    double copy_bytes_per_second = 0;    ///< from a GPU to its host while its neighbours copy too; 0: there is none
    double memory_bytes_per_second = 0;  ///< of a GPU
};

/// What goodput follows from; seconds.
struct TrainingRun {
    double work = 0;            ///< steps x step, as predicted
    double step = 0;            ///< as predicted
    double paced_step = 0;      ///< the same, or longer where the input cannot follow
    double failures_per_s = 0;  ///< of the job at full size
    double broken_share = 0;
    double detection = 0, restart = 0;  ///< restart: with everything but reading the checkpoint
    double interval = 0;                ///< of work between checkpoints; infinite: there are none before the end
    double stall = 0;                   ///< for which a checkpoint keeps the steps waiting
    double write = 0, read = 0;         ///< from its beginning until it can be used; until all ranks have it again
    bool outlives_node = true;          ///< else a broken node sends the job back to the shared file system
    std::uint32_t shared_every = 1;
    double shared_write = 0, shared_read = 0;
    std::uint32_t spare_nodes = Failures::as_needed;
    double repair = 0;
    WithoutSpare without_spare = WithoutSpare::wait;
    std::uint32_t replicas = 1, per_node = 1, nodes = 1;
    std::uint32_t micro_batches = 0;

    double checkpoint_bytes = 0;
    bool optimal_interval = false;  ///< not given
    /// Whether broken nodes take checkpoints along, so that the job goes back to the shared file system.
    [[nodiscard]] bool goes_back() const { return !outlives_node && failures_per_s * broken_share > 0; }
    /// Of the job with so many replicas running, over that with all: what a step takes the longer, its micro-batches
    /// are dealt to those that are there, whole ones.
    [[nodiscard]] double pace(double running) const {
        if (micro_batches == 0 || running == 0) return running / replicas;
        const double each = micro_batches;
        return each / std::ceil(each * replicas / running);
    }
    /// Of the job, seconds; infinite without failures.
    [[nodiscard]] double mtbf() const { return 1 / failures_per_s; }
    /// Productive seconds of one interval, slowed by the input.
    [[nodiscard]] double paced_interval() const { return interval * paced_step / step; }
};

/// Failures of one node a second.
double node_failure_rate(const Failures& failures, double gpus_per_node);

/// sqrt(2 stall M): J. W. Young, "A first order approximation to the optimum checkpoint interval", CACM 17(9), 1974.
double young_interval(double stall, double mtbf);
/// J. T. Daly, "A higher order estimate of the optimum checkpoint interval for restart dumps", FGCS 22(3), 2006,
/// equation 37.
double daly_interval(double stall, double mtbf);

/// Whether a plan with so few replicas can shrink is checked here too. Throws Error with pointers as in a scenario.
TrainingRun training_run(const Job& job, const Options& options);

}  // namespace orrery::reliability
