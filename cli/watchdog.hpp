// Ranks that live and do nothing: found by their records, so that a run ends instead of waiting for ever.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace orrery::cli {

/// No rank has begun an operation for `seconds`; `rank` is one whose process is stopped, or has begun the fewest: none
/// where no rank's record is in sight.
struct Stall {
    std::optional<std::uint32_t> rank;
    double seconds = 0;
};

class Watchdog {
public:
    /// progress: the folder of the ranks' records; log: a file that grows with every step, which is all that is seen
    /// of ranks on hosts that share no files with this one. patience: seconds without an operation that are too many;
    /// 0: ten times the longest step so far and at least `least_patience`, or `first_patience` before a step has ended.
    Watchdog(std::filesystem::path progress, std::uint32_t ranks, double patience, std::filesystem::path log = {})
        : progress_(std::move(progress)), log_(std::move(log)), ranks_(ranks), patience_(patience) {}

    static constexpr double least_patience = 8, first_patience = 600;
    /// Until any rank has begun: a launcher reaches hosts and starts programs first. By itself, and at least where a
    /// patience was asked for.
    static constexpr double usual_start_patience = 1200, asked_start_patience = 120;

    /// Looks at the ranks. now: seconds of a steady clock, never less than before. Ranks that fail or have finished
    /// are not waited for.
    std::optional<Stall> look(double now);

private:
    [[nodiscard]] double patience() const;
    [[nodiscard]] double patience_with_start() const;
    void note_step(std::uint64_t step, double now);

    std::filesystem::path progress_, log_;
    std::uint32_t ranks_;
    double patience_;
    std::uint64_t begun_ = 0;   ///< operations of all ranks, at the last look
    std::uint64_t logged_ = 0;  ///< bytes of the log
    std::uint64_t step_ = 0;    ///< the latest that a rank is in
    double moved_ = -1;         ///< when begun_ changed
    double step_began_ = 0;     ///< when step_ changed
    double longest_step_ = -1;  ///< seconds
};

}  // namespace orrery::cli
