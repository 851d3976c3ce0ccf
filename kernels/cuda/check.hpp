// Every call of the CUDA runtime and of cuBLASLt is checked: what fails becomes a DeviceError that says what was done.
#pragma once

#include <cublasLt.h>
#include <cuda_runtime_api.h>

#include <string_view>

namespace orrery::kernels::cuda {

/// Throws DeviceError when status is an error. doing: "allocating 4.0 GB", "launching layernorm".
void check(cudaError_t status, std::string_view doing);
void check(cublasStatus_t status, std::string_view doing);

/// The error of the launch just made on this thread, if any. Errors of work that already runs show at synchronize().
void check_launch(std::string_view kernel);

}  // namespace orrery::kernels::cuda
