#include "kernels/cuda/cuda_device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <new>
#include <utility>

#include "base/error.hpp"
#include "base/overloaded.hpp"
#include "kernels/cuda/attention.hpp"
#include "kernels/cuda/check.hpp"
#include "kernels/cuda/cuda_graph.hpp"
#include "kernels/cuda/pace.hpp"
#include "kernels/cuda/pointwise.hpp"

namespace orrery::kernels::cuda {

namespace {

/// "13.0" of CUDA's 13000.
std::string version_text(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

std::string software(const std::string& driver) {
    int runtime = 0;
    check(cudaRuntimeGetVersion(&runtime), "asking for the CUDA runtime's version");
    return fmt::format("driver {}, CUDA {}, cuBLASLt {}", driver.empty() ? "unknown" : driver, version_text(runtime),
                       GemmLibrary::version());
}

[[noreturn]] void refuse(const Kernel& kernel, std::string_view hint) {
    throw Error(fmt::format("{} is not implemented on GPUs yet", to_text(kernel)), std::string(hint));
}

/// Queries and keys lie in rows as long as each other, log-sum-exps one behind the other.
bool in_plain_rows(const Settings& settings) {
    return settings.key_stride == 0 && settings.dq_stride == 0 && settings.lse_stride == 0;
}

[[noreturn]] void refuse_image(const Kernel& kernel) {
    refuse(kernel, "convolutions, pooling and batch norms run on a CPU (--device cpu)");
}

std::string pci_of(int ordinal) {
    std::array<char, 32> text{};
    check(cudaDeviceGetPCIBusId(text.data(), static_cast<int>(text.size()), ordinal), "asking for the PCI address");
    return text.data();
}

}  // namespace

int gpus() {
    int count = 0;
    if (cudaGetDeviceCount(&count) == cudaSuccess) return count;
    static_cast<void>(cudaGetLastError());  // forget it: having no GPU is an answer
    return 0;
}

CudaDevice::CudaDevice(int ordinal, int gemm_candidates, const cudnn::Api* cudnn) : ordinal_(ordinal) {
    const int visible = gpus();
    if (ordinal < 0 || ordinal >= visible)
        throw Error(fmt::format("there is no GPU {}: {} visible", ordinal, visible),
                    "nvidia-smi lists the GPUs; CUDA_VISIBLE_DEVICES may hide them");
    use();
    cudaDeviceProp properties{};
    check(cudaGetDeviceProperties(&properties, ordinal), "asking for the GPU's properties");
    capability_ = 10 * properties.major + properties.minor;
    if (capability_ < 80)
        throw Error(fmt::format("{} has compute capability {}.{}", properties.name, properties.major, properties.minor),
                    "the kernels need 8.0 (A100) or newer");
    nvml_ = std::make_unique<Nvml>(pci_of(ordinal));
    facts_ = {"cuda",
              properties.name,
              software(nvml_->driver()),
              properties.totalGlobalMem,
              static_cast<std::uint64_t>(properties.l2CacheSize),
              static_cast<std::uint32_t>(properties.multiProcessorCount)};
    gemm_ = std::make_unique<GemmLibrary>(capability_, std::clamp(gemm_candidates, 1, 32));
    if (cudnn != nullptr) {
        cudnn_ = std::make_unique<CudnnAttention>(*cudnn, capability_);
        facts_.software += ", cuDNN " + cudnn_->version();
    }
    check(cudaEventCreateWithFlags(&order_, cudaEventDisableTiming), "creating an event");
    check(cudaEventCreate(&origin_), "creating an event");
    check(cudaEventRecord(origin_, state(0).stream), "recording an event");
    anchored_ = std::chrono::steady_clock::now();
}

CudaDevice::~CudaDevice() {
    cudaSetDevice(ordinal_);
    cudaDeviceSynchronize();
    gemm_.reset();
    cudnn_.reset();
    for (const MarkEvents& events : events_)
        for (const cudaEvent_t event : {events.reached, events.recorded})
            if (event != nullptr) cudaEventDestroy(event);
    for (void* const scratch : old_scratch_) cudaFree(scratch);
    cudaEventDestroy(order_);
    cudaEventDestroy(origin_);
    cudaFreeHost(host_words_);
    for (const StreamState& s : streams_) {
        cudaFree(s.scratch);
        if (s.stream != nullptr) cudaStreamDestroy(s.stream);
    }
}

void CudaDevice::use() const { check(cudaSetDevice(ordinal_), "selecting the GPU"); }

CudaDevice::StreamState& CudaDevice::state(Stream stream) {
    constexpr Stream most = 64;
    if (stream >= most) throw DeviceError(fmt::format("stream {} of at most {}", stream, most), "");
    if (stream >= streams_.size()) streams_.resize(stream + 1);
    StreamState& s = streams_[stream];
    if (s.stream == nullptr) check(cudaStreamCreateWithFlags(&s.stream, cudaStreamNonBlocking), "creating a stream");
    return s;
}

cudaStream_t CudaDevice::stream(Stream stream) {
    use();
    return state(stream).stream;
}

Place CudaDevice::place(Stream stream, std::uint64_t scratch_bytes) {
    StreamState& s = state(stream);
    const std::uint64_t wanted = std::max(scratch_bytes, least_scratch);
    if (s.scratch_bytes < wanted) {
        check(cudaStreamSynchronize(s.stream), "waiting for a stream");  // earlier kernels may still use the old one
        void* const old = std::exchange(s.scratch, nullptr);
        s.scratch_bytes = 0;
        if (has_recorded_)
            old_scratch_.push_back(old);
        else
            check(cudaFree(old), "releasing scratch memory");
        check(cudaMalloc(&s.scratch, wanted), fmt::format("allocating {} bytes of scratch", wanted));
        s.scratch_bytes = wanted;
    }
    return {s.stream, facts_.multiprocessors, s.scratch};
}

bool CudaDevice::supports(const Kernel& kernel) const {
    return std::visit(Overloaded{[&](const Gemm& gemm) { return gemm_->supports(gemm); },
                                 [](const Attention& attention) { return cuda::supports(attention); },
                                 [](const Pointwise& pointwise) { return cuda::supports(pointwise); },
                                 // Kernels over images are not implemented on GPUs yet.
                                 [](const Convolution&) { return false; }, [](const Pooling&) { return false; },
                                 [](const BatchNorm&) { return false; }, [](const StateSpace&) { return false; }},
                      kernel);
}

void* CudaDevice::allocate(std::uint64_t bytes) {
    use();
    void* memory = nullptr;
    check(cudaMalloc(&memory, std::max<std::uint64_t>(bytes, 1)), fmt::format("allocating {} bytes", bytes));
    return memory;
}

void CudaDevice::release(void* memory) noexcept {
    cudaSetDevice(ordinal_);
    cudaFree(memory);
}

void* CudaDevice::allocate_host(std::uint64_t bytes) {
    use();
    void* memory = nullptr;
    check(cudaMallocHost(&memory, std::max<std::uint64_t>(bytes, 1)),
          fmt::format("allocating {} bytes of pinned host memory", bytes));
    return memory;
}

void CudaDevice::release_host(void* memory) noexcept {
    cudaSetDevice(ordinal_);
    cudaFreeHost(memory);
}

void CudaDevice::launch(const Kernel& kernel, std::span<void* const> operands, Stream stream,
                        const Settings& settings) {
    use();
    for (const void* operand : operands)
        if (reinterpret_cast<std::uintptr_t>(operand) % 16 != 0)
            throw DeviceError(fmt::format("{}: an operand is not at a multiple of 16 bytes", to_text(kernel)),
                              "allocate() returns such memory; parts of it must begin at multiples too");
    std::visit(Overloaded{[&](const Gemm& gemm) { gemm_->launch(place(stream, 0), gemm, operands, settings); },
                          [&](const Attention& attention) { attend(attention, operands, stream, settings); },
                          [&](const Pointwise& pointwise) {
                              if (settings.turned != 0) refuse(pointwise, "whole heads rotate; parts of them on a CPU");
                              const std::uint64_t scratch = scratch_bytes(pointwise, settings, facts_.multiprocessors);
                              launch_pointwise(place(stream, scratch), pointwise, Operands(operands, settings));
                          },
                          [](const Convolution& convolution) { refuse_image(convolution); },
                          [](const Pooling& pooling) { refuse_image(pooling); },
                          [](const BatchNorm& norm) { refuse_image(norm); },
                          [](const StateSpace& scan) { refuse(scan, "scans are priced, not executed"); }},
               kernel);
}

void CudaDevice::attend(const Attention& attention, std::span<void* const> operands, Stream stream,
                        const Settings& settings) {
    const bool usual = settings.value_dim == 0 && settings.position_bias.values == nullptr;
    if (!attention.plain() || !usual || !in_plain_rows(settings))
        refuse(attention,
               "as many keys as queries and no window, values as wide as keys, and no biases of positions run; the "
               "others on a CPU");
    if (const CudnnAttention::Plan* const plan = cudnn_ ? cudnn_->plan_for(attention, settings) : nullptr)
        return cudnn_->launch(place(stream, CudnnAttention::scratch_bytes(*plan)), *plan, operands);
    launch_attention(place(stream, scratch_bytes(attention)), attention, operands, settings);
}

void CudaDevice::copy(CopyKind kind, void* to, const void* from, std::uint64_t bytes, Stream stream) {
    use();
    constexpr std::array kinds{cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice};
    check(cudaMemcpyAsync(to, from, bytes, kinds[static_cast<std::size_t>(kind)], state(stream).stream),
          fmt::format("copying {} bytes", bytes));
}

void CudaDevice::copy_rows(void* to, std::uint64_t to_stride, const void* from, std::uint64_t from_stride,
                           std::uint64_t bytes, std::uint64_t rows, Stream stream) {
    use();
    check(cudaMemcpy2DAsync(to, to_stride, from, from_stride, bytes, rows, cudaMemcpyDeviceToDevice,
                            state(stream).stream),
          fmt::format("copying {} rows of {} bytes", rows, bytes));
}

void CudaDevice::wait(Stream waiting, Stream on) {
    use();
    // The event's state is taken when the wait is queued, so that one event serves all waits.
    check(cudaEventRecord(order_, this->stream(on)), "recording an event");
    check(cudaStreamWaitEvent(this->stream(waiting), order_, 0), "queueing a wait");
}

void CudaDevice::synchronize() {
    use();
    check(cudaDeviceSynchronize(), "waiting for the GPU");
    if (std::chrono::steady_clock::now() - anchored_ > std::chrono::seconds(1)) move_origin();
}

/// CUDA tells times between events as a float of milliseconds, whose steps grow with the time: 4 us after a minute. So
/// the event that moments are counted from follows them, while nothing is in flight; marks before it stay readable.
void CudaDevice::move_origin() {
    cudaEvent_t next = nullptr;
    float milliseconds = 0.0f;
    check(cudaEventCreate(&next), "creating an event");
    check(cudaEventRecord(next, state(0).stream), "recording an event");
    check(cudaEventSynchronize(next), "waiting for an event");
    check(cudaEventElapsedTime(&milliseconds, origin_, next), "reading the time between two events");
    origin_seconds_ += milliseconds * 1e-3;
    cudaEventDestroy(std::exchange(origin_, next));
    anchored_ = std::chrono::steady_clock::now();
}

Device::Mark CudaDevice::mark(Stream stream) {
    use();
    if (free_events_.empty()) {
        MarkEvents events;
        check(cudaEventCreate(&events.reached), "creating an event");
        free_events_.push_back(events_.size());
        events_.push_back(events);
    }
    const Mark mark = free_events_.back();
    MarkEvents& events = events_[mark];
    const cudaStream_t on = state(stream).stream;
    if (recording_ != nullptr) {
        if (events.recorded == nullptr)
            check(cudaEventCreateWithFlags(&events.recorded, cudaEventDisableTiming), "creating an event");
        check(cudaEventRecordWithFlags(events.reached, on, cudaEventRecordExternal), "recording an event");
        check(cudaEventRecord(events.recorded, on), "recording an event");
    } else {
        check(cudaEventRecord(events.reached, on), "recording an event");
    }
    free_events_.pop_back();
    return mark;
}

double CudaDevice::seconds(Mark from, Mark to) {
    use();
    float milliseconds = 0.0f;
    check(cudaEventElapsedTime(&milliseconds, events_.at(from).reached, events_.at(to).reached),
          "reading the time between two marks");
    return milliseconds * 1e-3;
}

void CudaDevice::wait_for(Stream waiting, Mark mark) {
    use();
    const MarkEvents& events = events_.at(mark);
    check(cudaStreamWaitEvent(this->stream(waiting), recording_ != nullptr ? events.recorded : events.reached, 0),
          "queueing a wait");
}

void CudaDevice::finish(Mark mark) {
    use();
    check(cudaEventSynchronize(events_.at(mark).reached), "waiting for a mark");
}

double CudaDevice::moment(Mark mark) {
    use();
    float milliseconds = 0.0f;
    check(cudaEventElapsedTime(&milliseconds, origin_, events_.at(mark).reached), "reading the time of a mark");
    return origin_seconds_ + milliseconds * 1e-3;
}

void CudaDevice::forget(std::span<const Mark> marks) {
    free_events_.insert(free_events_.end(), marks.begin(), marks.end());
}

std::unique_ptr<Graph> CudaDevice::record(Stream first, const std::function<void()>& work) {
    auto graph = std::make_unique<CudaGraph>(*this);
    has_recorded_ = true;
    recording_ = graph.get();
    try {
        graph->record(this->stream(first), work);
    } catch (...) {
        recording_ = nullptr;
        throw;
    }
    recording_ = nullptr;
    return graph;
}

/// What host and GPU tell each other.
struct CudaDevice::HostWords {
    std::uint32_t go = 0;
    CountedCycles counted;
};

CudaDevice::HostWords& CudaDevice::host_words() {
    if (host_words_ == nullptr) host_words_ = new (allocate_host(sizeof(HostWords))) HostWords;
    return *host_words_;
}

void CudaDevice::hold(Stream stream) {
    HostWords& words = host_words();
    launch_wait_for_host(this->stream(stream), &words.go, ++ticket_);
}

void CudaDevice::proceed() {
    if (host_words_ != nullptr) std::atomic_ref(host_words_->go).store(ticket_);
}

double CudaDevice::core_hertz_behind(Stream stream) {
    HostWords& words = host_words();
    const cudaStream_t on = this->stream(stream);
    launch_count_cycles(on, &words.counted);
    check(cudaStreamSynchronize(on), "counting the core's clock");
    return static_cast<double>(words.counted.cycles) / static_cast<double>(words.counted.nanoseconds) * 1e9;
}

ClockReading CudaDevice::clocks() { return nvml_->read(); }

}  // namespace orrery::kernels::cuda
