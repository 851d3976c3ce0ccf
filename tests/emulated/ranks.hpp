// Ranks that are threads of this process, each with an emulated GPU, train by a plan.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "strategies/plan.hpp"
#include "tests/run/small_models.hpp"

namespace orrery::run {

/// All wait until the host does, everything runs as it is queued, and much between.
inline constexpr std::array eagernesses{0.0, 0.3, 1.0, 100.0};

struct Ran {
    std::vector<double> losses;  ///< by step: the mean over the ranks that have one
    std::vector<bool> skipped;   ///< by step
    std::set<std::string> races;
    std::uint64_t waits = 0;                      ///< of rank 0's lanes for each other, in the first step
    std::vector<std::vector<std::byte>> weights;  ///< of each rank, after the last step
};

struct TrainSettings {
    std::uint64_t seed = 1;
    double eagerness = 0.3;
    std::uint32_t steps = 3;
    std::optional<std::uint64_t> forget = std::nullopt;  ///< which wait of rank 0's lanes is left out
    bool steps_only = false;
    RunSettings run = fast();
};

/// Throws what the first rank that failed threw.
Ran train_on_gpus(const strategies::Plan& plan, const TrainSettings& settings);

/// Rows of whole vectors of 16 bytes on every rank of two.
strategies::Plan wide(const models::ModelSpec& spec);
strategies::Plan tensor_parallel();
strategies::Plan pipeline();
strategies::Plan data_parallel();
strategies::Plan tensor_and_pipeline();
/// Two tensor ranks draw their parts of the same masks, once more in the backward.
strategies::Plan dropouts();

}  // namespace orrery::run
