#include "cli/watchdog.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <limits>

#include "base/host_name.hpp"
#include "run/progress.hpp"

namespace orrery::cli {

namespace {

/// Whether a process of this host is stopped by a signal or a debugger (state T or t of proc(5)).
bool is_stopped(const run::RankTrace& trace) {
    if (trace.host != host_name()) return false;
    std::ifstream in(fmt::format("/proc/{}/stat", trace.pid));
    std::string line;
    std::getline(in, line);
    const std::size_t name_end = line.rfind(") ");  // a program's name may hold anything
    return name_end != line.npos && name_end + 2 < line.size() && (line[name_end + 2] | 0x20) == 't';
}

/// A rank that was stopped before its first operation.
bool begins_no_more(const run::RankTrace& trace) {
    return trace.state == run::RankState::starting && is_stopped(trace);
}

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

std::optional<Stall> Watchdog::look(double now) {
    std::uint64_t begun = 0, step = step_, fewest = std::numeric_limits<std::uint64_t>::max();
    std::optional<std::uint32_t> last, stopped;
    bool ended = false;
    for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
        const auto trace = run::read_progress(run::progress_file(progress_, rank));
        if (!trace || !(trace->state == run::RankState::running || begins_no_more(*trace))) {
            ended = ended || (trace && trace->state != run::RankState::starting);
            continue;
        }
        std::uint64_t own = 0;
        for (const std::uint32_t item : trace->item) own += item;
        own += trace->step << 32U;  // more than the operations of a step
        begun += own;
        if (!stopped && moved_ >= 0 && now - moved_ >= patience() && is_stopped(*trace)) stopped = rank;
        step = std::max(step, trace->step);
        if (own < fewest) {
            fewest = own;
            last = rank;
        }
    }
    const std::uint64_t logged = size_of(log_);
    const bool grown = logged > logged_;
    if (grown && step == step_) ++step;  // at least one
    logged_ = logged;
    note_step(step, now);
    const bool starts = !last && logged == 0;  // nobody in sight has begun anything
    if (begun != begun_ || grown || (starts && ended) || moved_ < 0) {
        begun_ = begun;
        moved_ = now;
        return std::nullopt;
    }
    if (now - moved_ < (starts ? patience_with_start() : patience())) return std::nullopt;
    return Stall{stopped ? stopped : last, now - moved_};
}

}  // namespace orrery::cli
