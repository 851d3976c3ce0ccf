#include "kernels/cuda/check.hpp"

#include <fmt/format.h>

#include "kernels/device.hpp"

namespace orrery::kernels::cuda {

namespace {

std::string hint_for(cudaError_t status) {
    switch (status) {
        case cudaErrorMemoryAllocation:
            return "the device's memory is full: use a smaller size or a GPU with more memory";
        case cudaErrorNoKernelImageForDevice:
            return "this build has no code for this GPU: configure with -DORRERY_CUDA_ARCHITECTURES=native";
        case cudaErrorInsufficientDriver: return "the driver is older than the CUDA toolkit of this build: update it";
        case cudaErrorNoDevice: return "no GPU is visible: see nvidia-smi and CUDA_VISIBLE_DEVICES";
        default: return "";
    }
}

}  // namespace

void check(cudaError_t status, std::string_view doing) {
    if (status == cudaSuccess) return;
    static_cast<void>(cudaGetLastError());  // reported here: the next launch must not report it again
    throw DeviceError(fmt::format("{}: {} ({})", doing, cudaGetErrorString(status), cudaGetErrorName(status)),
                      hint_for(status));
}

void check(cublasStatus_t status, std::string_view doing) {
    if (status == CUBLAS_STATUS_SUCCESS) return;
    throw DeviceError(fmt::format("{}: {} (cuBLASLt)", doing, cublasLtGetStatusString(status)), "");
}

void check_launch(std::string_view kernel) {
    const cudaError_t status = cudaGetLastError();  // clears it, so that the next launch starts clean
    if (status != cudaSuccess) check(status, fmt::format("launching {}", kernel));
}

}  // namespace orrery::kernels::cuda
