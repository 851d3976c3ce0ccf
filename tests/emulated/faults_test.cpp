// The emulated GPU sees what a kernel or its host does wrong.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <vector>

#include "tests/emulated/machine/machine.hpp"
#include "tests/emulated/machine/memory.hpp"
#include "tests/emulated/machine/sanitizer.hpp"
#include "tests/emulated/wrong_kernels.hpp"

namespace orrery::emulated {
namespace {

using wrong::Mistake;
constexpr std::size_t bytes = wrong::threads * sizeof(float);

class EmulatedFaults : public testing::Test {
protected:
    void SetUp() override {
        set_up({});
        cudaSetDevice(0);
        ASSERT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess);
        ASSERT_EQ(cudaMalloc(&from_, bytes), cudaSuccess);
        ASSERT_EQ(cudaMalloc(&to_, bytes), cudaSuccess);
        std::vector<float> values(wrong::threads);
        std::iota(values.begin(), values.end(), 0.0f);
        ASSERT_EQ(cudaMemcpy(from_, values.data(), bytes, cudaMemcpyHostToDevice), cudaSuccess);
    }
    void TearDown() override {
        Machine::get().forget_failure();
        static_cast<void>(cudaGetLastError());
        cudaStreamDestroy(stream_);
        cudaFree(from_);
        cudaFree(to_);
        Machine::get().forget_failure();
    }

    cudaError_t run(Mistake mistake, std::size_t shared = bytes) {
        wrong::launch_rotate(stream_, mistake, from_, to_, shared);
        return cudaStreamSynchronize(stream_);
    }
    [[nodiscard]] std::vector<float> result() const {
        std::vector<float> values(wrong::threads);
        cudaMemcpy(values.data(), to_, bytes, cudaMemcpyDeviceToHost);
        return values;
    }
    void expect_fault(Mistake mistake, const std::string& what) {
        EXPECT_EQ(run(mistake), cudaErrorLaunchFailure);
        ASSERT_TRUE(Machine::get().failure());
        EXPECT_NE(Machine::get().failure()->find(what), std::string::npos) << *Machine::get().failure();
        EXPECT_NE(Machine::get().failure()->find("rotate"), std::string::npos) << *Machine::get().failure();
    }
    /// A sanitizer ends the program where it sees it first.
    void expect_overrun(Mistake mistake, const std::string& what) {
        if (!sanitized) return expect_fault(mistake, what);
        const auto die = [&] {
            if (run(mistake) == cudaErrorLaunchFailure) std::abort();
        };
        EXPECT_DEATH(die(), "AddressSanitizer|runtime error|emulated GPU: rotate");
    }

    cudaStream_t stream_ = nullptr;
    float *from_ = nullptr, *to_ = nullptr;
};

TEST_F(EmulatedFaults, ARightKernelIsRight) {
    ASSERT_EQ(run(Mistake::none), cudaSuccess);
    const std::vector<float> found = result();
    for (int i = 0; i < wrong::threads; ++i)
        EXPECT_EQ(found[static_cast<std::size_t>(i)], static_cast<float>((i + 1) % wrong::threads));
}

/// Shared memory begins as numbers that are none, and lanes run in other orders each time.
TEST_F(EmulatedFaults, AMissingBarrierShowsInTheResult) {
    for (const Mistake mistake : {Mistake::missing_barrier, Mistake::copy_not_awaited}) {
        ASSERT_EQ(run(mistake), cudaSuccess);
        const std::vector<float> found = result();
        EXPECT_TRUE(std::ranges::any_of(found, [](float x) { return std::isnan(x); }));
    }
}

TEST_F(EmulatedFaults, AThreadThatNobodyJoinsIsADeadlock) { expect_fault(Mistake::divergent_barrier, "deadlock"); }
TEST_F(EmulatedFaults, LanesThatHaveEndedGiveNothing) { expect_fault(Mistake::ended_lanes, "lanes that have ended"); }
TEST_F(EmulatedFaults, LanesOfAWarpDoOneThing) { expect_fault(Mistake::other_lanes, "meet for different things"); }
TEST_F(EmulatedFaults, CopiesAreWaitedFor) { expect_fault(Mistake::copy_under_way, "with copies under way"); }
TEST_F(EmulatedFaults, CopiesAreAligned) { expect_fault(Mistake::misaligned_copy, "no multiple of its size"); }
TEST_F(EmulatedFaults, OperandsOfTf32AreRounded) { expect_fault(Mistake::unrounded_operand, "was not rounded"); }
TEST_F(EmulatedFaults, SharedMemoryEnds) { expect_overrun(Mistake::shared_overrun, "touches"); }
TEST_F(EmulatedFaults, VariablesInSharedMemoryEnd) { expect_overrun(Mistake::variable_overrun, "behind a variable"); }
TEST_F(EmulatedFaults, MemoryEnds) { expect_fault(Mistake::global_overrun, "behind the end of 256 bytes of GPU 0"); }

TEST_F(EmulatedFaults, WhatWasReleasedIsNotUsed) {
    float* const gone = to_;
    ASSERT_EQ(cudaFree(gone), cudaSuccess);
    expect_fault(Mistake::none, "which was released");
    Machine::get().forget_failure();
    EXPECT_EQ(cudaFree(gone), cudaErrorInvalidValue) << "a second time";
    Machine::get().forget_failure();
    ASSERT_EQ(cudaMalloc(&to_, bytes), cudaSuccess);
    EXPECT_NE(to_, gone) << "addresses are not given out again";
}

TEST_F(EmulatedFaults, AGpuInErrorStaysSo) {
    EXPECT_EQ(run(Mistake::divergent_barrier), cudaErrorLaunchFailure);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorLaunchFailure);
    EXPECT_EQ(run(Mistake::none), cudaErrorLaunchFailure);
}

