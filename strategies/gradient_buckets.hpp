// Gradients of one stage in buckets, in the order in which backward finishes them.
#pragma once

#include <cstdint>
#include <vector>

#include "strategies/stage.hpp"

namespace orrery::strategies {

/// A bucket closes with the layer that fills it. Parameters of experts have buckets of their own: fewer ranks hold
/// them.
struct GradientBucket {
    std::uint64_t parameters = 0;
    std::uint64_t narrow = 0;  ///< of these, weights of narrow products
    bool experts = false;
    std::uint32_t chunk = 0;   ///< of the layer that closes it
    std::size_t position = 0;  ///< of that layer within the chunk
    [[nodiscard]] WeightCount weights() const { return {parameters, narrow}; }
};

/// bucket_parameters: the least size at which a bucket closes; the last one takes what is left. by_chunk: a bucket
/// closes with its chunk at the latest.
struct GradientBuckets {
    std::vector<GradientBucket> buckets;
    static constexpr std::uint32_t none = 0xffffffff;

    std::vector<std::vector<std::uint32_t>> of_layer;    ///< [chunk][position] -> bucket of all but experts
    std::vector<std::vector<std::uint32_t>> of_experts;  ///< the same of its experts; none: it has no experts

    /// fill(bucket) for those of one layer's parameters.
    template <class Fill>
    void each(std::uint32_t chunk, std::size_t position, const Fill& fill) const {
        fill(of_layer[chunk][position]);
        if (const std::uint32_t bucket = of_experts[chunk][position]; bucket != none) fill(bucket);
    }
};
GradientBuckets gradient_buckets(const Stage& stage, std::uint64_t bucket_parameters, bool by_chunk = false);
/// The buckets that a plan's stage uses: one bucket when there is one reduction a step, behind the backward, and
/// gradients last.
GradientBuckets gradient_buckets(const Stage& stage, const Plan& plan);

}  // namespace orrery::strategies
