// Device time of work on a stream, by two events. Waits for the work.
#pragma once

#include "kernels/cuda/check.hpp"

namespace orrery::kernels::cuda {

class Timer {
public:
    Timer() {
        check(cudaEventCreate(&begin_), "creating an event");
        check(cudaEventCreate(&end_), "creating an event");
    }
    ~Timer() {
        cudaEventDestroy(begin_);
        cudaEventDestroy(end_);
    }
    Timer(const Timer&) = delete;
    Timer& operator=(const Timer&) = delete;

    template <class Work>
    double seconds(cudaStream_t stream, Work work) const {
        check(cudaEventRecord(begin_, stream), "recording an event");
        work();
        check(cudaEventRecord(end_, stream), "recording an event");
        check(cudaEventSynchronize(end_), "waiting for an event");
        float milliseconds = 0.0f;
        check(cudaEventElapsedTime(&milliseconds, begin_, end_), "reading an event");
        return milliseconds * 1e-3;
    }

private:
    cudaEvent_t begin_ = nullptr, end_ = nullptr;
};

}  // namespace orrery::kernels::cuda
