// A progress bar for work that takes longer than a person likes to wait in silence.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <mutex>
#include <string>

namespace orrery {

/// One line of at most columns characters: "validate [=====>    ]  50%  120/240  3.20 s left". The time
/// left assumes that the rest goes at the pace so far; nothing is said of it before the first item is
/// done. elapsed_s in seconds; a total of 0 counts as finished. color: with ANSI colours.
std::string progress_line(const std::string& label, std::size_t done, std::size_t total, double elapsed_s, int columns,
                          bool color);

/// Told by long work now and then that `done` of `total` items are.
using ProgressCallback = std::function<void(std::size_t done, std::size_t total)>;

/// Draws progress_line on stderr, ten times a second at most, and wipes it at the end. Draws nothing
/// when stderr is no terminal or quiet is set. May be called from several threads.
class Progress {
public:
    /// total: 0 where show() says how much there is.
    Progress(std::string label, std::size_t total, bool quiet = false);
    ~Progress();
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    /// items more are done.
    void advance(std::size_t items = 1);
    /// So many are done, of as many as there are now known to be. Less than before: other work has begun.
    void show(std::size_t done, std::size_t total);
    /// The same under another label.
    void show(std::string label, std::size_t done, std::size_t total);

private:
    using Clock = std::chrono::steady_clock;

    void reach(std::size_t done);

    std::mutex mutex_;
    std::string label_;
    std::size_t total_;
    const bool shown_;
    std::size_t done_ = 0;
    Clock::time_point begin_ = Clock::now();
    Clock::time_point drawn_ = begin_;
};

}  // namespace orrery
