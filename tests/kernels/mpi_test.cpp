// Collectives of CPU ranks, exactly: run by mpirun, each rank holds its own results against what all must give.
#include <gtest/gtest.h>

#include <vector>

#include "base/error.hpp"
#include "kernels/bfloat16.hpp"
#include "kernels/communicator.hpp"
#include "kernels/float16.hpp"

namespace orrery::kernels {
namespace {

/// One device and one communicator for all tests: MPI starts once in a process.
class Mpi : public testing::Test {
protected:
    static void SetUpTestSuite() {
        device = open_device("cpu");
        group = world(*device);
    }
    static void TearDownTestSuite() {
        group.reset();
        device.reset();
    }
    void SetUp() override { ASSERT_NE(group, nullptr) << "start this test with mpirun"; }

    /// Elements that differ between ranks and places, small enough for exact sums.
    static float element(std::uint32_t rank, std::size_t i) { return static_cast<float>(1000 * rank + i % 101 + 1); }

    static std::vector<float> run(CollectiveKind kind, std::size_t whole, Stream stream = 0) {
        const std::uint64_t bytes = whole * sizeof(float);
        std::vector<float> send(send_bytes(kind, bytes, group->ranks()) / sizeof(float));
        std::vector<float> receive(receive_bytes(kind, bytes, group->ranks()) / sizeof(float), -1.0f);
        for (std::size_t i = 0; i < send.size(); ++i) send[i] = element(group->rank(), i);
        group->run(kind, send.data(), receive.data(), bytes, Dtype::fp32, stream);
        device->synchronize();
        return receive;
    }

