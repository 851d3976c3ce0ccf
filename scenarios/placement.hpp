// Where ranks run: /strategy/placement and /strategy/placement_file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "strategies/plan.hpp"
#include "topology/cluster.hpp"

namespace orrery::scenarios {

/// Which GPUs a list may name, and how many.
struct GpuRange {
    std::uint32_t ranks = 0, gpus = 0;  ///< of the plan, of the cluster
};

/// A list in the order of ranks, "0-3, 8-11": numbers and rising ranges, between them commas or blanks; from '#' to the
/// end of a line is a remark. Throws Error without a place: for what is no number, a GPU that the cluster lacks, or
/// more or fewer of them than ranks.
std::vector<std::uint32_t> parse_gpus(std::string_view text, const GpuRange& range);
/// The same from a file, or a JSON list of numbers. Throws Error with the file.
std::vector<std::uint32_t> read_gpus(const std::string& file, const GpuRange& range);

/// What the strategy of `plan` says, on this cluster. Throws Error at /strategy/placement or /strategy/placement_file.
strategies::RankPlacement resolve_placement(const strategies::Plan& plan, const topology::Cluster& cluster);

}  // namespace orrery::scenarios
