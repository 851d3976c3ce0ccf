// The emulated GPU records graphs as CUDA does, replays them in any order that their edges allow, and sees what a
// recording does wrong.
#include "tests/emulated/machine/graphs.hpp"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <thread>
#include <utility>

#include "base/error.hpp"
#include "kernels/cuda/cuda_device.hpp"
#include "tests/emulated/machine/machine.hpp"
#include "tests/emulated/machine/memory.hpp"
#include "tests/emulated/wrong_kernels.hpp"

namespace orrery::emulated {
namespace {

constexpr std::size_t bytes = wrong::threads * sizeof(float);

class EmulatedRecording : public testing::Test {
protected:
    void SetUp() override {
        set_up({});
        cudaSetDevice(0);
        for (cudaStream_t* const stream : {&first_, &other_})
            ASSERT_EQ(cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking), cudaSuccess);
        for (cudaEvent_t* const event : {&fork_, &join_}) ASSERT_EQ(cudaEventCreate(event), cudaSuccess);
        for (float** const memory : {&from_, &to_}) ASSERT_EQ(cudaMalloc(memory, bytes), cudaSuccess);
        ASSERT_EQ(cudaMallocHost(reinterpret_cast<void**>(&host_), bytes), cudaSuccess);
    }
    void TearDown() override {
        Machine::get().forget_failure();
        static_cast<void>(cudaGetLastError());
        if (executable_ != nullptr) cudaGraphExecDestroy(executable_);
        for (const cudaEvent_t event : {fork_, join_}) cudaEventDestroy(event);
        for (const cudaStream_t stream : {first_, other_}) cudaStreamDestroy(stream);
        for (float* const memory : {from_, to_}) cudaFree(memory);
        cudaFreeHost(host_);
        Machine::get().forget_failure();
        EXPECT_EQ(living_graphs(), 0u);
    }

    void begin() { ASSERT_EQ(cudaStreamBeginCapture(first_, cudaStreamCaptureModeThreadLocal), cudaSuccess); }
    void fork() {
        ASSERT_EQ(cudaEventRecord(fork_, first_), cudaSuccess);
        ASSERT_EQ(cudaStreamWaitEvent(other_, fork_, 0), cudaSuccess);
    }
    void join() {
        ASSERT_EQ(cudaEventRecord(join_, other_), cudaSuccess);
        ASSERT_EQ(cudaStreamWaitEvent(first_, join_, 0), cudaSuccess);
    }
    cudaError_t end() {
        cudaGraph_t graph = nullptr;
        const cudaError_t status = cudaStreamEndCapture(first_, &graph);
        if (status != cudaSuccess) return status;
        EXPECT_EQ(cudaGraphInstantiateWithFlags(&executable_, graph, 0), cudaSuccess);
        return cudaGraphDestroy(graph);
    }
    cudaError_t replay() {
        const cudaError_t status = cudaGraphLaunch(executable_, first_);
        return status == cudaSuccess ? cudaStreamSynchronize(first_) : status;
    }
    /// Ends the recording, whatever state it is in.
    void expect_failure(const std::string& what) {
        ASSERT_TRUE(Machine::get().failure());
        EXPECT_NE(Machine::get().failure()->find(what), std::string::npos) << *Machine::get().failure();
        cudaGraph_t graph = nullptr;
        if (first_->capture != nullptr) {
            EXPECT_EQ(cudaStreamEndCapture(first_, &graph), cudaErrorStreamCaptureInvalidated);
        }
        Machine::get().forget_failure();
    }

