// Legal scenarios made up from a seed, for property tests: at most 64 GPUs, 8 layers and 16 micro-batches, so that
// simulating one takes milliseconds.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <random>

namespace orrery::scenarios {

/// Any family, cluster, mesh, schedule and precision that the loader accepts; the same state gives the same document.
nlohmann::json random_scenario(std::mt19937_64& random);

}  // namespace orrery::scenarios
