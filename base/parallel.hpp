// The same work on many items, on all cores.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace orrery {

/// As many threads as there are cores; at least one.
inline unsigned all_cores() { return std::max(1U, std::thread::hardware_concurrency()); }

/// f(worker, i) for every i below count, each once, the low ones first: a thread for each worker. What one throws ends
/// the rest and is thrown.
template <class Worker, class F>
void for_each_with(std::vector<Worker>& workers, std::size_t count, const F& f) {
    std::atomic<std::size_t> next{0};
    std::exception_ptr failed;
    std::mutex mutex;
    const auto work = [&](Worker& worker) {
        try {
            for (std::size_t i = 0; (i = next++) < count;) f(worker, i);
        } catch (...) {
            next = count;
            const std::lock_guard lock(mutex);
            if (!failed) failed = std::current_exception();
        }
    };
    std::vector<std::thread> others;
    for (std::size_t t = 1; t < workers.size() && t < count; ++t) others.emplace_back([&, t] { work(workers[t]); });
    work(workers.front());
    for (std::thread& other : others) other.join();
    if (failed) std::rethrow_exception(failed);
}

/// The same on so many threads, whose workers hold nothing.
template <class F>
void for_each_on(unsigned threads, std::size_t count, const F& f) {
    std::vector<unsigned> workers(std::max(1U, threads));
    for_each_with(workers, count, [&](unsigned /*worker*/, std::size_t i) { f(i); });
}

}  // namespace orrery
