#include "strategies/state_bytes.hpp"

#include "strategies/optimizers.hpp"

namespace orrery::strategies {

StateBytes state_bytes(const Training& training) {
    using kernels::Dtype;
    const Precision& precision = training.precision;
    const std::uint32_t moments = moment_bytes(training), gradient = kernels::size_of(precision.grad_reduce);
    if (precision.compute == Dtype::fp32 || precision.compute == Dtype::tf32 || training.autocast)
        return {.weight = 4, .gradient = gradient, .optimizer = moments};  // the weight is its own master
    if (!training.master_weights) return {.weight = 2, .gradient = gradient, .optimizer = moments};
    // A master weight in fp32 beside the moments; 16-bit gradients are copied to fp32 for the update.
    return {.weight = 2, .gradient = gradient, .optimizer = 4 + moments, .gradient_copy = gradient == 2 ? 4U : 0U};
}

kernels::Dtype updated_format(const Training& training) {
    using kernels::Dtype;
    if (training.master_weights) return Dtype::fp32;
    return training.precision.compute == Dtype::fp16 ? Dtype::fp16 : Dtype::bf16;
}

std::uint32_t moment_bytes(const Training& training) {
    const OptimizerRow& row = row_of(training.optimizer);
    return row.narrow_moments ? row.moments : row.moments * kernels::size_of(updated_format(training)) / 4;
}

std::uint32_t checkpoint_bytes(const Training& training) {
    return kernels::size_of(updated_format(training)) + moment_bytes(training);
}

bool keeps_gradient_copies(const Plan& plan) { return plan.training.software == hardware::Software::orrery; }

}  // namespace orrery::strategies
