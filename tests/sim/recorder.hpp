// What tests of engines share: a sink that writes down what it is told.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "sim/engine.hpp"

namespace orrery::sim {

inline constexpr double infinity = std::numeric_limits<double>::infinity();

struct Seen {
    double at;
    bool flow;
    std::uint64_t tag;
    bool operator==(const Seen&) const = default;
};

/// Writes down what it is told, then does what the test wants.
class Recorder : public EventSink {
public:
    explicit Recorder(Engine& engine) : engine_(engine) {}
    void on_timer(std::uint64_t tag) override { note(false, tag); }
    void on_flow_end(std::uint64_t tag) override { note(true, tag); }

    std::function<void(const Seen&)> then = [](const Seen&) {};
    std::vector<Seen> seen;

    [[nodiscard]] double flow_end(std::uint64_t tag) const {
        for (const Seen& event : seen)
            if (event.flow && event.tag == tag) return event.at;
        return std::nan("");
    }

private:
    void note(bool flow, std::uint64_t tag) {
        seen.push_back({engine_.now(), flow, tag});
        const Seen event = seen.back();
        then(event);
    }
    Engine& engine_;
};

inline void start(Engine& engine, std::vector<LinkUse> uses, double bytes, std::uint64_t tag, double limit = infinity) {
    engine.flow(uses, bytes, limit, tag);
}

}  // namespace orrery::sim
