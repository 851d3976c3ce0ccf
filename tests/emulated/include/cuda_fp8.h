// What the project uses of NVIDIA's header of this name.
#pragma once

#include <cfloat>

#include "kernels/number_format.hpp"

enum __nv_saturation_t { __NV_SATFINITE };
enum __nv_fp8_interpretation_t { __NV_E4M3, __NV_E5M2 };
using __nv_fp8_storage_t = unsigned char;

inline __nv_fp8_storage_t __nv_cvt_float_to_fp8(float x, __nv_saturation_t, __nv_fp8_interpretation_t format) {
    using namespace orrery::kernels;
    return format == __NV_E4M3 ? to_fp8(static_cast<double>(x)) : to_fp8_e5m2(static_cast<double>(x));
}