    cudaStream_t first_ = nullptr, other_ = nullptr;
    cudaEvent_t fork_ = nullptr, join_ = nullptr;
    cudaGraphExec_t executable_ = nullptr;
    float *from_ = nullptr, *to_ = nullptr, *host_ = nullptr;
};

/// Nothing runs as it is recorded; a replay reads memory as it is then.
TEST_F(EmulatedRecording, RunsAtEachLaunch) {
    host_[0] = 0;
    begin();
    ASSERT_EQ(cudaMemcpyAsync(to_, from_, bytes, cudaMemcpyDeviceToDevice, first_), cudaSuccess);
    ASSERT_EQ(cudaMemcpyAsync(host_, to_, bytes, cudaMemcpyDeviceToHost, first_), cudaSuccess);
    ASSERT_EQ(end(), cudaSuccess);
    EXPECT_EQ(host_[0], 0);
    for (const float value : {1.0f, 2.0f, 3.0f}) {
        ASSERT_EQ(cudaMemcpy(from_, &value, sizeof value, cudaMemcpyHostToDevice), cudaSuccess);
        ASSERT_EQ(replay(), cudaSuccess);
        EXPECT_EQ(host_[0], value);
    }
}

/// Clears on one stream what the other copies, in thousands of replays: in any order, but where an edge says one.
TEST_F(EmulatedRecording, OnlyEdgesOrderAReplay) {
    for (const bool ordered : {false, true}) {
        begin();
        fork();
        ASSERT_EQ(cudaMemsetAsync(to_, 0, bytes, other_), cudaSuccess);
        if (ordered) join();
        ASSERT_EQ(cudaMemcpyAsync(host_, to_, bytes, cudaMemcpyDeviceToHost, first_), cudaSuccess);
        join();
        ASSERT_EQ(end(), cudaSuccess);
        int early = 0, late = 0;
        for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
            set_up({.seed = seed, .eagerness = seed % 3 == 0 ? 0.0 : 1.0});
            const float one = 1;
            ASSERT_EQ(cudaMemcpy(to_, &one, sizeof one, cudaMemcpyHostToDevice), cudaSuccess);
            ASSERT_EQ(replay(), cudaSuccess);
            host_[0] == 0.0f ? ++late : ++early;
        }
        EXPECT_EQ(early > 0, !ordered);
        EXPECT_GT(late, 0);
        ASSERT_EQ(cudaGraphExecDestroy(std::exchange(executable_, nullptr)), cudaSuccess);
    }
}

/// Launches of one graph follow each other on whatever streams.
TEST_F(EmulatedRecording, LaunchesOfOneGraphDoNotMeet) {
    begin();
    wrong::launch_rotate(first_, wrong::Mistake::none, from_, to_, bytes);
    ASSERT_EQ(cudaMemcpyAsync(from_, to_, bytes, cudaMemcpyDeviceToDevice, first_), cudaSuccess);
    ASSERT_EQ(end(), cudaSuccess);
    for (std::uint64_t seed = 1; seed <= 50; ++seed) {
        set_up({.seed = seed});
        std::array<float, wrong::threads> values{};
        values[5] = 1;
        ASSERT_EQ(cudaMemcpy(from_, values.data(), bytes, cudaMemcpyHostToDevice), cudaSuccess);
        for (const cudaStream_t stream : {first_, other_, first_, other_})
            ASSERT_EQ(cudaGraphLaunch(executable_, stream), cudaSuccess);
        ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
        ASSERT_EQ(cudaMemcpy(values.data(), from_, bytes, cudaMemcpyDeviceToHost), cudaSuccess);
        EXPECT_EQ(values[1], 1) << "seed " << seed;
    }
}

TEST_F(EmulatedRecording, AnExternalEventIsReachedByEachReplay) {
    cudaEvent_t begun = nullptr;
    ASSERT_EQ(cudaEventCreate(&begun), cudaSuccess);
    begin();
    ASSERT_EQ(cudaEventRecordWithFlags(begun, first_, cudaEventRecordExternal), cudaSuccess);
    ASSERT_EQ(cudaMemsetAsync(to_, 0, bytes, first_), cudaSuccess);
    ASSERT_EQ(cudaEventRecordWithFlags(join_, first_, cudaEventRecordExternal), cudaSuccess);
    ASSERT_EQ(end(), cudaSuccess);
    for (int i = 0; i < 3; ++i) {
        float milliseconds = 0;
        ASSERT_EQ(replay(), cudaSuccess);
        ASSERT_EQ(cudaEventElapsedTime(&milliseconds, begun, join_), cudaSuccess);
        EXPECT_GT(milliseconds, 0);
    }
    cudaEventDestroy(begun);
    EXPECT_EQ(replay(), cudaErrorLaunchFailure);
    expect_failure("an event that was destroyed");
}

