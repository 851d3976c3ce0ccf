#include "kernels/cuda/cuda_graph.hpp"

#include "kernels/cuda/check.hpp"

namespace orrery::kernels::cuda {

namespace {

/// A stream that records until this is gone, however it goes: a capture that nobody ends keeps its streams.
class Capture {
public:
    /// Other threads may go on asking CUDA for what a capture does not allow this one.
    explicit Capture(cudaStream_t stream) : stream_(stream) {
        check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "beginning to record a graph");
    }
    ~Capture() {
        if (stream_ != nullptr) {
            cudaStreamEndCapture(stream_, &graph_);
            static_cast<void>(cudaGetLastError());  // what broke it has been told, and is no later launch's
        }
        if (graph_ != nullptr) cudaGraphDestroy(graph_);
    }
    Capture(const Capture&) = delete;
    Capture& operator=(const Capture&) = delete;

    /// Lives as long as this does.
    cudaGraph_t end() {
        const cudaError_t status = cudaStreamEndCapture(stream_, &graph_);
        stream_ = nullptr;
        check(status, "recording a graph");
        return graph_;
    }

private:
    cudaStream_t stream_;
    cudaGraph_t graph_ = nullptr;
};

}  // namespace

void CudaGraph::record(cudaStream_t first, const std::function<void()>& work) {
    Capture capture(first);
    work();
    check(cudaGraphInstantiateWithFlags(&executable_, capture.end(), 0), "making a graph executable");
}

CudaGraph::~CudaGraph() {
    if (executable_ != nullptr) cudaGraphExecDestroy(executable_);
}

void CudaGraph::launch(Stream stream) {
    check(cudaGraphLaunch(executable_, device_.stream(stream)), "launching a graph");
    for (const auto& [who, call] : calls_) call(stream);
}

}  // namespace orrery::kernels::cuda
