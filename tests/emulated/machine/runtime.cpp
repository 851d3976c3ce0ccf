// The CUDA runtime's functions over the emulated machine.
#include "tests/emulated/machine/runtime.hpp"

#include <array>
#include <cstdio>
#include <cstring>
#include <set>
#include <utility>
#include <vector>

#include "tests/emulated/machine/graphs.hpp"
#include "tests/emulated/machine/machine.hpp"
#include "tests/emulated/machine/memory.hpp"

namespace emulated = orrery::emulated;
using emulated::Kind;
using emulated::Machine;

namespace orrery::emulated {

namespace {
thread_local int gpu = 0;
thread_local cudaError_t last = cudaSuccess;
}  // namespace

int current_gpu() { return gpu; }
void remember(cudaError_t status) { last = status; }

cudaError_t told(cudaError_t status) {
    last = status;
    return status;
}

cudaError_t misuse(cudaError_t status, const std::string& what) {
    Machine::get().fail("misuse: " + what);
    return told(status);
}

void refuse_launch(const std::string& why) {
    std::fprintf(stderr, "emulated GPU: refuses a launch: %s\n", why.c_str());
    remember(cudaErrorInvalidConfiguration);
}

}  // namespace orrery::emulated

namespace {

using emulated::told;

/// A GPU in error answers everything with it.
cudaError_t told(bool well) { return well ? cudaSuccess : told(cudaErrorLaunchFailure); }

cudaError_t misuse(const std::string& what) { return emulated::misuse(cudaErrorInvalidValue, what); }

/// A call that waits or allocates, by a thread that records or on a stream that does.
std::optional<cudaError_t> within_recording(const char* call, const emulated::Stream* stream = nullptr) {
    if (!emulated::records(stream)) return std::nullopt;
    return emulated::misuse(cudaErrorStreamCaptureUnsupported, std::string(call) + " while a graph is recorded");
}

/// A question about an event that was recorded into a graph: it is a place in that graph, and no moment.
std::optional<cudaError_t> of_recording(const char* call, const emulated::Event* event) {
    if (event->capture == nullptr) return std::nullopt;
    return emulated::misuse(cudaErrorCapturedEvent, std::string(call) + " of an event that a recording has");
}

std::set<const emulated::Event*>& living_events() {
    static std::set<const emulated::Event*> all;
    return all;
}

bool is_device(const void* memory, std::size_t bytes) { return emulated::holds(memory, bytes, Kind::device); }

/// What is wrong with a copy; "" when nothing is.
std::string wrong_copy(const void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
    const bool to_device = kind != cudaMemcpyDeviceToHost, from_device = kind != cudaMemcpyHostToDevice;
    const auto wrong = [bytes](const void* memory, bool device) {
        const auto piece = emulated::piece_at(memory);
        if (device) return !is_device(memory, bytes);
        return piece && !emulated::holds(memory, bytes, Kind::pinned);
    };
    if (bytes == 0) return "";
    if (wrong(to, to_device)) return "copies " + std::to_string(bytes) + " bytes to " + emulated::describe(to);
    if (wrong(from, from_device)) return "copies " + std::to_string(bytes) + " bytes from " + emulated::describe(from);
    return "";
}

/// What was right when it was recorded may not be so when it runs.
std::function<void()> copying(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
    return [=] {
        if (const std::string wrong = wrong_copy(to, from, bytes, kind); !wrong.empty())
            return Machine::get().fail("misuse: " + wrong);
        std::memcpy(to, from, bytes);
    };
}

constexpr std::array<std::pair<const char*, const char*>, 19> errors{{
    {"cudaSuccess", "no error"},
    {"cudaErrorInvalidValue", "invalid argument"},
    {"cudaErrorMemoryAllocation", "out of memory"},
    {"cudaErrorInvalidConfiguration", "invalid configuration argument"},
    {"cudaErrorInsufficientDriver", "the driver is older than the runtime"},
    {"cudaErrorNoDevice", "no GPU"},
    {"cudaErrorInvalidDevice", "invalid device ordinal"},
    {"cudaErrorNoKernelImageForDevice", "no kernel image for the device"},
    {"cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {"cudaErrorNotReady", "not ready"},
    {"cudaErrorLaunchFailure", "unspecified launch failure"},
    {"cudaErrorStreamCaptureUnsupported", "operation not permitted when stream is capturing"},
    {"cudaErrorStreamCaptureInvalidated", "operation failed due to a previous error during capture"},
    {"cudaErrorStreamCaptureMerge", "operation would result in a merge of separate capture sequences"},
    {"cudaErrorStreamCaptureUnmatched", "capture was not ended in the same stream as it began"},
    {"cudaErrorStreamCaptureUnjoined", "capturing stream has unjoined work"},
    {"cudaErrorStreamCaptureIsolation", "dependency created on uncaptured work in another stream"},
    {"cudaErrorCapturedEvent", "operation not permitted on an event last recorded in a capturing stream"},
    {"cudaErrorStreamCaptureWrongThread", "attempt to terminate a thread-local capture sequence from another thread"},
}};

}  // namespace

cudaError_t cudaGetLastError() { return std::exchange(emulated::last, cudaSuccess); }
const char* cudaGetErrorString(cudaError_t status) { return errors.at(status).second; }
const char* cudaGetErrorName(cudaError_t status) { return errors.at(status).first; }

cudaError_t cudaRuntimeGetVersion(int* version) {
    *version = 13000;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int* count) {
    *count = Machine::get().gpus();
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int ordinal) {
    if (ordinal < 0 || ordinal >= emulated::most_gpus) return told(cudaErrorInvalidDevice);
    emulated::gpu = ordinal;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
    *properties = {
        "emulated GPU",        emulated::memory_bytes,   emulated::capability_major, emulated::capability_minor,
        emulated::cache_bytes, emulated::multiprocessors};
    return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char* text, int length, int ordinal) {
    std::snprintf(text, static_cast<std::size_t>(length), "0000:%02x:00.0", ordinal);
    return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize() {
    Machine& machine = Machine::get();
    auto lock = machine.lock();
    if (const auto refused = within_recording("cudaDeviceSynchronize")) return *refused;
    const int gpu = emulated::gpu;
    return told(machine.wait(lock, [&machine, gpu] { return machine.idle(gpu); }));
}

cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
    const auto lock = Machine::get().lock();
    if (const auto refused = within_recording("cudaMalloc")) return *refused;
    *memory = emulated::allocate(bytes, Kind::device, emulated::gpu);
    return *memory == nullptr ? told(cudaErrorMemoryAllocation) : cudaSuccess;
}

/// Waits for all work of the GPU, as CUDA's does.
cudaError_t cudaFree(void* memory) {
    if (memory == nullptr) return cudaSuccess;
    Machine& machine = Machine::get();
    auto lock = machine.lock();
    if (const auto refused = within_recording("cudaFree")) return *refused;
    const auto piece = emulated::piece_at(memory);
    const int gpu = piece ? piece->gpu : emulated::gpu;
    const bool well = machine.wait(lock, [&machine, gpu] { return machine.idle(gpu); });
    if (const auto wrong = emulated::release(memory, Kind::device)) return misuse("cudaFree " + *wrong);
    return told(well);
}

cudaError_t cudaMallocHost(void** memory, std::size_t bytes) {
    const auto lock = Machine::get().lock();
    if (const auto refused = within_recording("cudaMallocHost")) return *refused;
    *memory = emulated::allocate(bytes, Kind::pinned, emulated::gpu);
    return *memory == nullptr ? told(cudaErrorMemoryAllocation) : cudaSuccess;
}

cudaError_t cudaFreeHost(void* memory) {
    if (memory == nullptr) return cudaSuccess;
    Machine& machine = Machine::get();
    auto lock = machine.lock();
    if (const auto refused = within_recording("cudaFreeHost")) return *refused;
    const int gpu = emulated::gpu;
    const bool well = machine.wait(lock, [&machine, gpu] { return machine.idle(gpu); });
    if (const auto wrong = emulated::release(memory, Kind::pinned)) return misuse("cudaFreeHost " + *wrong);
    return told(well);
}

cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
    const auto lock = Machine::get().lock();
    if (const auto refused = within_recording("cudaMemcpy")) return *refused;
    if (const std::string wrong = wrong_copy(to, from, bytes, kind); !wrong.empty()) return misuse(wrong);
    std::memcpy(to, from, bytes);
    return cudaSuccess;
}

