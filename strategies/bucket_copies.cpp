#include "strategies/bucket_copies.hpp"

#include <array>

namespace orrery::strategies {

bool copies_into_buckets(const Plan& plan) {
    const Strategy& strategy = plan.strategy;
    return !plan.training.gradient_as_bucket_view && strategy.sharding == Sharding::none &&
           strategy.data * strategy.context > 1 && !plan.compresses() && !plan.offloads_weights();
}

void BucketCopies::add(std::uint64_t bytes) {
    buckets_.push_back(bytes > 0 ? builder_.buffer(bytes, Keep::gradient) : BufferId{});
}

BufferId BucketCopies::copy(std::string_view name, std::span<const ParameterShape> parameters,
                            std::span<const BufferId> reads, BufferId writes) {
    Label label = intern_.label(name, Phase::gradient);
    label.plain = true;
    for (const ParameterShape& parameter : parameters)
        for (std::uint64_t i = 0; i < parameter.copies; ++i) {
            builder_.emit(
                Lane::compute, label,
                What{intern_.kernel(kernels::Pointwise{kernels::PointwiseKind::scale,
                                                       plan_.training.precision.grad_reduce, 1, parameter.numbers()})},
                reads, std::span(&writes, 1));
            builder_.state({});
        }
    return writes;
}

BufferId BucketCopies::into(std::uint32_t bucket, std::span<const ParameterShape> parameters, BufferId gradients) {
    return copy("gradients to bucket", parameters, std::array{gradients}, buckets_[bucket]);
}

BufferId BucketCopies::out_of(std::uint32_t bucket, std::span<const ParameterShape> parameters, BufferId sums,
                              BufferId gradients) {
    return copy("gradients from bucket", parameters, std::array{sums, buckets_[bucket]}, gradients);
}

}  // namespace orrery::strategies
