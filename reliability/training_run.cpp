#include "reliability/training_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.hpp"
#include "base/units.hpp"

namespace orrery::reliability {

namespace {

constexpr double seconds_per_day = 86400;
constexpr double infinity = std::numeric_limits<double>::infinity();

/// What is not said, by the nodes of the job. The usual drives are those of a node whose host is known; else 0.
Storage rates(const Storage& storage, const Job& job) {
    const auto or_usual = [](double given, double usual) { return given > 0 ? given : usual; };
    Storage full = storage;
    full.node_read = or_usual(storage.node_read, hardware::node_read);
    full.node_write = or_usual(storage.node_write, hardware::node_write);
    full.read = or_usual(storage.read, std::max(hardware::node_read, job.nodes * hardware::shared_read_per_node));
    full.write = or_usual(storage.write, std::max(hardware::node_write, job.nodes * hardware::shared_write_per_node));
    if (job.copy_bytes_per_second > 0) {
        full.nvme_read = or_usual(storage.nvme_read, hardware::nvme_read);
        full.nvme_write = or_usual(storage.nvme_write, hardware::nvme_write);
    }
    return full;
}

/// Times of one checkpoint. A rank that saves writes as much as the others that do.
class Prices {
public:
    Prices(const Job& job, const Checkpoint& how, const Storage& storage) : job_(job), rates_(rates(storage, job)) {
        const auto savers = static_cast<std::size_t>(how.savers);
        bytes_ = job.saved_bytes[static_cast<std::size_t>(how.saved)];
        of_rank_ = bytes_ / job.savers[savers];
        of_node_ = of_rank_ * job.on_one_node[savers];
    }
    [[nodiscard]] double bytes() const { return bytes_; }

    [[nodiscard]] double write(Tier tier) const {
        switch (tier) {
            case Tier::shared: return std::max(bytes_ / rates_.write, of_node_ / rates_.node_write);
            case Tier::nvme: return of_node_ / drives(&Storage::nvme_write);
            case Tier::host_memory: return of_rank_ / copies("host_memory");
            case Tier::peer_gpu: return of_node_ / nics();
        }
        return 0;
    }
    /// From the shared file system once, then to all nodes over the network; from another tier each node its own,
    /// beside the base of adapters, which none but the shared file system has.
    [[nodiscard]] double read(Tier tier) const {
        const double base = job_.base_bytes / std::min(rates_.read, job_.nodes * rates_.node_read);
        return tier == Tier::shared ? read_shared(base) : std::max(base, read_back(tier));
    }
    /// For which an asynchronous checkpoint keeps the steps waiting: the states leave where the optimizer writes.
    [[nodiscard]] double snapshot(Tier tier) const {
        constexpr double read_and_write = 2;
        if (tier == Tier::peer_gpu) return read_and_write * of_rank_ / job_.memory_bytes_per_second;
        return of_rank_ / copies(nullptr);
    }

private:
    [[nodiscard]] double resident_on_node() const { return job_.resident_bytes * job_.gpus / job_.nodes; }
    [[nodiscard]] double read_shared(double base) const {
        const double once = std::max(base + bytes_ / rates_.read, of_node_ / rates_.node_read);
        return job_.nodes > 1 ? std::max(once, resident_on_node() / nics()) : once;
    }
    [[nodiscard]] double read_back(Tier tier) const {
        switch (tier) {
            case Tier::nvme: return resident_on_node() / drives(&Storage::nvme_read);
            case Tier::host_memory: return job_.resident_bytes / copies("host_memory");
            case Tier::peer_gpu: return resident_on_node() / nics();
            case Tier::shared: break;
        }
        return 0;
    }
    [[nodiscard]] double copies(const char* tier) const {
        if (job_.copy_bytes_per_second > 0) return job_.copy_bytes_per_second;
        throw Error("", tier != nullptr ? "/checkpoint/tier" : "/checkpoint/asynchronous",
                    "the cluster's nodes have no host to copy to",
                    "write synchronously to the shared file system: \"tier\": \"shared\", \"asynchronous\": false");
    }
    [[nodiscard]] double drives(double Storage::*rate) const {
        if (rates_.*rate > 0) return rates_.*rate;
        throw Error("", "/checkpoint/tier", "what drives the cluster's nodes have is not known",
                    "give storage.nvme_read_rate and storage.nvme_write_rate, or \"tier\": \"shared\"");
    }
    [[nodiscard]] double nics() const {
        if (job_.nics_bytes_per_second > 0 && job_.nodes > 1) return job_.nics_bytes_per_second;
        throw Error("", "/checkpoint/tier", "a single node has no other to send checkpoints to",
                    "one of: shared, nvme, host_memory");
    }

