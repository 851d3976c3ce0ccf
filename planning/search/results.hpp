// What a search has simulated so far.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <set>

#include "planning/search/search.hpp"

namespace orrery::planning {

/// What has been simulated, and how good the K-th best of it is.
class Results {
public:
    explicit Results(std::size_t top) : top_(top) {}

    [[nodiscard]] double cutoff() const {
        const std::lock_guard lock(mutex_);
        return best_.size() < top_ ? std::numeric_limits<double>::infinity() : *best_.rbegin();
    }
    [[nodiscard]] bool knows(std::uint64_t number) const {
        const std::lock_guard lock(mutex_);
        return all_.contains(number);
    }
    /// least: what its bound said that it counts at least.
    void add(double least, const FoundPlan& plan) {
        const std::lock_guard lock(mutex_);
        if (!all_.try_emplace(plan.number, Entry{least, plan}).second || !plan.outcome.fits) return;
        best_.insert(plan.counts);
        if (best_.size() > top_) best_.erase(std::prev(best_.end()));
    }
    /// More should have been simulated than may be.
    void exhaust() { exhausted_ = true; }
    [[nodiscard]] bool exhausted() const { return exhausted_; }
    [[nodiscard]] std::size_t size() const {
        const std::lock_guard lock(mutex_);
        return all_.size();
    }
    struct Entry {
        double least = 0;  ///< what its bound said
        FoundPlan plan;
    };
    /// By number.
    [[nodiscard]] const std::map<std::uint64_t, Entry>& all() const { return all_; }

    /// The best that fits, of equals the first plan.
    [[nodiscard]] std::optional<FoundPlan> best() const {
        std::optional<FoundPlan> best;
        for (const auto& [number, entry] : all_)
            if (entry.plan.outcome.fits && (!best || entry.plan.counts < best->counts)) best = entry.plan;
        return best;
    }
    /// Whether all was simulated that could be better, and no bound was above what it bounds.
    [[nodiscard]] bool proven() const {
        constexpr double rounding = 1e-9;
        const double cutoff = this->cutoff();
        return !exhausted_ && std::ranges::all_of(all_, [&](const auto& each) {
            const Entry& entry = each.second;
            return entry.least > cutoff || entry.plan.counts >= entry.least * (1 - rounding);
        });
    }

private:
    std::size_t top_;
    mutable std::mutex mutex_;
    std::multiset<double> best_;
    std::map<std::uint64_t, Entry> all_;
    std::atomic<bool> exhausted_ = false;
};

}  // namespace orrery::planning
