// Ranks that live and do nothing: found by their records, so that a run ends instead of waiting for ever.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace orrery::cli {

/// No rank has begun an operation for `seconds`; `rank` is one whose process is stopped, or has begun the fewest.
struct Stall {
    std::uint32_t rank = 0;
    double seconds = 0;
};

class Watchdog {
public:
    /// progress: the folder of the ranks' records. patience: seconds without an operation that are too many; 0: ten
    /// times the longest step so far and at least `least_patience`, or `first_patience` before a step has ended.
    Watchdog(std::filesystem::path progress, std::uint32_t ranks, double patience)
        : progress_(std::move(progress)), ranks_(ranks), patience_(patience) {}

    static constexpr double least_patience = 8, first_patience = 600;

    /// Looks at the ranks. now: seconds of a steady clock, never less than before. Ranks that still start, fail or
    /// have finished are not waited for.
    std::optional<Stall> look(double now);

private:
    [[nodiscard]] double patience() const;

    std::filesystem::path progress_;
    std::uint32_t ranks_;
    double patience_;
    std::uint64_t begun_ = 0;   ///< operations of all ranks, at the last look
    std::uint64_t step_ = 0;    ///< the latest that a rank is in
    double moved_ = -1;         ///< when begun_ changed
    double step_began_ = 0;     ///< when step_ changed
    double longest_step_ = -1;  ///< seconds
};

}  // namespace orrery::cli
