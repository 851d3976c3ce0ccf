// The one seam to real hardware: a device holds memory, runs kernels of the vocabulary on streams, and tells time.
// kernels/cpu and kernels/cuda implement it; calibration and real execution see nothing else of a device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/kernel.hpp"
#include "kernels/settings.hpp"

namespace orrery::kernels {

struct DeviceFacts {
    std::string kind = {};      ///< "cuda", "cpu"
    std::string name = {};      ///< "NVIDIA H100 80GB HBM3", "AMD EPYC 7763 64-Core Processor"
    std::string software = {};  ///< driver, toolkit and libraries with versions, one line
    std::uint64_t memory_bytes = 0;
    std::uint64_t cache_bytes = 0;      ///< last level: what a buffer must exceed to be cold
    std::uint32_t multiprocessors = 0;  ///< streaming multiprocessors; threads used on a CPU
};

/// The reason of a device that draws as much power as it may.
inline constexpr std::string_view power_cap = "power cap";

/// Clocks at one moment (NVML on GPUs, /proc on CPUs). Zero: the device does not tell.
struct ClockReading {
    double core_hertz = 0, memory_hertz = 0;
    double watts = 0, celsius = 0;
    /// Reasons why the clock is held down now: power_cap, "hardware thermal"; empty: none.
    std::vector<std::string> throttled = {};
};

/// Work on one stream runs in order; different streams run at once. Stream 0 always exists.
using Stream = std::uint32_t;

enum class CopyKind : std::uint8_t { host_to_device, device_to_host, device_to_device };
/// "host_to_device", "device_to_host", "device_to_device".
std::string_view name(CopyKind kind);
/// Throws Error for an unknown name.
CopyKind copy_from(std::string_view name);

/// Thrown when the device itself fails (out of memory, a launch error, a lost GPU): exit code 3. Bad input stays Error.
class DeviceError : public std::exception {
public:
    DeviceError(std::string message, std::string hint);
    [[nodiscard]] const char* what() const noexcept override { return text_.c_str(); }

private:
    std::string text_;
};

/// Work that a device recorded, with what each piece of it waits for, and queues again as one.
class Graph {
public:
    virtual ~Graph() = default;
    /// Queues all of it on a stream. Marks that were set while it was recorded are reached anew.
    virtual void launch(Stream stream) = 0;
};

/// Thread-compatible; where streams are threads, each of these may call for its own stream meanwhile. Every call may
/// throw DeviceError.
class Device {
public:
    virtual ~Device() = default;

    [[nodiscard]] virtual const DeviceFacts& facts() const = 0;
    /// Whether launch() can run it (formats, limits of shapes). operands() of the kernel must fit in memory too.
    [[nodiscard]] virtual bool supports(const Kernel& kernel) const = 0;

    /// Device memory, aligned to 256 bytes.
    [[nodiscard]] virtual void* allocate(std::uint64_t bytes) = 0;
    virtual void release(void* memory) noexcept = 0;
    /// Host memory that copies run fastest from (pinned on a GPU).
    [[nodiscard]] virtual void* allocate_host(std::uint64_t bytes) = 0;
    virtual void release_host(void* memory) noexcept = 0;

    /// Queues the kernel on a stream. operands: device memory, one pointer for each of operands(kernel) and in its
    /// order. Returns before the work is done, on a GPU; a CPU may do it at once. An output of a kernel that works
    /// element by element (add, scale, cross entropy, ...) may be one of its inputs.
    virtual void launch(const Kernel& kernel, std::span<void* const> operands, Stream stream,
                        const Settings& settings = {}) = 0;
    virtual void copy(CopyKind kind, void* to, const void* from, std::uint64_t bytes, Stream stream) = 0;
    /// Rows of `bytes` from device memory to device memory; strides: bytes from one row to the next.
    virtual void copy_rows(void* to, std::uint64_t to_stride, const void* from, std::uint64_t from_stride,
                           std::uint64_t bytes, std::uint64_t rows, Stream stream);
    /// Whether streams are threads of the host (a CPU). What such a thread gives its own stream, by any call, is done
    /// at once: a thread may work through a whole list by itself.
    [[nodiscard]] virtual bool streams_are_threads() const { return false; }
    /// Queues host work on a stream of such a device: how MPI takes part in the order of a stream. Throws Error on a
    /// device that has streams of its own.
    virtual void run(std::function<void()> work, Stream stream);
    /// Work queued on `waiting` from now on begins after all that is queued on `on` so far.
    virtual void wait(Stream waiting, Stream on) = 0;
    /// Blocks until everything queued has ended.
    virtual void synchronize() = 0;

    /// A moment on a stream: reached when the work queued before it has ended.
    using Mark = std::uint64_t;
    [[nodiscard]] virtual Mark mark(Stream stream) = 0;
    /// Seconds of device time between two marks of one stream, after synchronize(): device events on a GPU, the
    /// stream's thread CPU time on a CPU (facts().kind "cpu" with one thread) or wall time (several threads). Keeps
    /// both marks.
    [[nodiscard]] virtual double seconds(Mark from, Mark to) = 0;
    /// Work queued on `waiting` from now on begins after the moment, which was marked before.
    virtual void wait_for(Stream waiting, Mark mark) = 0;
    /// Blocks the caller until the moment is reached.
    virtual void finish(Mark mark) = 0;
    /// Wall seconds from one origin for all marks of this device; the moment has been reached. Keeps the mark.
    [[nodiscard]] virtual double moment(Mark mark) = 0;
    /// Every mark is to be forgotten once.
    virtual void forget(std::span<const Mark> marks) = 0;

    /// Calls `work`. What it queues on `first`, and on streams that wait for what it queued, is recorded and does not
    /// begin; in the end `first` must wait for all of it. `work` may wait for nothing itself, and allocate nothing, so
    /// every kernel must have run once on its stream before. Memory is used where it lies now: it must stay as long as
    /// the graph does, and so must marks that are set meanwhile, which are forgotten behind it. Throws Error on a
    /// device that cannot.
    [[nodiscard]] virtual std::unique_ptr<Graph> record(Stream first, const std::function<void()>& work);

    /// Work queued on a stream from now on begins when proceed() is called, so that a whole list of it lies ready and
    /// no time passes between a mark and the kernel behind it. For lists of a few hundred kernels, each of which ran
    /// before (what a first launch allocates would wait for the stream); after a second the stream goes on by itself.
    /// A device that begins at once does.
    virtual void hold(Stream stream);
    virtual void proceed() {}
    /// Hertz of the core's clock, counted on the device behind the work queued on the stream, when it has just ended:
    /// the clock under that load. Waits for it. 0: the device does not tell.
    [[nodiscard]] virtual double core_hertz_behind(Stream stream);

    /// Involuntary context switches between the two marks that seconds() took last: a time with one is no good sample
    /// of a short operation. 0 where work does not run on the host.
    [[nodiscard]] virtual std::uint64_t disturbances() const { return 0; }

    [[nodiscard]] virtual ClockReading clocks() = 0;
};

/// "cpu" (one thread), "cpu:4" (four threads), "cuda" or "cuda:1". Throws Error (message names what this build
/// offers) for an unknown name or a kind that this build was made without.
std::unique_ptr<Device> open_device(std::string_view name);

/// Kinds of device that this build has: {"cpu"} or {"cpu", "cuda"}.
std::span<const std::string_view> device_kinds();

}  // namespace orrery::kernels
