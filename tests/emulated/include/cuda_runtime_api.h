// What the project uses of NVIDIA's header of this name, for kernels that run on a CPU: types, the language's
// extensions and the runtime's functions, which tests/emulated/machine implements. Meanings are those of the CUDA
// Runtime API.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "tests/emulated/machine/device.hpp"

#define __global__ static
#define __device__
#define __host__
#define __forceinline__ inline
#define __align__(bytes) alignas(bytes)

#define threadIdx (::orrery::emulated::current->index)
#define blockIdx (::orrery::emulated::launched.block)
#define blockDim (::orrery::emulated::launched.threads)
#define gridDim (::orrery::emulated::launched.blocks)

struct alignas(8) uint2 {
    unsigned x, y;
};
struct alignas(16) uint4 {
    unsigned x, y, z, w;
};
struct alignas(8) float2 {
    float x, y;
};
inline float2 make_float2(float x, float y) { return {x, y}; }

using dim3 = orrery::emulated::Extent;

enum cudaError_t {
    cudaSuccess,
    cudaErrorInvalidValue,
    cudaErrorMemoryAllocation,
    cudaErrorInvalidConfiguration,
    cudaErrorInsufficientDriver,
    cudaErrorNoDevice,
    cudaErrorInvalidDevice,
    cudaErrorNoKernelImageForDevice,
    cudaErrorInvalidResourceHandle,
    cudaErrorNotReady,
    cudaErrorLaunchFailure,
    cudaErrorStreamCaptureUnsupported,
    cudaErrorStreamCaptureInvalidated,
    cudaErrorStreamCaptureMerge,
    cudaErrorStreamCaptureUnmatched,
    cudaErrorStreamCaptureUnjoined,
    cudaErrorStreamCaptureIsolation,
    cudaErrorCapturedEvent,
    cudaErrorStreamCaptureWrongThread,
};
enum cudaStreamCaptureMode {
    cudaStreamCaptureModeGlobal,
    cudaStreamCaptureModeThreadLocal,
    cudaStreamCaptureModeRelaxed,
};
enum cudaMemcpyKind { cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice };
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize };
enum cudaDataType_t { CUDA_R_32F, CUDA_R_16F, CUDA_R_16BF, CUDA_R_8F_E4M3, CUDA_R_8F_E5M2 };
inline constexpr unsigned cudaStreamNonBlocking = 1, cudaEventDisableTiming = 2, cudaEventRecordExternal = 1;

using cudaStream_t = orrery::emulated::Stream*;
using cudaEvent_t = orrery::emulated::Event*;

namespace orrery::emulated {
struct RecordedGraph;
struct ExecutableGraph;
}  // namespace orrery::emulated
using cudaGraph_t = orrery::emulated::RecordedGraph*;
using cudaGraphExec_t = orrery::emulated::ExecutableGraph*;

struct cudaDeviceProp {
    char name[256];
    std::size_t totalGlobalMem;
    int major, minor, l2CacheSize, multiProcessorCount;
};

cudaError_t cudaGetLastError();
const char* cudaGetErrorString(cudaError_t status);
const char* cudaGetErrorName(cudaError_t status);
cudaError_t cudaRuntimeGetVersion(int* version);
cudaError_t cudaGetDeviceCount(int* count);
cudaError_t cudaSetDevice(int ordinal);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int ordinal);
cudaError_t cudaDeviceGetPCIBusId(char* text, int length, int ordinal);
cudaError_t cudaDeviceSynchronize();

cudaError_t cudaMalloc(void** memory, std::size_t bytes);
template <class T>
cudaError_t cudaMalloc(T** memory, std::size_t bytes) {
    return cudaMalloc(reinterpret_cast<void**>(memory), bytes);
}
cudaError_t cudaFree(void* memory);
cudaError_t cudaMallocHost(void** memory, std::size_t bytes);
cudaError_t cudaFreeHost(void* memory);
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind);
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream);
cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_stride, const void* from, std::size_t from_stride,
                              std::size_t bytes, std::size_t rows, cudaMemcpyKind kind, cudaStream_t stream);
cudaError_t cudaMemsetAsync(void* memory, int value, std::size_t bytes, cudaStream_t stream);

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags);
cudaError_t cudaEventCreate(cudaEvent_t* event);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags);
cudaError_t cudaEventQuery(cudaEvent_t event);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t from, cudaEvent_t to);

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph);
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long flags);
cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable);

cudaError_t orrery_emulated_allow_shared(std::size_t bytes);
template <class... Arguments>
cudaError_t cudaFuncSetAttribute(void (*)(Arguments...), cudaFuncAttribute, int bytes) {
    return orrery_emulated_allow_shared(static_cast<std::size_t>(bytes));
}

// Of the language, and of cuda_runtime.h, which nvcc includes by itself.
inline float __expf(float x) { return std::exp(x); }
inline unsigned __float_as_uint(float x) { return std::bit_cast<unsigned>(x); }
inline float __uint_as_float(unsigned x) { return std::bit_cast<float>(x); }
inline std::uint32_t min(std::uint32_t a, std::uint32_t b) { return a < b ? a : b; }
inline void __syncthreads() { orrery::emulated::block_barrier(); }
inline void __syncwarp() { orrery::emulated::warp_barrier(); }
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int lanes) {
    return orrery::emulated::exchange(mask, value, lanes);
}
inline unsigned atomicAdd(unsigned* to, unsigned by) {
    const unsigned before = *to;
    *to += by;
    return before;
}