TEST_F(EmulatedFaults, ImpossibleLaunchesAreRefused) {
    wrong::launch_bounded(stream_, 2048, to_);
    EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidConfiguration);
    wrong::launch_bounded(stream_, 0, to_);
    EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidConfiguration);
    wrong::launch_rotate(stream_, Mistake::none, from_, to_, 400 * 1024);
    EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidConfiguration);
    EXPECT_EQ(cudaGetLastError(), cudaSuccess) << "told once";
    wrong::launch_bounded(stream_, 128, to_);
    EXPECT_EQ(cudaStreamSynchronize(stream_), cudaErrorLaunchFailure) << "more threads than __launch_bounds__";
}

TEST_F(EmulatedFaults, CopiesStayWithinMemory) {
    std::array<float, 2 * wrong::threads> host{};
    EXPECT_EQ(cudaMemcpyAsync(to_, host.data(), bytes + 4, cudaMemcpyHostToDevice, stream_), cudaErrorInvalidValue);
    Machine::get().forget_failure();
    EXPECT_EQ(cudaMemcpyAsync(host.data(), to_, bytes, cudaMemcpyHostToDevice, stream_), cudaErrorInvalidValue);
    Machine::get().forget_failure();
    EXPECT_EQ(cudaMemcpyAsync(host.data() + 64, to_, bytes, cudaMemcpyDeviceToHost, stream_), cudaSuccess);
}

/// Streams have no order between them but what events give.
TEST_F(EmulatedFaults, UnorderedStreamsAreSeenInBothOrders) {
    cudaStream_t other = nullptr;
    ASSERT_EQ(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking), cudaSuccess);
    cudaEvent_t event = nullptr;
    ASSERT_EQ(cudaEventCreate(&event), cudaSuccess);
    for (const bool ordered : {false, true}) {
        int early = 0, late = 0;
        for (std::uint64_t seed = 1; seed <= 40; ++seed) {
            set_up({.seed = seed});
            ASSERT_EQ(cudaMemsetAsync(to_, 0, bytes, stream_), cudaSuccess);
            ASSERT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
            wrong::launch_rotate(stream_, Mistake::none, from_, to_, bytes);
            if (ordered) {
                ASSERT_EQ(cudaEventRecord(event, stream_), cudaSuccess);
                ASSERT_EQ(cudaStreamWaitEvent(other, event, 0), cudaSuccess);
            }
            std::array<float, wrong::threads> seen{};
            ASSERT_EQ(cudaMemcpyAsync(seen.data(), to_, bytes, cudaMemcpyDeviceToHost, other), cudaSuccess);
            ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
            seen[0] == 1.0f ? ++late : ++early;
        }
        EXPECT_EQ(early > 0, !ordered);
        EXPECT_GT(late, 0);
    }
    cudaEventDestroy(event);
    cudaStreamDestroy(other);
}

}  // namespace
}  // namespace orrery::emulated
