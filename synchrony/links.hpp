// Transfers that share links max-min fairly, those of one way together.
#pragma once

#include <cstdint>
#include <vector>

#include "synchrony/window.hpp"

namespace orrery::synchrony {

/// Which links transfers of workers use, and how fast they are while so many of each way are under way.
class Links {
public:
    explicit Links(const Job& job);

    /// Ways are numbered: 2 w pushes of Job::ways[w], 2 w + 1 its pulls.
    static std::uint32_t way(const Worker& worker, bool push) { return 2 * worker.ways + (push ? 0 : 1); }

    void begin(std::uint32_t way);
    void end(std::uint32_t way);
    /// Bytes per second of each transfer of a way; infinite where it uses no link.
    [[nodiscard]] double rate(std::uint32_t way);
    /// Counts what all transfers under way move in so many seconds.
    void advance(double seconds);
    /// Share of its capacity that the fullest link carried over so many seconds.
    [[nodiscard]] double busiest(double seconds) const;

private:
    void share();

    const std::vector<double>& capacity_;
    std::vector<const std::vector<Use>*> uses_;  // by way
    std::vector<std::uint32_t> active_;
    std::vector<double> rates_, carried_;
    bool shared_ = false;  // rates_ are those of active_
};

}  // namespace orrery::synchrony
