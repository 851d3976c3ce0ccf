// Threads of one launch: OpenMP's, so that they are the same that oneDNN uses.
#pragma once

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace orrery::kernels::cpu {

/// The calling thread's number of OpenMP threads while it lives: what oneDNN obeys. No other thread sees it.
class ThreadCount {
public:
    explicit ThreadCount(int threads) : before_(omp_get_max_threads()) { omp_set_num_threads(threads); }
    ~ThreadCount() { omp_set_num_threads(before_); }
    ThreadCount(const ThreadCount&) = delete;
    ThreadCount& operator=(const ThreadCount&) = delete;

private:
    int before_;
};

/// Parts that `count` items are worth splitting into, each of at least `grain`.
inline int parts_of(std::uint64_t count, std::uint64_t grain) {
    const std::uint64_t most = std::max<std::uint64_t>(1, count / std::max<std::uint64_t>(1, grain));
    return static_cast<int>(std::min<std::uint64_t>(most, static_cast<std::uint64_t>(omp_get_max_threads())));
}

/// f(member) for members [0, count), at once. ThreadSanitizer does not see how OpenMP's threads begin and meet and
/// would call everything that they share a race: there the members are threads of the language.
template <class Function>
void at_once(int count, const Function& f) {
#ifdef ORRERY_SANITIZED_THREADS
    std::vector<std::thread> others;
    for (int member = 1; member < count; ++member) others.emplace_back([&f, member] { f(member); });
    if (count > 0) f(0);
    for (std::thread& other : others) other.join();
#else
#pragma omp parallel for num_threads(count) schedule(static, 1) if (count > 1)
    for (int member = 0; member < count; ++member) f(member);
#endif
}

/// f(part, begin, end) for parts of [0, count), at once; boundaries are multiples of `unit`.
template <class Function>
void split(std::uint64_t count, int parts, std::uint64_t unit, const Function& f) {
    if (parts <= 1) return f(0, std::uint64_t{0}, count);
    const auto boundary = [&](int part) {
        return std::min(count,
                        count / unit * static_cast<std::uint64_t>(part) / static_cast<std::uint64_t>(parts) * unit);
    };
    at_once(parts, [&](int part) { f(part, boundary(part), part + 1 == parts ? count : boundary(part + 1)); });
}

/// f(unit) for [0, units) on as many threads; the first exception is thrown again here.
template <class Function>
void each_unit(std::size_t units, const Function& f) {
    const int threads = static_cast<int>(std::min<std::size_t>(units, static_cast<std::size_t>(omp_get_max_threads())));
    std::exception_ptr failure;
    std::mutex mutex;
    std::atomic<std::size_t> next{0};
    at_once(threads, [&](int) {
        for (std::size_t unit = next++; unit < units; unit = next++) {
            try {
                f(unit);
            } catch (...) {
                const std::lock_guard lock(mutex);
                failure = std::current_exception();
            }
        }
    });
    if (failure) std::rethrow_exception(failure);
}

/// Below this many elements a part is not worth a thread: about 10 microseconds of work.
inline constexpr std::uint64_t least_elements = 16384;

/// f(begin, end) over elements.
template <class Function>
void split_elements(std::uint64_t count, const Function& f) {
    split(count, parts_of(count, least_elements), 16,
          [&](int, std::uint64_t begin, std::uint64_t end) { f(begin, end); });
}

/// f(begin, end) over rows of `cols` elements.
template <class Function>
void split_rows(std::uint64_t rows, std::uint64_t cols, const Function& f) {
    split(rows, parts_of(rows, least_elements / std::max<std::uint64_t>(1, cols) + 1), 1,
          [&](int, std::uint64_t begin, std::uint64_t end) { f(begin, end); });
}

}  // namespace orrery::kernels::cpu
