// From files of published measurements to scores.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/progress.hpp"
#include "calibrate/profile.hpp"
#include "kernels/collective.hpp"
#include "scenarios/scenario.hpp"
#include "sim/prediction.hpp"
#include "validate/score.hpp"

namespace orrery::validate {

/// What predicts: the simulator, or a stand-in in tests. Functions may throw; a row for which one does is skipped.
/// validate_files() calls them from all of its threads.
struct Predictor {
    std::function<sim::Prediction(const scenarios::Scenario&)> step;
    std::function<double(const topology::ClusterSpec&, const std::string& profile, kernels::CollectiveKind,
                         std::uint32_t ranks, double bytes)>
        collective;  ///< seconds
    /// Fills sim::MemoryUse::allocator, for rows that print what a driver has given out; none: tensors stand for it.
    std::function<void(const scenarios::Scenario&, sim::MemoryUse&)> reserved = {};
    /// Seconds of a collective inside a node from a table of its own instead of the profile's; set: validate_files()
    /// calibrates each one-node sweep with every second of its sizes and scores the sizes between.
    std::function<double(const calibrate::CollectiveTable&, double bytes)> calibrated = {};
    std::function<bool(const std::string& profile)> has_profile;  ///< whether it can be loaded
};

/// The simulator, with the shipped profiles. held_out: with Predictor::calibrated.
Predictor simulator(bool held_out = false);

struct Report {
    Table steps;        ///< every row of none of the kinds below, in seconds
    Table memory;       ///< memory rows, and steps that also print their memory, in bytes
    Table collectives;  ///< in seconds
    /// Whole trainings: what was measured stands for the source (training_runs.hpp), each in its own unit.
    Table trainings = {};
    Table ratios = {};  ///< throughputs of one plan over another's (ratios.hpp)
};

/// Predicts every row of every file on so many threads, of which the report does not depend. Equal scenarios are
/// predicted once. Every row ends as predicted or skipped with a reason; throws Error only for files that cannot be
/// read as rows (rows.hpp), before any prediction. progress: rows; from several threads.
Report validate_files(const std::vector<std::filesystem::path>& files, const Predictor& predictor,
                      const ProgressCallback& progress = {}, unsigned threads = 1);

/// The files of the carried set, by name. Throws Error when there are none.
std::vector<std::filesystem::path> carried_files();

}  // namespace orrery::validate
