// Single instructions of NVIDIA's GPUs that C++ has no name for (PTX ISA 8.5). The tests run all kernels on a CPU with
// another file in this one's place (tests/emulated), so that nothing else may write PTX.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <type_traits>

namespace orrery::kernels::cuda {

/// 2^x; 0 for -infinity.
__device__ __forceinline__ float power_of_two(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

/// The address that instructions on shared memory take.
__device__ __forceinline__ std::uint32_t shared_address(const void* memory) {
    return static_cast<std::uint32_t>(__cvta_generic_to_shared(memory));
}

/// The nearest number of tf32, in fp32 with the low 13 bits of the mantissa zero; of two the larger in size.
__device__ __forceinline__ std::uint32_t round_to_tf32(float x) {
    std::uint32_t y;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(y) : "f"(x));
    return y;
}

/// Four matrices of eight rows of 16 bytes; attention_fragment.hpp says which lane gives and gets what.
__device__ __forceinline__ void load_matrices(std::uint32_t (&r)[4], std::uint32_t address) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(address)
                 : "memory");
}

/// The same of 16-bit elements, each transposed.
__device__ __forceinline__ void load_transposed(std::uint32_t (&r)[4], std::uint32_t address) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(address)
                 : "memory");
}

/// c += a b, 16 x 8 x 16; of float, which must be rounded to tf32, 16 x 8 x 8.
template <class T>
__device__ __forceinline__ void multiply(float (&c)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                                         std::uint32_t b1) {
    if constexpr (std::is_same_v<T, __half>)
        asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
            "{%0, %1, %2, %3};"
            : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
    else if constexpr (std::is_same_v<T, float>)
        asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
            "{%0, %1, %2, %3};"
            : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
    else
        asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
            "{%0, %1, %2, %3};"
            : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/// Copies `bytes` (4 or 16) to shared memory in the background, or clears them when there is nothing to copy.
template <int bytes>
__device__ __forceinline__ void copy_async(void* to, const void* from, bool there) {
    const int size = there ? bytes : 0;
    if constexpr (bytes == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)), "l"(from), "r"(size)
                     : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(shared_address(to)), "l"(from), "r"(size)
                     : "memory");
}

__device__ __forceinline__ void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }

/// Waits until at most `pending` of this thread's latest groups of copies are under way.
template <int pending>
__device__ __forceinline__ void wait_copies() {
    asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
}

/// A clock of the whole GPU, in nanoseconds; it advances in steps of up to a microsecond.
__device__ __forceinline__ std::uint64_t nanoseconds() {
    std::uint64_t now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
}

/// Cycles of this multiprocessor's clock.
__device__ __forceinline__ std::uint64_t cycles() {
    std::uint64_t now;
    asm volatile("mov.u64 %0, %%clock64;" : "=l"(now));
    return now;
}

}  // namespace orrery::kernels::cuda
