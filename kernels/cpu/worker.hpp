// Streams of the CPU device: stream 0 is the calling thread, every other one a thread of its own.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace orrery::kernels::cpu {

/// Runs tasks in order on one thread.
class Worker {
public:
    Worker();
    ~Worker();  ///< after all its tasks
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;

    void queue(std::function<void()> task);
    /// Whether the caller is a task of this worker.
    [[nodiscard]] bool is_caller() const { return std::this_thread::get_id() == thread_.get_id(); }
    /// Waits for all tasks; throws what the first failed one threw. Tasks after a failed one still run.
    void finish();

private:
    void serve();

    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::function<void()>> tasks_;  ///< the running one stays in front until it ends
    bool ending_ = false;
    std::exception_ptr failure_;
    std::thread thread_;
};

}  // namespace orrery::kernels::cpu
