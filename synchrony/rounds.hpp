// Windows of workers that meet in an all-reduce.
#pragma once

#include "synchrony/window.hpp"

namespace orrery::synchrony {

/// Of a job whose options do not serve parameters.
Outcome simulate_rounds(const Job& job, std::uint64_t seed);

}  // namespace orrery::synchrony
