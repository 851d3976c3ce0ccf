// Small scenarios on small clusters, whose plans are still open.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace orrery::planning {

/// JSON documents: GPT and a mixture of experts of a few layers on one or several nodes, over fast and slow networks,
/// with little memory and much; batch and layers have several divisors.
std::string small_document(std::uint64_t seed);

}  // namespace orrery::planning
