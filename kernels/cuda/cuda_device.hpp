// A GPU of NVIDIA: its memory, streams, events and kernels.
#pragma once

#include <cuda_runtime_api.h>

#include <chrono>
#include <memory>
#include <vector>

#include "kernels/cuda/cudnn_attention.hpp"
#include "kernels/cuda/gemm.hpp"
#include "kernels/cuda/nvml.hpp"
#include "kernels/cuda/place.hpp"
#include "kernels/device.hpp"

namespace orrery::kernels::cuda {

/// GPUs that this process may use. 0 when there is none, or no driver.
int gpus();

class CudaGraph;

class CudaDevice final : public Device {
public:
    /// ordinal: 0 is the first visible GPU. gemm_candidates: see GemmLibrary. cudnn: runs the attention that it takes,
    /// null: kernels of our own run all. Throws Error when there is no such GPU.
    explicit CudaDevice(int ordinal, int gemm_candidates = 1, const cudnn::Api* cudnn = nullptr);
    ~CudaDevice() override;
    CudaDevice(const CudaDevice&) = delete;
    CudaDevice& operator=(const CudaDevice&) = delete;

    [[nodiscard]] const DeviceFacts& facts() const override { return facts_; }
    [[nodiscard]] bool supports(const Kernel& kernel) const override;
    [[nodiscard]] void* allocate(std::uint64_t bytes) override;
    void release(void* memory) noexcept override;
    [[nodiscard]] void* allocate_host(std::uint64_t bytes) override;
    void release_host(void* memory) noexcept override;
    /// Operands must be at multiples of 16 bytes. Throws Error for settings that the kernel does not take.
    void launch(const Kernel& kernel, std::span<void* const> operands, Stream stream,
                const Settings& settings = {}) override;
    void copy(CopyKind kind, void* to, const void* from, std::uint64_t bytes, Stream stream) override;
    void copy_rows(void* to, std::uint64_t to_stride, const void* from, std::uint64_t from_stride, std::uint64_t bytes,
                   std::uint64_t rows, Stream stream) override;
    void wait(Stream waiting, Stream on) override;
    void synchronize() override;
    [[nodiscard]] Mark mark(Stream stream) override;
    [[nodiscard]] double seconds(Mark from, Mark to) override;
    void wait_for(Stream waiting, Mark mark) override;
    void finish(Mark mark) override;
    [[nodiscard]] double moment(Mark mark) override;
    void forget(std::span<const Mark> marks) override;
    [[nodiscard]] ClockReading clocks() override;
    void hold(Stream stream) override;
    void proceed() override;
    [[nodiscard]] double core_hertz_behind(Stream stream) override;
    [[nodiscard]] std::unique_ptr<Graph> record(Stream first, const std::function<void()>& work) override;

    /// 90: compute capability 9.0.
    [[nodiscard]] int capability() const { return capability_; }
    /// CUDA calls of this thread go to this GPU from now on. From any thread.
    void use() const;
    /// The CUDA stream behind a stream, for libraries that queue work of their own.
    [[nodiscard]] cudaStream_t stream(Stream stream);
    /// The recording under way, null: none. A library may have it call back at each launch.
    [[nodiscard]] CudaGraph* recording() const { return recording_; }

private:
    struct StreamState {
        cudaStream_t stream = nullptr;
        void* scratch = nullptr;
        std::uint64_t scratch_bytes = 0;
    };

    /// What a mark is reached by. Within a recording the order of its streams is another event's, which is gone when
    /// the recording ends; the first is then reached each time that the graph runs.
    struct MarkEvents {
        cudaEvent_t reached = nullptr, recorded = nullptr;
    };

    StreamState& state(Stream stream);
    Place place(Stream stream, std::uint64_t scratch_bytes);
    void attend(const Attention& attention, std::span<void* const> operands, Stream stream, const Settings& settings);
    void move_origin();
    struct HostWords;
    HostWords& host_words();

    int ordinal_, capability_ = 0;
    DeviceFacts facts_;
    std::unique_ptr<Nvml> nvml_;
    std::unique_ptr<GemmLibrary> gemm_;
    std::unique_ptr<CudnnAttention> cudnn_;  ///< null: none
    std::vector<StreamState> streams_;
    std::vector<MarkEvents> events_;  ///< by Mark
    std::vector<Mark> free_events_;
    CudaGraph* recording_ = nullptr;
    bool has_recorded_ = false;       ///< a graph may use scratch that it was recorded with
    std::vector<void*> old_scratch_;  ///< of streams that have a larger one since
    cudaEvent_t order_ = nullptr;     ///< of wait()
    cudaEvent_t origin_ = nullptr;    ///< of moment()
    double origin_seconds_ = 0;       ///< what moment() is there
    std::chrono::steady_clock::time_point anchored_;
    HostWords* host_words_ = nullptr;  ///< pinned
    std::uint32_t ticket_ = 0;         ///< of the latest hold()
};

}  // namespace orrery::kernels::cuda
