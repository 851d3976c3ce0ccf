// What both engines keep besides flows: timers, and events that are due at once.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/engine.hpp"
#include "sim/moments.hpp"

namespace orrery::sim {

/// An event with a fixed time. Events of one moment keep the order of their sequence numbers.
struct TimedEvent {
    double at;  ///< seconds
    std::uint64_t sequence;
    std::uint64_t tag;
    bool ends_flow;  ///< on_flow_end rather than on_timer

    bool operator<(const TimedEvent& other) const {
        return at < other.at || (at == other.at && sequence < other.sequence);
    }
    void tell(EventSink& sink) const { ends_flow ? sink.on_flow_end(tag) : sink.on_timer(tag); }
};

class TimerQueue {
public:
    void push(const TimedEvent& event) {
        const std::uint32_t moment = moments_.at(event.at);
        if (events_.size() <= moment) events_.resize(moment + 1);
        events_[moment].push_back(event);
    }

    /// Seconds; infinity when empty.
    [[nodiscard]] double next() const { return moments_.next(); }

    /// Removes all events up to `by` seconds and appends them to `due`, moment after moment; sorted by sequence but
    /// where one time has two moments.
    void take(double by, std::vector<TimedEvent>& due) {
        while (moments_.next() <= by) {
            const std::uint32_t moment = moments_.first();
            due.insert(due.end(), events_[moment].begin(), events_[moment].end());
            events_[moment].clear();
            moments_.remove(moment);
        }
    }

private:
    Moments moments_;
    std::vector<std::vector<TimedEvent>> events_;  // of each moment
};

}  // namespace orrery::sim
