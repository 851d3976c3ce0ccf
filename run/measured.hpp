// What a run measured, of all ranks: written by orrery-device, read by orrery.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "run/executor.hpp"

namespace orrery::run {

/// One operation of a rank's unrolled program over the measured steps: medians, seconds from the step's start, which
/// is when the first rank began, on rank 0's clock.
struct OpTimes {
    double begin = 0, end = 0;
    double seconds = 0;  ///< from its begin to its end
    double device = 0;   ///< of device time: CPU time of the lane's thread on a CPU of one thread
    double spread = 0;   ///< half the range between the quartiles of `seconds`
};

struct MeasuredRank {
    std::uint32_t rank = 0;
    std::string host, device, software;
    RankMemory memory;
    double clock_offset = 0, clock_uncertainty = 0;  ///< against rank 0's
    double overhead = 0;                             ///< device seconds a step that taking the times took
    double empty = 0;                                ///< device seconds that an operation without work seems to take
    double queueing = 0;                             ///< host seconds a step to queue a GPU's work; 0 on a CPU
    std::vector<OpTimes> ops;
};

struct MeasuredStep {
    double seconds = 0;
    std::optional<double> loss;                       ///< none where kernels slept, or the rank was alone
    std::optional<double> loss_scale = std::nullopt;  ///< under fp16
    bool skipped = false;                             ///< gradients were not all finite, and the step changed nothing
};

struct MeasuredRun {
    std::vector<MeasuredStep> steps;
    std::uint32_t warmup = 0;  ///< steps at the beginning that count for nothing but their loss
    std::string communication;
    std::uint32_t nodes = 1;
    bool alone = false;  ///< one rank of the plan, without communication
    std::vector<MeasuredRank> ranks;
    std::string plan = {};  ///< that ran, as plan_text() has it; empty in files of before it was written
    std::optional<std::uint64_t> seed = std::nullopt;  ///< of parameters and tokens; none likewise

    /// Median and half the range between the quartiles over the steps behind the warm-up.
    [[nodiscard]] double step_seconds() const;
    [[nodiscard]] double step_spread() const;
};

/// {"seconds", "loss", under fp16 "loss_scale" and "skipped"}.
nlohmann::ordered_json json_of(const MeasuredStep& step);

std::string rank_to_json(const MeasuredRank& rank);
MeasuredRank rank_from_json(const std::string& text);

std::string to_json(const MeasuredRun& run);
/// Writes beside and renames. Throws Error.
void save(const MeasuredRun& run, const std::filesystem::path& file);
/// Throws Error for a file that is no such run.
MeasuredRun load_measured(const std::filesystem::path& file);

/// plan: as plan_text() has it. Throws Error that names the first key in which the run that was read from `file` was of
/// another plan, or its seed; nothing is known of a run that says none.
void require_plan(const MeasuredRun& run, const std::string& plan, std::uint64_t seed,
                  const std::filesystem::path& file);

}  // namespace orrery::run
