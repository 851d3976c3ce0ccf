#include "kernels/cuda/check.hpp"
#include "kernels/cuda/step_update.hpp"

namespace orrery::kernels::cuda {

namespace {

/// In double, as the host does it where it reads the norm.
__global__ void __launch_bounds__(1) form_factor(StepValues* values, double factor, double most_norm) {
    if (most_norm > 0) factor *= clipping(most_norm, values->sum_of_squares);
    values->factor = static_cast<float>(factor);
}

}  // namespace

void launch_form_factor(const Place& place, const Settings& settings) {
    form_factor<<<1, 1, 0, place.stream>>>(settings.live_update.values, settings.scale_factor.value_or(1),
                                           settings.live_update.most_norm);
    check_launch("an update's factor");
}

}  // namespace orrery::kernels::cuda
