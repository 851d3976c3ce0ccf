#include "kernels/cpu/worker.hpp"

#include <utility>

namespace orrery::kernels::cpu {

Worker::Worker() : thread_([this] { serve(); }) {}

Worker::~Worker() {
    {
        const std::lock_guard lock(mutex_);
        ending_ = true;
    }
    changed_.notify_all();
    thread_.join();
}

void Worker::queue(std::function<void()> task) {
    {
        const std::lock_guard lock(mutex_);
        tasks_.push_back(std::move(task));
    }
    changed_.notify_all();
}

void Worker::finish() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return tasks_.empty(); });
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void Worker::serve() {
    std::unique_lock lock(mutex_);
    while (true) {
        changed_.wait(lock, [this] { return ending_ || !tasks_.empty(); });
        if (tasks_.empty()) return;
        const std::function<void()>& task = tasks_.front();  // a deque keeps its front in place while others are added
        lock.unlock();
        std::exception_ptr failure;
        try {
            task();
        } catch (...) {
            failure = std::current_exception();
        }
        lock.lock();
        if (failure && !failure_) failure_ = failure;
        tasks_.pop_front();
        changed_.notify_all();
    }
}

}  // namespace orrery::kernels::cpu
