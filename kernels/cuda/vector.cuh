// Elements in memory to fp32 in registers and back, up to 16 bytes a thread in one access.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

#include "kernels/kernel.hpp"

namespace orrery::kernels::cuda {

__device__ __forceinline__ float to_float(float x) { return x; }
__device__ __forceinline__ float to_float(__half x) { return __half2float(x); }
__device__ __forceinline__ float to_float(__nv_bfloat16 x) { return __bfloat162float(x); }
__device__ __forceinline__ float to_float(std::uint8_t x) { return static_cast<float>(x); }

template <class T>
__device__ __forceinline__ T from_float(float x);
template <>
__device__ __forceinline__ float from_float<float>(float x) {
    return x;
}
template <>
__device__ __forceinline__ __half from_float<__half>(float x) {
    return __float2half_rn(x);
}
template <>
__device__ __forceinline__ __nv_bfloat16 from_float<__nv_bfloat16>(float x) {
    return __float2bfloat16_rn(x);
}

template <std::size_t bytes>
struct RawOf;
template <>
struct RawOf<1> {
    using type = std::uint8_t;
};
template <>
struct RawOf<2> {
    using type = std::uint16_t;
};
template <>
struct RawOf<4> {
    using type = std::uint32_t;
};
template <>
struct RawOf<8> {
    using type = uint2;
};
template <>
struct RawOf<16> {
    using type = uint4;
};

/// W elements moved by accesses of at most 16 bytes: one access, or two for eight floats. Their address must be a
/// multiple of the access.
template <class T, int W>
struct Vector {
    static constexpr std::size_t bytes = sizeof(T) * W;
    using Raw = typename RawOf<(bytes < 16 ? bytes : 16)>::type;
    static constexpr int accesses = bytes / sizeof(Raw);
    Raw raw[accesses];

    __device__ __forceinline__ void read(const T* from) {
#pragma unroll
        for (int i = 0; i < accesses; ++i) raw[i] = reinterpret_cast<const Raw*>(from)[i];
    }
    __device__ __forceinline__ void write(T* to) const {
#pragma unroll
        for (int i = 0; i < accesses; ++i) reinterpret_cast<Raw*>(to)[i] = raw[i];
    }
    __device__ __forceinline__ void unpack(float (&values)[W]) const {
        const T* const elements = reinterpret_cast<const T*>(raw);
#pragma unroll
        for (int i = 0; i < W; ++i) values[i] = to_float(elements[i]);
    }
    __device__ __forceinline__ void pack(const float (&values)[W]) {
        T* const elements = reinterpret_cast<T*>(raw);
#pragma unroll
        for (int i = 0; i < W; ++i) elements[i] = from_float<T>(values[i]);
    }
};

template <class T, int W>
__device__ __forceinline__ void load(const T* from, float (&values)[W]) {
    Vector<T, W> vector;
    vector.read(from);
    vector.unpack(values);
}

template <class T, int W>
__device__ __forceinline__ void store(T* to, const float (&values)[W]) {
    Vector<T, W> vector;
    vector.pack(values);
    vector.write(to);
}

/// Elements of T in 16 bytes.
template <class T>
inline constexpr int full_width = 16 / static_cast<int>(sizeof(T));

/// Calls f with a value of the element type of the format: float (fp32, tf32), __half or __nv_bfloat16.
template <class F>
void with_element(Dtype dtype, F f) {
    switch (dtype) {
        case Dtype::fp16: f(__half{}); break;
        case Dtype::bf16: f(__nv_bfloat16{}); break;
        default: f(float{}); break;
    }
}

/// The operand at place i, as elements of T.
template <class T, class List>
T* at(const List& operands, std::size_t i) {
    return static_cast<T*>(operands[i]);
}

/// Whether rows of `cols` elements begin at multiples of 16 bytes, given that every tensor does (Device::allocate).
template <class T>
bool rows_aligned(std::uint64_t cols) {
    return cols % full_width<T> == 0;
}

}  // namespace orrery::kernels::cuda
