#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>

#include "base/random.hpp"
#include "reliability/goodput.hpp"

namespace orrery::reliability {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Nodes in repair, and what the job lacks for them.
class Nodes {
public:
    explicit Nodes(const TrainingRun& run) : run_(run) {}

    void breaks(double now) {
        if (run_.spare_nodes != Failures::as_needed) returns_.push_back(now + run_.repair);
    }
    void settle(double now) {
        while (!returns_.empty() && returns_.front() <= now) returns_.pop_front();
    }
    [[nodiscard]] double missing_replicas() const {
        return std::max(0.0, static_cast<double>(returns_.size()) - run_.spare_nodes) * run_.per_node;
    }
    /// From when so many replicas have their nodes; in the past: now.
    [[nodiscard]] double when(double replicas) const {
        const double may_lack = std::floor((run_.replicas - replicas) / run_.per_node) + run_.spare_nodes;
        const double must_return = static_cast<double>(returns_.size()) - may_lack;
        return must_return < 1 ? -infinity : returns_[static_cast<std::size_t>(must_return) - 1];
    }

private:
    const TrainingRun& run_;
    std::deque<double> returns_;  // ascending: repairs take equally long
};

class Life {
public:
    Life(const TrainingRun& run, std::uint64_t seed)
        : run_(run),
          interval_(std::min(run.interval, run.work)),
          random_(seed),
          nodes_(run),
          left_(run.work),
          left_on_shared_(run.work) {}

    Outcome live() {
        for (End end = work(); end != End::done; end = work())
            if (end == End::failure) recover();
        return outcome_;
    }

private:
    enum class End : std::uint8_t { done, failure, growth };

    double next_failure(double share) {
        return run_.failures_per_s > 0 ? random_.exponential(1 / (run_.failures_per_s * share)) : infinity;
    }

    /// Steps and checkpoints until something ends them.
    End work() {
        const double running = run_.replicas - nodes_.missing_replicas(), pace = run_.pace(running);
        const double stretch = run_.paced_step / run_.step / pace;  // wall clock of a second of work
        const double cycle = interval_ * stretch + run_.stall;
        const double checkpoints = std::ceil(left_ / interval_ * (1 - 1e-12));
        const double end = left_ * stretch + (checkpoints - 1) * run_.stall + run_.write;
        const double fails = next_failure(running / run_.replicas);
        const double grows = pace < 1 ? std::max(0.0, nodes_.when(running + 1) - now_) : infinity;
        const double lasted = std::min({end, fails, grows});
        now_ += lasted;
        const double cycles = std::min(std::floor(lasted / cycle), checkpoints - 1);
        const double last = std::min(interval_, left_ - cycles * interval_);  // work of the cycle that was cut off
        const double done = cycles * interval_ + std::min((lasted - cycles * cycle) / stretch, last);
        count(done, lasted, pace);
        if (lasted == end) return End::done;
        if (lasted == grows) {
            grow(done);
            return End::growth;
        }
        fail(done, lasted, cycle);
        return End::failure;
    }

    /// Wall clock in which `done` seconds of work were done.
    void count(double done, double lasted, double pace) {
        Times& times = outcome_.times;
        const double paced = done * (run_.paced_step / run_.step);
        times.work += done;
        times.input += paced - done;
        times.shrunk += paced / pace - paced;
        times.checkpoints += lasted - paced / pace;
    }

    void fail(double done, double lasted, double cycle) {
        const auto usable = [&](double write) {  // checkpoints of this stretch: there `write` after they were begun
            return std::max(0.0, std::floor((lasted + run_.stall - write) / cycle));
        };
        const double kept = usable(run_.write), every = run_.shared_every;
        const double latest = std::floor((saved_ + kept) / every) * every - saved_;  // for the file system
        if (latest >= 1) {
            const double begun = now_ - lasted + latest * cycle - run_.stall;
            // The one before was there when this one was begun.
            if (latest - every >= 1)
                left_on_shared_ = left_ - (latest - every) * interval_;
            else
                arrive(begun);
            leaving_ = {.left = left_ - latest * interval_, .arrives = begun + run_.shared_write};
        }
        const double before = left_;
        left_ -= kept * interval_;
        saved_ += kept;
        lose(done - (before - left_));
        strike();
    }

    /// What a node still writes to the file system goes on while the job is down, but not without the node.
    void arrive(double now) {
        if (leaving_.arrives <= now) left_on_shared_ = leaving_.left;
    }

    /// A failure: perhaps of a node, and with it of the checkpoints it held.
    void strike() {
        ++outcome_.failures;
        if (random_.uniform() > run_.broken_share) return;
        nodes_.breaks(now_);
        if (run_.outlives_node) return;
        arrive(now_);
        leaving_ = {};
        from_shared_ = true;
        saved_ = 0;
        lose(left_on_shared_ - left_);
        left_ = left_on_shared_;
    }

    void lose(double work) {
        outcome_.times.work -= work;
        outcome_.times.lost += work;
    }

    /// The failure is found, nodes are awaited, the job starts again; further failures may come in between.
    void recover() {
        while (!(passes(run_.detection, outcome_.times.detection) && wait_for_nodes() &&
                 passes(run_.restart + (from_shared_ ? run_.shared_read : run_.read), outcome_.times.restart))) {
        }
        from_shared_ = false;
        nodes_.settle(now_);
    }

    /// Whether `span` ends without another failure.
    bool passes(double span, double& counted) {
        const double fails = next_failure(1), lasted = std::min(span, fails);
        now_ += lasted;
        counted += lasted;
        if (fails < span) strike();
        return fails >= span;
    }

    bool wait_for_nodes() {
        nodes_.settle(now_);
        const double wanted = run_.without_spare == WithoutSpare::shrink ? 1 : run_.replicas;
        const double from = std::max(now_, nodes_.when(wanted));
        outcome_.times.waiting += from - now_;
        now_ = from;
        nodes_.settle(now_);
        return true;
    }

    /// A node is back: a checkpoint, and the job starts anew with it. No failure meets that.
    void grow(double done) {
        const double write = run_.outlives_node ? run_.write : run_.shared_write;
        left_ -= done;
        left_on_shared_ = left_;
        leaving_ = {};
        saved_ = 0;
        outcome_.times.checkpoints += write;
        outcome_.times.restart += run_.restart + run_.read;
        now_ += write + run_.restart + run_.read;
        nodes_.settle(now_);
    }

    const TrainingRun& run_;
    double interval_;
    Random random_;
    Nodes nodes_;
    double now_ = 0;
    double left_;            ///< work behind the checkpoint that the job goes on from
    double left_on_shared_;  ///< the same of the latest on the shared file system
    double saved_ = 0;       ///< checkpoints since that counting began
    /// A checkpoint on its way to the shared file system: the work behind it, and when it is there.
    struct Leaving {
        double left = 0, arrives = infinity;
    } leaving_;
    bool from_shared_ = false;
    Outcome outcome_;
};

}  // namespace

Outcome simulate(const TrainingRun& run, std::uint64_t seed) { return Life(run, seed).live(); }

}  // namespace orrery::reliability
