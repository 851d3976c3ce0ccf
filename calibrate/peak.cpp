#include "calibrate/peak.hpp"

namespace orrery::calibrate {

double peak_flops(const hardware::Gpu& gpu, kernels::Dtype dtype) {
    switch (dtype) {
        case kernels::Dtype::fp32: return gpu.fp32_flops;
        case kernels::Dtype::tf32: return gpu.tf32_flops;
        case kernels::Dtype::fp16: return gpu.fp16 ? gpu.half_flops : gpu.fp32_flops;
        case kernels::Dtype::bf16: return gpu.half_flops;
        case kernels::Dtype::fp8: return gpu.fp8_flops;
        case kernels::Dtype::fp4: return gpu.fp4_flops;
    }
    return 0;
}

}  // namespace orrery::calibrate
