// The emulated host's GPUs: their streams are queues, and nothing that a test may not rely on is ever in order. What is
// ready runs when some thread waits, or as it is queued, one piece at a time, drawn at random from all streams of all
// GPUs: every run by another seed is another interleaving that CUDA allows.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "tests/emulated/machine/device.hpp"

namespace orrery::emulated {

/// Of each GPU: as a small part of an H100 (hardware/gpu.cpp), so that grids stay small; multiprocessors are few.
inline constexpr std::size_t memory_bytes = std::size_t{8} << 30;
inline constexpr int multiprocessors = 4, cache_bytes = 1 << 20, capability_major = 9, capability_minor = 0;
inline constexpr int most_gpus = 8;

/// What a test asks of the machine. Not while work is queued.
struct Setup {
    int gpus = 1;
    std::uint64_t seed = 1;
    /// How many pieces of work are run as one is queued, on average: 0: all wait until a thread of the host waits.
    double eagerness = 0.5;
};
void set_up(const Setup& setup);
/// "seed 7, eagerness 0.5": for messages.
std::string describe_setup();

/// A launch that CUDA would refuse: said on stderr, and by the next cudaGetLastError().
void refuse_launch(const std::string& why);

struct Capture;
class GraphRun;

struct Event {
    bool timed = true;
    std::uint64_t recorded = 0, reached = 0;  ///< how often
    std::uint64_t nanoseconds = 0;            ///< when it was reached last
    /// Where it was recorded last within a recording: behind which of its nodes.
    std::shared_ptr<Capture> capture = nullptr;
    std::vector<std::size_t> behind = {};
};

/// A piece of work on a stream.
struct Work {
    std::string name;
    std::function<void()> run;
    /// Whether it can run; asked when all before it on its stream is done. None: it can.
    std::function<bool()> ready = nullptr;
    /// Called as it is queued, and where it was recorded, at every launch: in the order of the recording.
    std::function<void()> launched = nullptr;
    /// Of a graph's launch: its nodes run when the stream has come to it.
    std::shared_ptr<GraphRun> graph = nullptr;
};

struct Stream {
    int gpu = 0;
    std::deque<Work> queue;
    /// While it records: what it is given comes behind these nodes.
    std::shared_ptr<Capture> capture = nullptr;
    std::vector<std::size_t> tail = {};
};

class Machine {
public:
    static Machine& get();

    /// Held by every function of the libraries while it works, and by kernels.
    std::unique_lock<std::recursive_mutex> lock() { return std::unique_lock(mutex_); }

    [[nodiscard]] int gpus() const { return setup_.gpus; }
    Stream* make_stream(int gpu);
    /// What was queued on it must be done.
    void drop(Stream* stream);
    [[nodiscard]] bool knows(const Stream* stream) const;

    /// Or records it, where the stream does.
    void queue(Stream* stream, Work work);
    /// Runs what is ready until `done`. Other threads of the host may queue meanwhile. False: a GPU is in error.
    bool wait(std::unique_lock<std::recursive_mutex>& lock, const std::function<bool()>& done);
    [[nodiscard]] bool idle(int gpu) const;

    /// Ends everything that is queued: a kernel faulted, or a library was misused. Said on stderr at once.
    void fail(const std::string& what);
    /// What went wrong first; none when all is well.
    [[nodiscard]] const std::optional<std::string>& failure() const { return failure_; }
    void forget_failure() { failure_.reset(); }

    std::mt19937_64& random() { return random_; }
    [[nodiscard]] std::uint64_t nanoseconds();
    std::uint64_t launches = 0;  ///< of kernels, so far
    std::size_t allowed_shared = 0;

private:
    friend void set_up(const Setup& setup);
    friend std::string describe_setup();
    bool run_one();
    void run(const Work& work);

    std::recursive_mutex mutex_;
    std::condition_variable_any changed_;
    Setup setup_;
    std::mt19937_64 random_{1};
    std::vector<std::unique_ptr<Stream>> streams_;
    std::optional<std::string> failure_;
    std::uint64_t looks_ = 0;  ///< at the clock: each takes a microsecond of the GPU's time
    bool running_ = false;     ///< a piece of work
};

}  // namespace orrery::emulated
