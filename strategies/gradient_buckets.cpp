#include "strategies/gradient_buckets.hpp"

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

}  // namespace orrery::strategies
