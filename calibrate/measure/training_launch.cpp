#include "calibrate/measure/training_launch.hpp"

#include <utility>
#include <variant>

namespace orrery::calibrate {

using kernels::Dtype;
using kernels::GemmPass;

namespace {

void launch_narrow(TrainingLaunch& launch, kernels::Gemm& gemm) {
    launch.settings.narrow = {.gradient = gemm.pass != GemmPass::forward, .scaled = true};
    gemm.pass = GemmPass::forward;
}

}  // namespace

TrainingLaunch training_launch(const kernels::Kernel& priced) {
    TrainingLaunch launch{priced};
    const auto* const attention = std::get_if<kernels::Attention>(&priced);
    if (attention != nullptr && attention->dropout) launch.settings.dropout = kernels::DropoutMask{};
    auto* const gemm = std::get_if<kernels::Gemm>(&launch.kernel);
    if (gemm == nullptr) return launch;
    if (gemm->pass == GemmPass::weight_gradient) {
        std::swap(gemm->m, gemm->n);
        launch.settings.accumulate = true;
        if (kernels::size_of(gemm->dtype) <= 2) launch.settings.result = Dtype::fp32;
    }
    if (gemm->dtype == Dtype::fp8) launch_narrow(launch, *gemm);
    return launch;
}

bool runs(const kernels::Device& device, const kernels::Kernel& priced) {
    return device.supports(training_launch(priced).kernel);
}

}  // namespace orrery::calibrate
