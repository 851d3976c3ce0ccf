#include "hardware/framework_memory.hpp"

#include <algorithm>

#include "hardware/compute_capability.hpp"
#include "hardware/eager.hpp"
#include "hardware/nccl.hpp"

namespace orrery::hardware {

namespace {

constexpr std::uint64_t kib = 1024, mib = 1024 * kib;

/// PyTorch gives each cuBLAS handle a workspace of this (ATen/cuda/CublasHandlePool.cpp): ":4096:2:16:8", from Hopper
/// on 4096 KiB x 8. Deterministic results need CUBLAS_WORKSPACE_CONFIG, ":4096:8" in Megatron-LM's own tests.
std::uint64_t cublas_workspace(int compute_capability, bool deterministic) {
    if (deterministic || compute_capability >= hopper) return 8 * 4096 * kib;
    return 2 * 4096 * kib + 8 * 16 * kib;
}

/// Handles are a thread's: one of the forward, one of autograd's backward.
constexpr std::uint64_t handles = 2;

/// Transformer Engine's own (cpp_extensions/gemm.py, get_cublas_workspace_size_bytes).
std::uint64_t engine_workspace(int compute_capability) {
    return compute_capability >= hopper ? 32 * mib + kib : 4 * mib;
}

/// Where all kernels of PyTorch are loaded at once, as before CUDA 11.7: 1,343 MiB on a V100 (Hugging Face, "Model
/// training anatomy", January 2022). Loaded when first called, as PyTorch does from 1.13 on: about 400 (PyTorch, issue
/// 109888). Volta is taken to run the one, what came after it the other.
std::uint64_t context(int compute_capability) { return (compute_capability <= volta ? 1343 : 400) * mib; }

/// Of a connection: LL (8 lines of 16 bytes for each of 512 threads), LL128 (120 words of 8 bytes for each of 640) of
/// 8 steps each, and NCCL_BUFFSIZE (NCCL, init.cc, computeBuffSizes).
constexpr std::uint64_t connection = 8 * (512 * 8 * 16 + 640 * 120 * 8) + 4 * mib;
/// That a channel receives by: from the ring's neighbour, and up and down the tree.
constexpr std::uint64_t connections = 3;

}  // namespace

FrameworkMemory framework_memory(Software software, int compute_capability, bool deterministic, std::uint32_t groups) {
    if (compute_capability == 0 || software == Software::orrery) return {};
    FrameworkMemory memory{.context = context(compute_capability),
                           .communicators = groups * nccl_channels(compute_capability) * connections * connection};
    const bool engine = software == Software::transformer_engine;
    if (is_eager(software)) memory.workspaces = handles * cublas_workspace(compute_capability, deterministic);
    if (engine) memory.workspaces += engine_workspace(compute_capability);
    return memory;
}

/// DeepSpeed, runtime/zero/stage2.py of October 2021 (reduce_ipg_grads, step) and constants.py: reduce_bucket_size and
/// allgather_bucket_size of 5e8 elements; weights are gathered in weights / bucket rounds.
std::uint64_t deepspeed_buffers(std::uint64_t weights) {
    constexpr std::uint64_t bucket = 500'000'000 * 2ULL;
    return std::min(bucket, weights) + weights / std::max<std::uint64_t>(1, weights / bucket);
}

}  // namespace orrery::hardware
