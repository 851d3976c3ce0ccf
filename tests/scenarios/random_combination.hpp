// Random combinations of strategies: what random_scenario() draws, and then any key of the tables of strategy and
// training, models of other kinds, and every schedule, each kept where the loader takes it.
#pragma once

#include <nlohmann/json.hpp>
#include <random>
#include <vector>

#include "base/error.hpp"

namespace orrery::scenarios {

struct RefusedCombination {
    nlohmann::json document;
    Error why;
};

/// A legal scenario of at most 64 GPUs, 8 layers of a body and 16 micro-batches; the same state gives the same
/// document. What was refused on the way, and why, is added to `refused`; anything else that the loader throws comes
/// out.
nlohmann::json random_combination(std::mt19937_64& random, std::vector<RefusedCombination>* refused = nullptr);

}  // namespace orrery::scenarios