    static std::unique_ptr<Device> device;
    static std::unique_ptr<Communicator> group;
};
std::unique_ptr<Device> Mpi::device;
std::unique_ptr<Communicator> Mpi::group;

float sum_of(std::uint32_t ranks, std::size_t i, float (*element)(std::uint32_t, std::size_t)) {
    float total = 0;
    for (std::uint32_t r = 0; r < ranks; ++r) total += element(r, i);
    return total;
}

TEST_F(Mpi, KnowsItself) {
    EXPECT_GE(group->ranks(), 2u);
    EXPECT_LT(group->rank(), group->ranks());
    EXPECT_EQ(group->nodes(), 1u);
    EXPECT_FALSE(group->software().empty());
}

TEST_F(Mpi, AllReduceSums) {
    for (const std::size_t count : {1u, 6u, 100000u}) {
        const std::vector<float> found = run(CollectiveKind::all_reduce, count);
        for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(found[i], sum_of(group->ranks(), i, element));
    }
}

TEST_F(Mpi, ReduceScatterGivesEachRankItsPartOfTheSum) {
    const std::size_t part = 5000;
    const std::vector<float> found = run(CollectiveKind::reduce_scatter, part * group->ranks());
    ASSERT_EQ(found.size(), part);
    for (std::size_t i = 0; i < part; ++i)
        ASSERT_EQ(found[i], sum_of(group->ranks(), group->rank() * part + i, element));
}

TEST_F(Mpi, AllGatherPutsPartsInTheOrderOfRanks) {
    const std::size_t part = 777;
    const std::vector<float> found = run(CollectiveKind::all_gather, part * group->ranks());
    for (std::size_t i = 0; i < found.size(); ++i)
        ASSERT_EQ(found[i], element(static_cast<std::uint32_t>(i / part), i % part));
}

TEST_F(Mpi, AllToAllTransposesTheParts) {
    const std::size_t part = 321;
    const std::vector<float> found = run(CollectiveKind::all_to_all, part * group->ranks());
    for (std::size_t i = 0; i < found.size(); ++i)
        ASSERT_EQ(found[i], element(static_cast<std::uint32_t>(i / part), group->rank() * part + i % part));
}

TEST_F(Mpi, BroadcastGivesTheFirstRanksVector) {
    const std::vector<float> found = run(CollectiveKind::broadcast, 4096);
    for (std::size_t i = 0; i < found.size(); ++i) ASSERT_EQ(found[i], element(0, i));
}

TEST_F(Mpi, SendRecvPassesAroundTheRing) {
    const std::vector<float> found = run(CollectiveKind::send_recv, 4096);
    const std::uint32_t from = (group->rank() + group->ranks() - 1) % group->ranks();
    for (std::size_t i = 0; i < found.size(); ++i) ASSERT_EQ(found[i], element(from, i));
}

/// Small whole numbers, whose sums 16 bits hold exactly.
template <class Half>
void expect_sums(Communicator& group, Device& device, Dtype dtype) {
    const std::size_t part = 5001, whole = part * group.ranks();
    const auto number = [](std::uint32_t rank, std::size_t i) { return static_cast<float>(rank + i % 61); };
    std::vector<Half> send(whole), most(whole);
    for (std::size_t i = 0; i < whole; ++i) send[i] = from_float<Half>(number(group.rank(), i));
    const std::uint64_t bytes = whole * sizeof(Half);
    Half* const own = send.data() + group.rank() * part;
    group.run(CollectiveKind::all_reduce, send.data(), most.data(), bytes, dtype, 0, Reduction::maximum);
    group.run(CollectiveKind::reduce_scatter, send.data(), own, bytes, dtype, 0);
    group.run(CollectiveKind::all_gather, own, send.data(), bytes, dtype, 0);
    device.synchronize();
    for (std::size_t i = 0; i < whole; ++i) {
        float sum = 0;
        for (std::uint32_t r = 0; r < group.ranks(); ++r) sum += number(r, i);
        ASSERT_EQ(to_float(send[i]), sum);
        ASSERT_EQ(to_float(most[i]), number(group.ranks() - 1, i));
    }
}

TEST_F(Mpi, SumsInSixteenBits) {
    expect_sums<Bfloat16>(*group, *device, Dtype::bf16);
    expect_sums<Float16>(*group, *device, Dtype::fp16);
}

TEST_F(Mpi, StreamsCommunicateOnTheirOwn) {
    const std::size_t count = 2000;
    const std::uint64_t bytes = count * sizeof(float);
    std::vector<float> send(count), one(count), two(count);
    for (std::size_t i = 0; i < count; ++i) send[i] = element(group->rank(), i);
    // The ranks queue in the same order; the streams run as they come.
    group->run(CollectiveKind::all_reduce, send.data(), one.data(), bytes, Dtype::fp32, 1);
    group->run(CollectiveKind::send_recv, send.data(), two.data(), bytes, Dtype::fp32, 2);
    device->synchronize();
    const std::uint32_t from = (group->rank() + group->ranks() - 1) % group->ranks();
    for (std::size_t i = 0; i < count; ++i) {
        ASSERT_EQ(one[i], sum_of(group->ranks(), i, element));
        ASSERT_EQ(two[i], element(from, i));
    }
}

TEST_F(Mpi, HostSideCallsAgree) {
    group->barrier();
    EXPECT_EQ(group->maximum(group->rank() + 0.5), group->ranks() - 0.5);
    EXPECT_EQ(group->from_first("of rank " + std::to_string(group->rank())), "of rank 0");
}

TEST_F(Mpi, RefusesWhatItCannotDo) {
    std::vector<float> memory(64);
    const auto refused = [&](CollectiveKind kind, std::uint64_t bytes, Dtype dtype) {
        EXPECT_THROW(group->run(kind, memory.data(), memory.data() + 32, bytes, dtype, 0), Error);
    };
    refused(CollectiveKind::all_gather, 4, Dtype::fp32);  // one element for all ranks
    refused(CollectiveKind::all_reduce, 6, Dtype::fp32);  // one and a half
    refused(CollectiveKind::all_reduce, 64, Dtype::fp8);
    refused(CollectiveKind::broadcast, 1ull << 40, Dtype::fp32);
}

TEST_F(Mpi, StartsOnce) { EXPECT_THROW(world(*device), Error); }

}  // namespace
}  // namespace orrery::kernels
