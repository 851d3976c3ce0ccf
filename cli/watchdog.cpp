#include "cli/watchdog.hpp"

#include <algorithm>
#include <limits>

#include "base/host_name.hpp"
#include "cli/stopped_processes.hpp"
#include "run/progress.hpp"

namespace orrery::cli {

namespace {

/// Whether the rank of a record is a process of this host that is stopped.
bool stands(const run::RankTrace& trace) {
    return trace.host == host_name() && is_stopped(static_cast<pid_t>(trace.pid));
}

/// A rank that was stopped before its first operation.
bool begins_no_more(const run::RankTrace& trace) { return trace.state == run::RankState::starting && stands(trace); }

/// 0: there is none.
std::uint64_t size_of(const std::filesystem::path& file) {
    std::error_code absent;
    const std::uintmax_t size = std::filesystem::file_size(file, absent);
    return absent ? 0 : size;
}

}  // namespace

double Watchdog::patience_with_start() const {
    return patience_ > 0 ? std::max(patience_, asked_start_patience) : usual_start_patience;
}

double Watchdog::patience() const {
    if (patience_ > 0) return patience_;
    return longest_step_ < 0 ? first_patience : std::max(least_patience, 10 * longest_step_);
}

void Watchdog::note_step(std::uint64_t step, double now) {
    if (step <= step_) return;
    if (step_ > 0) longest_step_ = std::max(longest_step_, (now - step_began_) / static_cast<double>(step - step_));
    step_ = step;
    step_began_ = now;
}

/// Stopped before they could leave a record.
std::vector<std::uint32_t> Watchdog::stopped_before_a_record() const {
    std::vector<std::uint32_t> ranks;
    if (starter_ == 0) return ranks;
    for (const StoppedProcess& stopped : stopped_processes(starter_)) {
        const std::uint32_t rank = stopped.rank.value_or(ranks_ == 1 ? 0 : ranks_);
        if (rank < ranks_ && !run::read_progress(run::progress_file(progress_, rank))) ranks.push_back(rank);
    }
    return ranks;
}

Watchdog::Sight Watchdog::sight() const {
    Sight seen;
    std::uint64_t fewest = std::numeric_limits<std::uint64_t>::max();
    bool all = true;
    for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
        const auto trace = run::read_progress(run::progress_file(progress_, rank));
        all = all && trace;
        if (!trace || !(trace->state == run::RankState::running || begins_no_more(*trace))) {
            seen.ended = seen.ended || (trace && trace->state != run::RankState::starting);
            continue;
        }
        std::uint64_t own = 0;
        for (const std::uint32_t item : trace->item) own += item;
        own += trace->step << 32U;  // more than the operations of a step
        seen.begun += own;
        if (!seen.stopped && stands(*trace)) seen.stopped = rank;
        seen.step = std::max(seen.step, trace->step);
        if (own < fewest) {
            fewest = own;
            seen.last = rank;
        }
    }
    if (all) return seen;
    for (const std::uint32_t rank : stopped_before_a_record()) seen.stopped = seen.last = rank;
    return seen;
}

std::optional<Stall> Watchdog::look(double now) {
    const Sight seen = sight();
    std::uint64_t step = std::max(step_, seen.step);
    const std::uint64_t logged = size_of(log_);
    const bool grown = logged > logged_;
    if (grown && step == step_) ++step;  // at least one
    logged_ = logged;
    note_step(step, now);
    const bool starts = !seen.last && logged == 0;  // nobody in sight has begun anything
    if (seen.begun != begun_ || grown || (starts && seen.ended) || moved_ < 0) {
        begun_ = seen.begun;
        moved_ = now;
        return std::nullopt;
    }
    if (now - moved_ < (starts ? patience_with_start() : patience())) return std::nullopt;
    return Stall{seen.stopped ? seen.stopped : seen.last, now - moved_};
}

}  // namespace orrery::cli