/// Memory of the host that is not pinned is read as the call is made, and written before it returns.
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
    Machine& machine = Machine::get();
    auto lock = machine.lock();
    if (!machine.knows(stream)) return told(cudaErrorInvalidResourceHandle);
    if (const std::string wrong = wrong_copy(to, from, bytes, kind); !wrong.empty()) return misuse(wrong);
    const auto pinned = [bytes](const void* memory) { return emulated::holds(memory, bytes, Kind::pinned); };
    const bool pageable =
        (kind == cudaMemcpyHostToDevice && !pinned(from)) || (kind == cudaMemcpyDeviceToHost && !pinned(to));
    if (pageable && stream->capture != nullptr)
        return emulated::misuse(cudaErrorStreamCaptureUnsupported, "records a copy of pageable memory");
    if (pageable && kind == cudaMemcpyHostToDevice) {
        const auto* const begin = static_cast<const std::byte*>(from);
        auto taken = std::make_shared<std::vector<std::byte>>(begin, begin + bytes);
        machine.queue(stream, {"copy", [to, taken] { std::memcpy(to, taken->data(), taken->size()); }});
        return cudaSuccess;
    }
    machine.queue(stream, {"copy", copying(to, from, bytes, kind)});
    if (!pageable) return cudaSuccess;
    return told(machine.wait(lock, [stream] { return stream->queue.empty(); }));
}

