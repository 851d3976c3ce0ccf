// Distinct times in order: much happens at the same moment, and then costs one place in a heap between it all.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

#include "sim/event_heap.hpp"

namespace orrery::sim {

/// Moments have numbers, which are used again. Two moments may have one time: only the most recent ones are looked
/// through before another is made.
class Moments {
public:
    Moments() : heap_(Remember{&heap_index_}) { recent_.fill(none); }
    Moments(const Moments&) = delete;
    Moments& operator=(const Moments&) = delete;

    /// Seconds; infinity when there is none.
    [[nodiscard]] double next() const {
        return heap_.empty() ? std::numeric_limits<double>::infinity() : heap_.top().at;
    }
    /// The first; of those with one time, the one made first.
    [[nodiscard]] std::uint32_t first() const { return heap_.top().moment; }
    [[nodiscard]] double time(std::uint32_t moment) const { return times_[moment]; }
    /// One more than any number given so far.
    [[nodiscard]] std::size_t size() const { return times_.size(); }

    /// A moment of that time: a recent one, or a new one.
    std::uint32_t at(double time) {
        std::uint32_t& recent = recent_[place(time)];
        if (recent != none && times_[recent] == time) return recent;
        if (free_.empty()) {
            recent = static_cast<std::uint32_t>(times_.size());
            times_.push_back(time);
            heap_index_.push_back(0);
        } else {
            recent = free_.back();
            free_.pop_back();
            times_[recent] = time;
        }
        heap_.push({time, made_++, recent});
        return recent;
    }
    /// Gives a moment another time.
    void move(std::uint32_t moment, double time) {
        times_[moment] = time;
        heap_.replace(heap_index_[moment], {time, made_++, moment});
    }
    void remove(std::uint32_t moment) {
        times_[moment] = std::numeric_limits<double>::quiet_NaN();  // which no time equals
        heap_.remove(heap_index_[moment]);
        free_.push_back(moment);
    }

private:
    static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();
    struct Entry {
        double at;
        std::uint64_t made;
        std::uint32_t moment;
        bool operator<(const Entry& other) const { return at < other.at || (at == other.at && made < other.made); }
    };
    struct Remember {
        std::vector<std::uint32_t>* heap_index;
        void operator()(const Entry& entry, std::size_t index) const {
            (*heap_index)[entry.moment] = static_cast<std::uint32_t>(index);
        }
    };
    static std::size_t place(double time) {
        return std::bit_cast<std::uint64_t>(time) * 0x9e3779b97f4a7c15U >> (64 - recent_bits);  // Fibonacci hashing
    }

    static constexpr int recent_bits = 8;
    std::vector<double> times_;
    std::vector<std::uint32_t> heap_index_, free_;
    EventHeap<Entry, Remember> heap_;
    std::array<std::uint32_t, std::size_t{1} << recent_bits> recent_;
    std::uint64_t made_ = 0;
};

}  // namespace orrery::sim
