#include "kernels/cuda/check.hpp"
#include "kernels/cuda/instructions.cuh"
#include "kernels/cuda/pace.hpp"

namespace orrery::kernels::cuda {

namespace {

constexpr std::uint64_t longest_wait = 1'000'000'000;  ///< nanoseconds: whoever forgot to say so does not hang the GPU
constexpr std::uint64_t counted = 100'000;

__global__ void wait_for_host(const volatile std::uint32_t* go, std::uint32_t ticket) {
    const std::uint64_t begin = nanoseconds();
    while (*go < ticket && nanoseconds() - begin < longest_wait) {
    }
}

/// From one step of the nanoseconds' clock to another: its steps may be long, but they begin on time.
__global__ void count_cycles(CountedCycles* to) {
    const std::uint64_t before = nanoseconds();
    std::uint64_t begin = before;
    while (begin == before) begin = nanoseconds();
    const std::uint64_t from = cycles();
    std::uint64_t end = begin;
    while (end - begin < counted) end = nanoseconds();
    to->cycles = cycles() - from;
    to->nanoseconds = end - begin;
}

}  // namespace

void launch_wait_for_host(cudaStream_t stream, const std::uint32_t* go, std::uint32_t ticket) {
    wait_for_host<<<1, 1, 0, stream>>>(go, ticket);
    check_launch("a wait for the host");
}

void launch_count_cycles(cudaStream_t stream, CountedCycles* to) {
    count_cycles<<<1, 1, 0, stream>>>(to);
    check_launch("a count of cycles");
}

}  // namespace orrery::kernels::cuda
