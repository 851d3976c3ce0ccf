// Copies between gradients and the buckets in which PyTorch's DistributedDataParallel reduces them, where gradients are
// no views of these (gradient_as_bucket_view, its default; torch/csrc/distributed/c10d/reducer.cpp): a kernel a
// parameter (of what no flow names, as mixers' scalars and adapters, one in all) as its gradient is there, in line with
// the backward (mark_variable_ready_dense: at::mul_out, which divides by the number of ranks), and one back behind the
// backward (finalize_bucket_dense: populate_bucket_views_out).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "strategies/intern.hpp"
#include "strategies/parameter_shape.hpp"
#include "strategies/plan.hpp"

namespace orrery::strategies {

/// Whether a plan's ranks reduce copies of gradients: those of data ranks that divide nothing.
bool copies_into_buckets(const Plan& plan);

/// The buckets of one stage, beside its gradients.
class BucketCopies {
public:
    BucketCopies(const Plan& plan, Builder& builder, Intern& intern)
        : plan_(plan), builder_(builder), intern_(intern) {}

    /// The next bucket's memory, of so many bytes, which lasts; of a bucket that is not copied 0.
    void add(std::uint64_t bytes);
    /// Gradients of these parameters into their bucket; what it makes is what a reduction reads.
    BufferId into(std::uint32_t bucket, std::span<const ParameterShape> parameters, BufferId gradients);
    /// Sums back to where gradients lie, which it returns.
    BufferId out_of(std::uint32_t bucket, std::span<const ParameterShape> parameters, BufferId sums,
                    BufferId gradients);

private:
    BufferId copy(std::string_view name, std::span<const ParameterShape> parameters, std::span<const BufferId> reads,
                  BufferId writes);

    const Plan& plan_;
    Builder& builder_;
    Intern& intern_;
    std::vector<BufferId> buckets_;
};

}  // namespace orrery::strategies
