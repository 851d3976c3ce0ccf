// What both engines keep besides flows: timers, and events that are due at once.
#pragma once

#include <cstdint>
#include <limits>

#include "sim/engine.hpp"
#include "sim/event_heap.hpp"

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
    void push(const TimedEvent& event) { heap_.push(event); }

    /// Seconds; infinity when empty.
    [[nodiscard]] double next() const {
        return heap_.empty() ? std::numeric_limits<double>::infinity() : heap_.top().at;
    }

    TimedEvent take() {
        const TimedEvent event = heap_.top();
        heap_.pop();
        return event;
    }

private:
    struct Ignore {
        void operator()(const TimedEvent&, std::size_t) const {}
    };
    EventHeap<TimedEvent, Ignore> heap_;
};

}  // namespace orrery::sim
