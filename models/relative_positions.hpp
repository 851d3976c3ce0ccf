// Distances between positions as T5 tells them apart (Raffel et al. 2020, section 2.1).
#pragma once

#include <cstdint>

namespace orrery::models {

/// Tables of at least so many rows, and at most so many, divide distances as the formula below demands.
inline constexpr std::uint32_t fewest_relative_buckets = 4, most_relative_buckets = 254;

/// The bucket of a key that lies `distance` positions behind its query (negative: ahead of it), of so many: small
/// distances have one each, larger ones share them evenly in their logarithm up to 128 positions, and all beyond the
/// last. both_ways (an encoder): the upper half is of keys behind the query; else all such are in bucket 0, as a causal
/// query does not see them. As Mesh TensorFlow's and Megatron-LM's _relative_position_bucket.
std::uint32_t relative_bucket(std::int64_t distance, std::uint32_t buckets, bool both_ways);

}  // namespace orrery::models
