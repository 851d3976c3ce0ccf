// SimGrid's own network as an engine, inside its module; the rest of the program asks make_cm02_engine().
#pragma once

#include <memory>
#include <vector>

#include "sim/engine.hpp"

namespace orrery::sim {

std::unique_ptr<Engine> new_cm02_engine(std::vector<double> capacity_bytes_per_second);

}  // namespace orrery::sim