/// Between places of a device alone.
cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_stride, const void* from, std::size_t from_stride,
                              std::size_t bytes, std::size_t rows, cudaMemcpyKind kind, cudaStream_t stream) {
    Machine& machine = Machine::get();
    const auto lock = machine.lock();
    if (!machine.knows(stream)) return told(cudaErrorInvalidResourceHandle);
    if (bytes > to_stride || bytes > from_stride) return misuse("copies rows wider than their distance");
    if (kind != cudaMemcpyDeviceToDevice) return misuse("copies rows to or from the host");
    auto* const begin = static_cast<std::byte*>(to);
    const auto* const source = static_cast<const std::byte*>(from);
    for (std::size_t row = 0; row < rows; ++row)
        if (const auto wrong = wrong_copy(begin + row * to_stride, source + row * from_stride, bytes, kind);
            !wrong.empty())
            return misuse(wrong);
    machine.queue(stream, {"copy of rows", [=] {
                               for (std::size_t row = 0; row < rows; ++row)
                                   copying(begin + row * to_stride, source + row * from_stride, bytes, kind)();
                           }});
    return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void* memory, int value, std::size_t bytes, cudaStream_t stream) {
    Machine& machine = Machine::get();
    const auto lock = machine.lock();
    if (!machine.knows(stream)) return told(cudaErrorInvalidResourceHandle);
    if (!is_device(memory, bytes)) return misuse("clears " + emulated::describe(memory));
    machine.queue(stream, {"memset", [memory, value, bytes, &machine] {
                               if (!is_device(memory, bytes))
                                   return machine.fail("misuse: clears " + emulated::describe(memory));
                               std::memset(memory, value, bytes);
                           }});
    return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
    const auto lock = Machine::get().lock();
    *stream = Machine::get().make_stream(emulated::gpu);
    return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    const cudaError_t status = cudaStreamSynchronize(stream);
    const auto lock = Machine::get().lock();
    Machine::get().drop(stream);
    return status;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    Machine& machine = Machine::get();
    auto lock = machine.lock();
    if (const auto refused = within_recording("cudaStreamSynchronize", stream)) return *refused;
    if (!machine.knows(stream)) return told(cudaErrorInvalidResourceHandle);
    return told(machine.wait(lock, [stream] { return stream->queue.empty(); }));
}

cudaError_t cudaEventCreate(cudaEvent_t* event) { return cudaEventCreateWithFlags(event, 0); }

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
    const auto lock = Machine::get().lock();
    *event = new emulated::Event{(flags & cudaEventDisableTiming) == 0};
    living_events().insert(*event);
    return cudaSuccess;
}

