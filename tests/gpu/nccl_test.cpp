// NCCL with a single rank: every collective moves its bytes and ends.
#include <cstring>
#include <random>

#include "base/error.hpp"
#include "kernels/cuda/nccl_communicator.hpp"
#include "tests/gpu/gpu.hpp"

namespace orrery::kernels {
namespace {

class GpuNccl : public GpuTest {};

TEST_F(GpuNccl, OneRankReceivesWhatItSends) {
    constexpr std::uint64_t bytes = 1u << 20;
    cuda::NcclCommunicator communicator(gpu(), alone(), 60);
    EXPECT_EQ(communicator.rank(), 0u);
    EXPECT_EQ(communicator.ranks(), 1u);
    EXPECT_EQ(communicator.nodes(), 1u);
    EXPECT_TRUE(communicator.software().starts_with("NCCL ")) << communicator.software();

    void* const send = gpu().allocate(bytes);
    void* const receive = gpu().allocate(bytes);
    auto* const sent = static_cast<std::byte*>(gpu().allocate_host(bytes));
    auto* const received = static_cast<std::byte*>(gpu().allocate_host(bytes));
    std::mt19937_64 random(5);
    for (std::uint64_t i = 0; i < bytes / 4; ++i) {
        const float value = static_cast<float>(random() % 1000);
        std::memcpy(sent + 4 * i, &value, 4);
    }
    gpu().copy(CopyKind::host_to_device, send, sent, bytes, 0);
    for (int kind = 0; kind < collective_kinds; ++kind) {
        SCOPED_TRACE(name(static_cast<CollectiveKind>(kind)));
        std::memset(received, 0xff, bytes);
        gpu().copy(CopyKind::host_to_device, receive, received, bytes, 0);
        communicator.run(static_cast<CollectiveKind>(kind), send, receive, bytes, Dtype::fp32, 0);
        gpu().copy(CopyKind::device_to_host, received, receive, bytes, 0);
        gpu().synchronize();
        EXPECT_EQ(std::memcmp(sent, received, bytes), 0);
    }
    gpu().release(send);
    gpu().release(receive);
    gpu().release_host(sent);
    gpu().release_host(received);
}

TEST_F(GpuNccl, RanksAgreeOnTheHost) {
    cuda::NcclCommunicator communicator(gpu(), alone(), 60);
    communicator.barrier();
    EXPECT_EQ(communicator.maximum(2.5), 2.5);
    EXPECT_EQ(communicator.from_first("text"), "text");
}

TEST_F(GpuNccl, RefusesPartsOfElements) {
    cuda::NcclCommunicator communicator(gpu(), alone(), 60);
    void* const memory = gpu().allocate(16);
    EXPECT_THROW(communicator.run(CollectiveKind::all_reduce, memory, memory, 7, Dtype::fp32, 0), Error);
    gpu().release(memory);
}

}  // namespace
}  // namespace orrery::kernels