TEST_F(EmulatedRecording, CallsThatWaitOrAllocateAreSeen) {
    float* more = nullptr;
    float here = 0;
    const std::array<std::pair<const char*, std::function<cudaError_t()>>, 9> calls{{
        {"cudaDeviceSynchronize", [] { return cudaDeviceSynchronize(); }},
        {"cudaStreamSynchronize", [&] { return cudaStreamSynchronize(first_); }},
        {"cudaEventSynchronize", [&] { return cudaEventSynchronize(join_); }},
        {"cudaEventQuery", [&] { return cudaEventQuery(join_); }},
        {"cudaMalloc", [&] { return cudaMalloc(&more, bytes); }},
        {"cudaFree", [&] { return cudaFree(to_); }},
        {"cudaMallocHost", [&] { return cudaMallocHost(reinterpret_cast<void**>(&more), bytes); }},
        {"cudaMemcpy", [&] { return cudaMemcpy(&here, to_, sizeof here, cudaMemcpyDeviceToHost); }},
        {"pageable", [&] { return cudaMemcpyAsync(&here, to_, sizeof here, cudaMemcpyDeviceToHost, first_); }},
    }};
    for (const auto& [what, call] : calls) {
        begin();
        EXPECT_EQ(call(), cudaErrorStreamCaptureUnsupported) << what;
        expect_failure(what);
    }
}

/// Other threads may go on, but not with what is recorded.
TEST_F(EmulatedRecording, OtherThreadsMayWait) {
    ASSERT_EQ(cudaEventRecord(join_, other_), cudaSuccess);
    begin();
    ASSERT_EQ(cudaEventRecord(fork_, first_), cudaSuccess);
    std::thread([&] {
        EXPECT_EQ(cudaEventSynchronize(join_), cudaSuccess);
        EXPECT_EQ(cudaEventQuery(fork_), cudaErrorCapturedEvent);
    }).join();
    expect_failure("of an event that a recording has");
}

TEST_F(EmulatedRecording, AStreamThatDoesNotComeBackIsSeen) {
    begin();
    fork();
    ASSERT_EQ(cudaMemsetAsync(to_, 0, bytes, other_), cudaSuccess);
    EXPECT_EQ(end(), cudaErrorStreamCaptureUnjoined);
    expect_failure("has not come back");
}

/// All that it recorded, not some of it.
TEST_F(EmulatedRecording, AStreamComesBackWithAllOfIt) {
    begin();
    fork();
    join();
    ASSERT_EQ(cudaMemsetAsync(to_, 0, bytes, other_), cudaSuccess);
    EXPECT_EQ(end(), cudaErrorStreamCaptureUnjoined);
    expect_failure("has not come back");
}

TEST_F(EmulatedRecording, WaitsStayWithinARecording) {
    ASSERT_EQ(cudaEventRecord(join_, other_), cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(other_), cudaSuccess);
    begin();
    EXPECT_EQ(cudaStreamWaitEvent(first_, join_, 0), cudaErrorStreamCaptureIsolation);
    expect_failure("what is not part of it");
    begin();
    ASSERT_EQ(cudaEventRecord(fork_, first_), cudaSuccess);
    ASSERT_EQ(end(), cudaSuccess);
    EXPECT_EQ(cudaStreamWaitEvent(other_, fork_, 0), cudaErrorCapturedEvent);
    expect_failure("has ended");
    begin();
    ASSERT_EQ(cudaEventRecord(fork_, first_), cudaSuccess);
    ASSERT_EQ(cudaStreamBeginCapture(other_, cudaStreamCaptureModeThreadLocal), cudaSuccess);
    EXPECT_EQ(cudaStreamWaitEvent(other_, fork_, 0), cudaErrorStreamCaptureMerge);
    cudaGraph_t graph = nullptr;
    EXPECT_EQ(cudaStreamEndCapture(other_, &graph), cudaErrorStreamCaptureInvalidated);
    expect_failure("waits for another one");
}

TEST_F(EmulatedRecording, EndsWhereItBegan) {
    cudaGraph_t graph = nullptr;
    begin();
    fork();
    EXPECT_EQ(cudaStreamEndCapture(other_, &graph), cudaErrorStreamCaptureUnmatched);
    expect_failure("began none");
    begin();
    std::thread([&] { EXPECT_EQ(cudaStreamEndCapture(first_, &graph), cudaErrorStreamCaptureWrongThread); }).join();
    expect_failure("another thread's");
}

