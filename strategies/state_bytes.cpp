#include "strategies/state_bytes.hpp"

#include "strategies/optimizers.hpp"

namespace orrery::strategies {

StateBytes state_bytes(const Training& training) {
    using kernels::Dtype;
    const Precision& precision = training.precision;
    const std::uint32_t moments = row_of(training.optimizer).moments;
    const std::uint32_t gradient = kernels::size_of(precision.grad_reduce);
    if (precision.compute == Dtype::fp32 || precision.compute == Dtype::tf32)
        return {.weight = 4, .gradient = gradient, .optimizer = moments};  // the weight is its own master
    // A master weight in fp32 beside the moments; 16-bit gradients are copied to fp32 for the update.
    return {.weight = 2, .gradient = gradient, .optimizer = 4 + moments, .gradient_copy = gradient == 2 ? 4U : 0U};
}

bool keeps_gradient_copies(const Plan& plan) { return plan.training.software == hardware::Software::orrery; }

}  // namespace orrery::strategies
