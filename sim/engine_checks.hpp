// Refusals that both engines share.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "sim/engine.hpp"

namespace orrery::sim {

/// Each throws Error unless the contract of Engine is kept.
void check_capacities(const std::vector<double>& bytes_per_second);
void check_changed_capacity(double bytes_per_second);
void check_timer(double at, double now);
void check_flow(std::span<const LinkUse> uses, double bytes, double rate_limit, std::size_t links);
void check_stream(std::span<const LinkUse> uses, double rate_limit, bool under_way, std::size_t links);
void check_link(std::uint32_t link, std::size_t links);

}  // namespace orrery::sim