/// What was right as it was recorded is looked at again whenever it runs.
TEST_F(EmulatedRecording, MemoryThatIsGoneIsSeenByTheReplay) {
    for (const bool kernel : {false, true}) {
        float* gone = nullptr;
        ASSERT_EQ(cudaMalloc(&gone, bytes), cudaSuccess);
        begin();
        if (kernel)
            wrong::launch_rotate(first_, wrong::Mistake::none, from_, gone, bytes);
        else
            ASSERT_EQ(cudaMemsetAsync(gone, 0, bytes, first_), cudaSuccess);
        ASSERT_EQ(end(), cudaSuccess);
        ASSERT_EQ(replay(), cudaSuccess);
        ASSERT_EQ(cudaFree(gone), cudaSuccess);
        EXPECT_EQ(replay(), cudaErrorLaunchFailure);
        expect_failure("which was released");
        ASSERT_EQ(cudaGraphExecDestroy(std::exchange(executable_, nullptr)), cudaSuccess);
    }
}

TEST_F(EmulatedRecording, AGraphIsNotLaunchedWhenItIsGone) {
    begin();
    ASSERT_EQ(end(), cudaSuccess);
    ASSERT_EQ(cudaGraphExecDestroy(executable_), cudaSuccess);
    EXPECT_EQ(cudaGraphLaunch(std::exchange(executable_, nullptr), first_), cudaErrorInvalidValue);
    expect_failure("was destroyed");
}

/// The device's own: what it would allocate within a recording, and what fails there, leave it as it was.
TEST_F(EmulatedRecording, ADeviceGivesUpARecordingThatFails) {
    kernels::cuda::CudaDevice device(0);
    auto* const memory = static_cast<float*>(device.allocate(bytes));
    const std::array<void*, 1> operands{memory};
    const kernels::Pointwise fill{kernels::PointwiseKind::fill, kernels::Dtype::fp32, 1, wrong::threads};
    const auto clear = [&] { device.launch(fill, operands, 0); };
    device.synchronize();
    EXPECT_THROW(static_cast<void>(device.record(0, clear)), kernels::DeviceError) << "scratch is not there yet";
    Machine::get().forget_failure();
    clear();
    EXPECT_THROW(static_cast<void>(device.record(0, [] { throw Error("no", "hint"); })), Error);
    device.synchronize();
    const auto graph = device.record(0, clear);
    graph->launch(0);
    device.synchronize();
    device.release(memory);
}

/// A stream's scratch may grow behind a recording, which goes on with what it had.
TEST_F(EmulatedRecording, ADeviceKeepsTheScratchOfItsGraphs) {
    using kernels::Pointwise;
    using kernels::PointwiseKind;
    constexpr std::uint64_t table_rows = 5'000'000;  // two words of scratch each: more than streams begin with
    kernels::cuda::CudaDevice device(0);
    const std::array<void*, 2> squares{device.allocate(bytes), device.allocate(sizeof(float))};
    const std::array<void*, 3> lookup{device.allocate(sizeof(std::int32_t)), device.allocate(sizeof(float)),
                                      device.allocate(table_rows * sizeof(float))};
    const auto clear = [&](void* memory, std::uint64_t count) {
        device.launch(Pointwise{PointwiseKind::fill, kernels::Dtype::fp32, 1, count}, std::array{memory}, 0);
    };
    const auto sum = [&] {
        device.launch(Pointwise{PointwiseKind::sum_of_squares, kernels::Dtype::fp32, 1, wrong::threads}, squares, 0);
    };
    clear(squares[0], wrong::threads);
    for (void* const memory : lookup) clear(memory, 1);
    sum();
    const auto graph = device.record(0, sum);
    kernels::Settings large;
    large.table_rows = table_rows;
    device.launch(Pointwise{PointwiseKind::embedding_backward, kernels::Dtype::fp32, 1, 1}, lookup, 0, large);
    graph->launch(0);
    device.synchronize();
    for (void* const memory : squares) device.release(memory);
    for (void* const memory : lookup) device.release(memory);
}

}  // namespace
}  // namespace orrery::emulated
