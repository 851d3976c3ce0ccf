// Work of a GPU that was recorded by stream capture.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>
#include <map>
#include <utility>

#include "kernels/cuda/cuda_device.hpp"

namespace orrery::kernels::cuda {

class CudaGraph final : public Graph {
public:
    /// The device must outlive it.
    explicit CudaGraph(CudaDevice& device) : device_(device) {}
    ~CudaGraph() override;
    CudaGraph(const CudaGraph&) = delete;
    CudaGraph& operator=(const CudaGraph&) = delete;

    /// What `work` queues on a stream of the device, and on those that wait for it. Once.
    void record(cudaStream_t first, const std::function<void()>& work);
    /// Called behind each launch, with its stream; of one `who`, which must outlive this, the first call is kept.
    void at_launch(const void* who, std::function<void(Stream)> call) { calls_.emplace(who, std::move(call)); }
    void launch(Stream stream) override;

private:
    CudaDevice& device_;
    cudaGraphExec_t executable_ = nullptr;
    std::map<const void*, std::function<void(Stream)>> calls_;
};

}  // namespace orrery::kernels::cuda
