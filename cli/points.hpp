// The kernels and collectives of scenarios' steps, as points to measure.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "scenarios/scenario.hpp"

namespace orrery::cli {

/// The file that orrery-device reads: every distinct kernel of every role, blocks included, and every collective among
/// `ranks` (those among other numbers of ranks cannot be measured now and are left out). left_out: how many they are.
std::string points_json(std::span<const scenarios::Scenario> scenarios, std::uint32_t ranks, std::size_t& left_out);

}  // namespace orrery::cli
