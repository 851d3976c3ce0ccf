// Windows of workers that a parameter server serves.
#pragma once

#include "synchrony/window.hpp"

namespace orrery::synchrony {

/// Of a job whose options serve parameters.
Outcome simulate_served(const Job& job, std::uint64_t seed);

}  // namespace orrery::synchrony