/// Work that is queued may still reach it: it goes when all has.
cudaError_t cudaEventDestroy(cudaEvent_t event) {
    Machine& machine = Machine::get();
    auto lock = machine.lock();
    const bool well = machine.wait(lock, [event] { return event->reached == event->recorded; });
    living_events().erase(event);
    delete event;
    return told(well);
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    Machine& machine = Machine::get();
    const auto lock = machine.lock();
    if (!machine.knows(stream)) return told(cudaErrorInvalidResourceHandle);
    event->capture = stream->capture;
    event->behind = stream->tail;
    if (stream->capture != nullptr) return cudaSuccess;
    const std::uint64_t number = ++event->recorded;
    machine.queue(stream, {"event", [event, number, &machine] {
                               event->reached = std::max(event->reached, number);
                               event->nanoseconds = machine.nanoseconds();
                           }});
    return told(!machine.failure());
}

/// A node of its own, which reaches the event whenever the graph runs.
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags) {
    Machine& machine = Machine::get();
    const auto lock = machine.lock();
    if (!machine.knows(stream)) return told(cudaErrorInvalidResourceHandle);
    if (stream->capture == nullptr || flags != cudaEventRecordExternal) return cudaEventRecord(event, stream);
    event->capture = nullptr;
    machine.queue(stream, {"event", [event, &machine] {
                               if (!living_events().contains(event))
                                   return machine.fail("misuse: a graph records an event that was destroyed");
                               event->reached = ++event->recorded;
                               event->nanoseconds = machine.nanoseconds();
                           }});
    return cudaSuccess;
}

namespace {

/// The stream joins the recording that the event is of, or goes on behind it.
cudaError_t wait_in_recording(emulated::Stream& stream, const emulated::Event& event) {
    if (event.capture == nullptr)
        return emulated::misuse(cudaErrorStreamCaptureIsolation, "a recording waits for what is not part of it");
    if (event.capture->ended)
        return emulated::misuse(cudaErrorCapturedEvent, "a wait for an event of a recording that has ended");
    if (stream.capture != nullptr && stream.capture != event.capture)
        return emulated::misuse(cudaErrorStreamCaptureMerge, "a recording waits for another one");
    stream.capture = event.capture;
    stream.capture->join(stream, event.behind);
    return cudaSuccess;
}

}  // namespace

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
    Machine& machine = Machine::get();
    const auto lock = machine.lock();
    if (!machine.knows(stream)) return told(cudaErrorInvalidResourceHandle);
    if (event->capture != nullptr || stream->capture != nullptr) return wait_in_recording(*stream, *event);
    const std::uint64_t number = event->recorded;
    machine.queue(stream, {"wait", [] {}, [event, number] { return event->reached >= number; }});
    return told(!machine.failure());
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
    const auto lock = Machine::get().lock();
    if (const auto refused = within_recording("cudaEventQuery")) return *refused;
    if (const auto refused = of_recording("cudaEventQuery", event)) return *refused;
    if (Machine::get().failure()) return told(cudaErrorLaunchFailure);
    return event->reached == event->recorded ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    Machine& machine = Machine::get();
    auto lock = machine.lock();
    if (const auto refused = within_recording("cudaEventSynchronize")) return *refused;
    if (const auto refused = of_recording("cudaEventSynchronize", event)) return *refused;
    return told(machine.wait(lock, [event] { return event->reached == event->recorded; }));
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t from, cudaEvent_t to) {
    const auto lock = Machine::get().lock();
    for (const emulated::Event* event : {from, to})
        if (const auto refused = of_recording("cudaEventElapsedTime", event)) return *refused;
    if (!from->timed || !to->timed || from->recorded == 0 || to->recorded == 0)
        return told(cudaErrorInvalidResourceHandle);
    if (from->reached != from->recorded || to->reached != to->recorded) return told(cudaErrorNotReady);
    const auto apart = static_cast<std::int64_t>(to->nanoseconds) - static_cast<std::int64_t>(from->nanoseconds);
    *milliseconds = static_cast<float>(static_cast<double>(apart) * 1e-6);
    return cudaSuccess;
}

cudaError_t orrery_emulated_allow_shared(std::size_t bytes) {
    const auto lock = Machine::get().lock();
    std::size_t& allowed = Machine::get().allowed_shared;
    allowed = std::max(allowed, bytes);
    return cudaSuccess;
}
