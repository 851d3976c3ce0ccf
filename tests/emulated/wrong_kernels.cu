#include "kernels/cuda/instructions.cuh"
#include "tests/emulated/wrong_kernels.hpp"

namespace orrery::emulated::wrong {

namespace {

using kernels::cuda::commit_copies;
using kernels::cuda::copy_async;
using kernels::cuda::multiply;
using kernels::cuda::wait_copies;

__global__ void __launch_bounds__(threads) rotate(Mistake mistake, const float* from, float* to) {
    extern __shared__ float shared[];
    __shared__ float own[threads];
    const int i = static_cast<int>(threadIdx.x), next = (i + 1) % threads;
    const std::uint32_t all = 0xffffffffu;
    if (mistake == Mistake::ended_lanes && i % 32 >= 16) return;
    if (mistake == Mistake::divergent_barrier && i % 2 == 0) __syncthreads();
    if (mistake == Mistake::divergent_barrier || mistake == Mistake::ended_lanes) to[i] = __shfl_xor_sync(all, 1.0f, 1);
    if (mistake == Mistake::other_lanes && i % 2 == 0) __syncwarp();
    if (mistake == Mistake::other_lanes && i % 2 == 1) to[i] = __shfl_xor_sync(all, 1.0f, 1);
    if (mistake == Mistake::shared_overrun && i == 0) shared[threads] = 1.0f;
    if (mistake == Mistake::variable_overrun) own[i + 1] = 1.0f;
    if (mistake == Mistake::global_overrun && i == 0) to[1024] = 1.0f;
    if (mistake == Mistake::unrounded_operand) {
        const std::uint32_t a[4] = {__float_as_uint(1.0f), __float_as_uint(1.001f), 0, 0};
        float c[4] = {};
        multiply<float>(c, a, 0, 0);
    }
    if (mistake == Mistake::misaligned_copy) copy_async<16>(shared, from + 1, true);
    copy_async<4>(shared + i, from + i, true);
    commit_copies();
    if (mistake != Mistake::copy_not_awaited && mistake != Mistake::copy_under_way) wait_copies<0>();
    if (mistake != Mistake::missing_barrier) __syncthreads();
    to[i] = shared[next];
    if (mistake == Mistake::copy_not_awaited) wait_copies<0>();
}

__global__ void __launch_bounds__(64) bounded(float* to) { to[threadIdx.x] = 1.0f; }

}  // namespace

void launch_rotate(cudaStream_t stream, Mistake mistake, const float* from, float* to, std::size_t bytes) {
    rotate<<<1, threads, bytes, stream>>>(mistake, from, to);
}

void launch_bounded(cudaStream_t stream, unsigned count, float* to) { bounded<<<1, count, 0, stream>>>(to); }

}  // namespace orrery::emulated::wrong
