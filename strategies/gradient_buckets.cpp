#include "strategies/gradient_buckets.hpp"

#include <algorithm>
#include <limits>

#include "strategies/ownership.hpp"
#include "strategies/state_bytes.hpp"

namespace orrery::strategies {

namespace {

constexpr std::uint32_t none = GradientBuckets::none;

/// Fills buckets one after the other with one kind of parameters.
class Filler {
public:
    Filler(GradientBuckets& result, bool experts, std::uint64_t least)
        : result_(result), experts_(experts), least_(least) {}

    /// The bucket of a layer's parameters. A layer that nothing is formed for (a frozen embedding) opens none where the
    /// chunk has one: there is nothing that could be reduced.
    std::uint32_t add(WeightCount parameters, std::size_t chunk, std::size_t position, bool forms) {
        if (open_ == none && !forms && last_ != none && result_.buckets[last_].chunk == chunk) {
            result_.buckets[last_].position = position;
            return last_;
        }
        if (open_ == none) {
            last_ = open_ = static_cast<std::uint32_t>(result_.buckets.size());
            result_.buckets.push_back({.experts = experts_});
        }
        const std::uint32_t number = open_;
        GradientBucket& bucket = result_.buckets[number];
        bucket.parameters += parameters.all;
        bucket.narrow += parameters.narrow;
        bucket.chunk = static_cast<std::uint32_t>(chunk);
        bucket.position = position;
        if (bucket.parameters >= least_) open_ = none;
        return number;
    }
    void close() { open_ = none; }

private:
    GradientBuckets& result_;
    bool experts_;
    std::uint64_t least_;
    std::uint32_t open_ = none, last_ = none;
};

}  // namespace

GradientBuckets gradient_buckets(const Stage& stage, std::uint64_t bucket_parameters, bool by_chunk) {
    GradientBuckets result;
    Filler rest(result, false, bucket_parameters), experts(result, true, bucket_parameters);
    for (const auto& chunk : stage.chunks) {
        result.of_layer.emplace_back(chunk.size(), none);
        result.of_experts.emplace_back(chunk.size(), none);
    }
    for (std::size_t c = stage.chunks.size(); c-- > 0;) {
        for (std::size_t i = stage.chunks[c].size(); i-- > 0;) {
            const LayerBlocks& layer = *stage.chunks[c][i].blocks;
            result.of_layer[c][i] = rest.add({layer.counts.trained_of(false), layer.narrow_of(false, true)}, c, i,
                                             layer.counts.trained > 0 || layer.has_backward());
            if (layer.counts.experts > 0)
                result.of_experts[c][i] = experts.add({layer.counts.experts, layer.narrow_of(true, true)}, c, i, true);
        }
        if (!by_chunk) continue;
        rest.close();
        experts.close();
    }
    return result;
}

GradientBuckets gradient_buckets(const Stage& stage, const Plan& plan) {
    const Ownership dense = ownership(plan, ParameterClass::dense);
    const Mesh mesh = plan.mesh();
    const bool scattered = plan.sums_on_host() || !moves(mesh, dense.formed, dense.gradients, dense.replicas).empty();
    const bool leaves = plan.offloaded_states() > 0 && plan.strategy.overlap_optimizer_copies;
    const bool reduced = mesh.group_size(dense.replicas) > 1 && !plan.compresses(),
               copies = !(plan.copies() == AxisSet{});
    const bool comes_and_goes = plan.gradients_come_and_go() && !reduced;
    const bool bucketed = scattered || leaves || (reduced && plan.strategy.overlap_grad_reduce) || comes_and_goes;
    const std::uint64_t size = plan.strategy.bucket_bytes / state_bytes(plan.training).gradient;
    return gradient_buckets(stage, bucketed ? size : std::numeric_limits<std::uint64_t>::max(), scattered || copies);
}

}  // namespace orrery::strategies