    const Job& job_;
    Storage rates_;
    double bytes_ = 0, of_rank_ = 0, of_node_ = 0;
};

/// In whole steps, one at least.
double whole_steps(double interval, double step) {
    return std::isfinite(interval) ? std::max(1.0, std::round(interval / step)) * step : interval;
}

void set_interval(const Checkpoint& how, TrainingRun& run) {
    // The steps go on while a checkpoint is written, and the next begins no earlier than it is there.
    const double beside = run.paced_step / run.step;
    const double least = std::max(run.write - run.stall, run.shared_write / run.shared_every - run.stall) / beside;
    run.optimal_interval = how.interval_s == 0;
    if (!run.optimal_interval) {
        run.interval = whole_steps(how.interval_s / beside, run.step);
        if (run.interval < least * (1 - 1e-9))
            throw Error(
                "", "/checkpoint/interval",
                fmt::format("{} between checkpoints, but writing one takes {}", format_seconds(run.paced_interval()),
                            format_seconds(std::max(run.write, run.shared_write / run.shared_every))),
                fmt::format("at least {:.0f} s; or state faster storage, or a larger shared_every",
                            std::ceil(least * beside)));
        return;
    }
    const double best =
        how.optimum == Optimum::young ? young_interval(run.stall, run.mtbf()) : daly_interval(run.stall, run.mtbf());
    run.interval = whole_steps(best / beside, run.step);
    if (run.interval < least) run.interval = std::ceil(least / run.step) * run.step;
}

void set_failures(const Failures& failures, const Job& job, TrainingRun& run) {
    run.failures_per_s =
        job.nodes * node_failure_rate(failures, static_cast<double>(job.gpus) / static_cast<double>(job.nodes));
    run.broken_share = failures.broken_share;
    run.detection = failures.detection_s;
    run.restart = failures.restart_s;
    run.spare_nodes = failures.spare_nodes;
    run.repair = failures.repair_s;
    run.without_spare = failures.without_spare;
    if (failures.without_spare == WithoutSpare::shrink && job.replicas < 2)
        throw Error("", "/reliability/without_spare", "a single replica cannot shrink", "write \"wait\"");
}

}  // namespace

double node_failure_rate(const Failures& failures, double gpus_per_node) {
    if (failures.node_mtbf_s > 0) return 1 / failures.node_mtbf_s;
    if (failures.per_1000_node_days >= 0) return failures.per_1000_node_days / 1000 / seconds_per_day;
    return hardware::failures_per_gpu_day * gpus_per_node / seconds_per_day;
}

double young_interval(double stall, double mtbf) {
    if (!std::isfinite(mtbf)) return infinity;
    return std::sqrt(2 * stall * mtbf);
}

double daly_interval(double stall, double mtbf) {
    if (!std::isfinite(mtbf)) return infinity;
    if (stall >= 2 * mtbf) return mtbf;
    const double ratio = stall / (2 * mtbf);
    return std::sqrt(2 * stall * mtbf) * (1 + std::sqrt(ratio) / 3 + ratio / 9) - stall;
}

TrainingRun training_run(const Job& job, const Options& options) {
    check(options);
    const Checkpoint& how = options.checkpoint;
    const Prices prices(job, how, options.storage);
    TrainingRun run;
    run.step = job.step_s;
    run.work = job.steps * job.step_s;
    const double loading = options.storage.tokens_per_s_per_node;
    run.paced_step = loading > 0 ? std::max(job.step_s, job.node_tokens / loading) : job.step_s;
    set_failures(options.failures, job, run);
    run.replicas = job.replicas;
    run.per_node = job.per_node;
    run.nodes = job.nodes;
    run.micro_batches = job.micro_batches;
    run.checkpoint_bytes = prices.bytes();
    run.write = prices.write(how.tier);
    run.read = prices.read(how.tier);
    run.stall = run.write;
    if (how.asynchronous) {
        run.stall = std::min(run.write, prices.snapshot(how.tier));
        // What was copied first is written afterwards.
        if (how.tier == Tier::shared || how.tier == Tier::nvme) run.write += run.stall;
    }
    run.outlives_node = outlives_node(how.tier);
    run.shared_every = how.tier == Tier::shared ? 1 : how.shared_every;
    run.shared_write = how.tier == Tier::shared ? run.write : std::max(run.write, prices.write(Tier::shared));
    run.shared_read = how.tier == Tier::shared ? run.read : prices.read(Tier::shared);
    set_interval(how, run);
    return run;
}

}  // namespace orrery::reliability
