// Ranks that live and do nothing: found by their records, so that a run ends instead of waiting for ever.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

namespace orrery::cli {

/// No rank has begun an operation for `seconds`; `rank` is one whose process is stopped, with a record or before it
/// could leave one, or has begun the fewest: none where no rank is in sight.
struct Stall {
    std::optional<std::uint32_t> rank;
    double seconds = 0;
};

class Watchdog {
public:
    /// progress: the folder of the ranks' records; log: a file that grows with every step, which is all that is seen
    /// of ranks on hosts that share no files with this one. patience: seconds without an operation that are too many;
    /// 0: ten times the longest step so far and at least `least_patience`, or `first_patience` before a step has ended.
    /// starter: the process that had the ranks started, by whose number those on this host are found that were stopped
    /// before they could leave a record; 0: nobody is looked for.
    Watchdog(std::filesystem::path progress, std::uint32_t ranks, double patience, std::filesystem::path log = {},
             pid_t starter = 0)
        : progress_(std::move(progress)), log_(std::move(log)), ranks_(ranks), patience_(patience), starter_(starter) {}

    static constexpr double least_patience = 8, first_patience = 600;
    /// Until any rank has begun: a launcher reaches hosts and starts programs first. By itself, and at least where a
    /// patience was asked for.
    static constexpr double usual_start_patience = 1200, asked_start_patience = 120;

    /// Looks at the ranks. now: seconds of a steady clock, never less than before. Ranks that fail or have finished
    /// are not waited for.
    std::optional<Stall> look(double now);

private:
    /// What the records, and the processes of this host, say at one moment.
    struct Sight {
        std::uint64_t begun = 0, step = 0;           ///< operations of all ranks; the latest step that one is in
        std::optional<std::uint32_t> last, stopped;  ///< ranks: who has begun the fewest, and who is stopped
        bool ended = false;                          ///< one of them
    };
    [[nodiscard]] Sight sight() const;
    [[nodiscard]] std::vector<std::uint32_t> stopped_before_a_record() const;
    [[nodiscard]] double patience() const;
    [[nodiscard]] double patience_with_start() const;
    void note_step(std::uint64_t step, double now);

    std::filesystem::path progress_, log_;
    std::uint32_t ranks_;
    double patience_;
    pid_t starter_;
    std::uint64_t begun_ = 0;   ///< operations of all ranks, at the last look
    std::uint64_t logged_ = 0;  ///< bytes of the log
    std::uint64_t step_ = 0;    ///< the latest that a rank is in
    double moved_ = -1;         ///< when begun_ changed
    double step_began_ = 0;     ///< when step_ changed
    double longest_step_ = -1;  ///< seconds
};

}  // namespace orrery::cli
