// Races between the streams of a device, by what orders their work (vector clocks; Mattern 1989), and not by what
// happens to go wrong: a device and a communicator that pass everything on and remember which memory each piece of work
// reads and writes, and what it comes after.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "kernels/communicator.hpp"

namespace orrery::kernels {

/// What was queued on one device and may still run.
class Watch {
public:
    static constexpr std::size_t most_streams = 16;
    using Clock = std::array<std::uint64_t, most_streams>;  ///< pieces of work of each stream that came before

    struct Range {
        const std::byte* begin;
        std::uint64_t bytes;
        bool writes;
    };

    void queue(const std::string& what, Stream stream, const std::vector<Range>& ranges);
    [[nodiscard]] const Clock& now(Stream stream) const { return streams_.at(stream); }
    /// What is queued on the stream from now on comes after what had this clock.
    void after(Stream stream, const Clock& clock);
    /// All that was queued has ended, and comes before all that is queued from now on.
    void all_ended();
    /// What had this clock has ended.
    void ended(const Clock& clock);
    /// "forward of layer 3 on stream 1 and all_reduce on stream 4 touch the same memory": each once.
    [[nodiscard]] const std::set<std::string>& races() const { return races_; }

private:
    struct Access {
        std::string what;
        Stream stream;
        std::uint64_t tick;  ///< of its stream
        Range range;
    };
    std::array<Clock, most_streams> streams_{};
    Clock host_{};
    std::vector<Access> accesses_;
    std::set<std::string> races_;
};

class WatchedDevice final : public Device {
public:
    explicit WatchedDevice(Device& real) : real_(real) {}
    [[nodiscard]] Watch& watch() { return watch_; }
    /// The n-th wait_for, counted from 0, is not passed on.
    void forget_wait(std::uint64_t n) { forgotten_ = n; }
    [[nodiscard]] std::uint64_t waits() const { return waits_; }

    [[nodiscard]] const DeviceFacts& facts() const override { return real_.facts(); }
    [[nodiscard]] bool supports(const Kernel& kernel) const override { return real_.supports(kernel); }
    [[nodiscard]] void* allocate(std::uint64_t bytes) override { return real_.allocate(bytes); }
    void release(void* memory) noexcept override { real_.release(memory); }
    [[nodiscard]] void* allocate_host(std::uint64_t bytes) override { return real_.allocate_host(bytes); }
    void release_host(void* memory) noexcept override { real_.release_host(memory); }
    void launch(const Kernel& kernel, std::span<void* const> operands, Stream stream,
                const Settings& settings) override;
    void copy(CopyKind kind, void* to, const void* from, std::uint64_t bytes, Stream stream) override;
    void wait(Stream waiting, Stream on) override;
    void synchronize() override;
    [[nodiscard]] Mark mark(Stream stream) override;
    [[nodiscard]] double seconds(Mark from, Mark to) override { return real_.seconds(from, to); }
    void wait_for(Stream waiting, Mark mark) override;
    void finish(Mark mark) override;
    [[nodiscard]] double moment(Mark mark) override { return real_.moment(mark); }
    void forget(std::span<const Mark> marks) override { real_.forget(marks); }
    [[nodiscard]] ClockReading clocks() override { return real_.clocks(); }
    /// Races are found as it is recorded.
    [[nodiscard]] std::unique_ptr<Graph> record(Stream first, const std::function<void()>& work) override {
        return real_.record(first, work);
    }

private:
    Device& real_;
    Watch watch_;
    std::map<Mark, Watch::Clock> marks_;
    std::optional<std::uint64_t> forgotten_;
    std::uint64_t waits_ = 0;
};

class WatchedCommunicator final : public Communicator {
public:
    WatchedCommunicator(std::unique_ptr<Communicator> real, Watch& watch) : real_(std::move(real)), watch_(watch) {}
    [[nodiscard]] std::uint32_t rank() const override { return real_->rank(); }
    [[nodiscard]] std::uint32_t ranks() const override { return real_->ranks(); }
    [[nodiscard]] std::uint32_t nodes() const override { return real_->nodes(); }
    [[nodiscard]] std::string software() const override { return real_->software(); }
    void run(CollectiveKind kind, const void* send, void* receive, std::uint64_t bytes, Dtype dtype, Stream stream,
             Reduction reduction) override;
    void send(const void* memory, std::uint64_t bytes, std::uint32_t to, Stream stream) override;
    void receive(void* memory, std::uint64_t bytes, std::uint32_t from, Stream stream) override;
    [[nodiscard]] std::unique_ptr<Communicator> split(std::uint32_t color) override;
    void barrier() override { real_->barrier(); }
    [[nodiscard]] double maximum(double value) override { return real_->maximum(value); }
    [[nodiscard]] std::string from_first(const std::string& text) override { return real_->from_first(text); }
    [[nodiscard]] std::vector<std::string> texts(const std::string& text) override { return real_->texts(text); }
    void abort(const std::string& why) noexcept override { real_->abort(why); }

private:
    std::unique_ptr<Communicator> real_;
    Watch& watch_;
};

}  // namespace orrery::kernels
