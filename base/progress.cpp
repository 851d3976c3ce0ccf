#include "base/progress.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "base/table.hpp"
#include "base/terminal.hpp"
#include "base/units.hpp"

namespace orrery {

namespace {

constexpr int widest_bar = 40, narrowest_bar = 4;
constexpr std::chrono::milliseconds redraw_interval{100};

/// "=====>    ", width characters.
std::string bar(double share, int width) {
    const int filled = static_cast<int>(share * width);
    std::string text(static_cast<std::size_t>(filled), '=');
    if (filled < width) text += '>' + std::string(static_cast<std::size_t>(width - filled - 1), ' ');
    return text;
}

}  // namespace

std::string progress_line(const std::string& label, std::size_t done, std::size_t total, double elapsed_s, int columns,
                          bool color) {
    done = std::min(done, total);
    const double share = total == 0 ? 1.0 : static_cast<double>(done) / static_cast<double>(total);
    std::string end = fmt::format("{:3.0f}%  {}/{}", std::floor(100.0 * share), done, total);
    if (done > 0 && done < total) end += "  " + format_seconds(elapsed_s * (1.0 - share) / share) + " left";
    const int room = columns - static_cast<int>(display_width(label)) - static_cast<int>(end.size()) - 4;
    if (room < narrowest_bar) return end.substr(0, static_cast<std::size_t>(std::max(columns, 0)));
    const std::string drawn = bar(share, std::min(room, widest_bar));
    return fmt::format("{} [{}{}{}] {}", label, color ? "\033[32m" : "", drawn, color ? "\033[0m" : "", end);
}

Progress::Progress(std::string label, std::size_t total, bool quiet)
    : label_(std::move(label)), total_(total), shown_(!quiet && is_terminal(Stream::err)) {}

Progress::~Progress() {
    if (shown_) std::fputs("\r\033[K", stderr);
}

void Progress::advance(std::size_t items) {
    const std::lock_guard lock(mutex_);
    reach(done_ + items);
}

void Progress::show(std::size_t done, std::size_t total) {
    const std::lock_guard lock(mutex_);
    total_ = total;
    reach(done);
}

void Progress::show(std::string label, std::size_t done, std::size_t total) {
    const std::lock_guard lock(mutex_);
    label_ = std::move(label);
    total_ = total;
    reach(done);
}

void Progress::reach(std::size_t done) {
    const auto now = Clock::now();
    if (done < done_) begin_ = now;
    done_ = done;
    if (!shown_ || now - drawn_ < redraw_interval) return;
    drawn_ = now;
    const double elapsed_s = std::chrono::duration<double>(now - begin_).count();
    const std::string line =
        progress_line(label_, done_, total_, elapsed_s, terminal_columns(Stream::err) - 1, wants_color(Stream::err));
    say(fmt::format("\r{}\033[K", line));
    std::fflush(stderr);
}

}  // namespace orrery
