// The CPU as a device: fp32 and bf16 kernels on one or several threads of this process.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "kernels/cpu/host.hpp"
#include "kernels/cpu/worker.hpp"
#include "kernels/device.hpp"

namespace orrery::kernels::cpu {

/// Stream 0 works in the calling thread, at once; each other stream is a thread. Every launch uses `threads` threads.
/// With one thread, marks read the CPU time of the stream's thread, and with several the wall's.
class CpuDevice final : public Device {
public:
    explicit CpuDevice(std::uint32_t threads);
    ~CpuDevice() override;

    [[nodiscard]] const DeviceFacts& facts() const override { return facts_; }
    [[nodiscard]] bool supports(const Kernel& kernel) const override;
    [[nodiscard]] void* allocate(std::uint64_t bytes) override;
    void release(void* memory) noexcept override;
    [[nodiscard]] void* allocate_host(std::uint64_t bytes) override { return allocate(bytes); }
    void release_host(void* memory) noexcept override { release(memory); }
    void launch(const Kernel& kernel, std::span<void* const> operands, Stream stream,
                const Settings& settings = {}) override;
    void copy(CopyKind kind, void* to, const void* from, std::uint64_t bytes, Stream stream) override;
    void copy_rows(void* to, std::uint64_t to_stride, const void* from, std::uint64_t from_stride, std::uint64_t bytes,
                   std::uint64_t rows, Stream stream) override;
    [[nodiscard]] bool streams_are_threads() const override { return true; }
    void run(std::function<void()> work, Stream stream) override;
    void wait(Stream waiting, Stream on) override;
    void synchronize() override;
    [[nodiscard]] Mark mark(Stream stream) override;
    [[nodiscard]] double seconds(Mark from, Mark to) override;
    void wait_for(Stream waiting, Mark mark) override;
    void finish(Mark mark) override;
    [[nodiscard]] double moment(Mark mark) override;
    void forget(std::span<const Mark> marks) override;
    [[nodiscard]] std::uint64_t disturbances() const override { return disturbances_; }
    [[nodiscard]] ClockReading clocks() override { return read_clocks(); }

private:
    /// The thread of a stream other than 0, started when it is first named.
    Worker& worker(Stream stream);
    /// Whether the stream's work is done by the caller, at once.
    [[nodiscard]] bool is_callers(Stream stream) { return stream == 0 || worker(stream).is_caller(); }
    void reach(Mark mark);

    DeviceFacts facts_;
    static constexpr Stream most_streams = 64;
    /// By stream. A place of its own for each: threads look for theirs while others are started.
    std::array<std::unique_ptr<Worker>, most_streams> workers_;
    std::mutex mutex_;  ///< guards moments_, which streams write
    struct Reached {
        Moment moment;    ///< of the clock that seconds() reads
        double wall = 0;  ///< CLOCK_MONOTONIC
    };
    [[nodiscard]] const Reached& found(Mark mark) const;
    std::unordered_map<Mark, Reached> moments_;
    std::condition_variable reached_;
    std::atomic<Mark> next_mark_ = 0;
    std::atomic<std::uint64_t> disturbances_ = 0;
};

}  // namespace orrery::kernels::cpu
