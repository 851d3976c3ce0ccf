#include "strategies/gradient_buckets.hpp"

#include <limits>

#include "strategies/state_bytes.hpp"

namespace orrery::strategies {

GradientBuckets gradient_buckets(const Stage& stage, std::uint64_t bucket_parameters) {
    GradientBuckets result;
    result.of_layer.resize(stage.chunks.size());
    for (std::size_t c = 0; c < stage.chunks.size(); ++c) result.of_layer[c].resize(stage.chunks[c].size());
    bool open = false;
    for (std::size_t c = stage.chunks.size(); c-- > 0;) {
        for (std::size_t i = stage.chunks[c].size(); i-- > 0;) {
            if (!open) result.buckets.push_back({});
            open = true;
            GradientBucket& bucket = result.buckets.back();
            bucket.parameters += stage.chunks[c][i].blocks->parameters;
            bucket.chunk = static_cast<std::uint32_t>(c);
            bucket.position = i;
            result.of_layer[c][i] = static_cast<std::uint32_t>(result.buckets.size() - 1);
            if (bucket.parameters >= bucket_parameters) open = false;
        }
    }
    return result;
}

GradientBuckets gradient_buckets(const Stage& stage, const Plan& plan) {
    const bool bucketed = plan.strategy.data > 1 && plan.strategy.overlap_grad_reduce;
    const std::uint64_t size = plan.strategy.bucket_bytes / state_bytes(plan.training.precision).gradient;
    return gradient_buckets(stage, bucketed ? size : std::numeric_limits<std::uint64_t>::max());
}

}  // namespace orrery::strategies
