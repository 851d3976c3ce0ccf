// Our model of timers and flows, under a main loop of its own or another's.
#include <algorithm>
#include <limits>
#include <map>

#include "base/error.hpp"
#include "sim/engine.hpp"
#include "sim/engine_checks.hpp"
#include "sim/fluid_flows.hpp"
#include "sim/timer_queue.hpp"

namespace orrery::sim {

namespace {

class FluidEngine final : public Engine, private EventSource {
public:
    FluidEngine(std::vector<double> capacity, MainLoop loop, RateWatch* watch)
        : loop_(loop), flows_(std::move(capacity), watch) {}

    [[nodiscard]] double now() const override { return now_; }

    void timer(double at, std::uint64_t tag) override {
        check_timer(at, now_);
        timers_.push({at, sequence_++, tag, false});
    }

    void flow(std::span<const LinkUse> uses, double bytes, double rate_limit, std::uint64_t tag) override {
        check_flow(uses, bytes, rate_limit, flows_.links());
        if (bytes == 0.0)
            timers_.push({now_, sequence_++, tag, true});
        else
            (void)flows_.start(now_, uses, bytes, rate_limit, sequence_++, tag);
    }

    void stream(std::span<const LinkUse> uses, double rate_limit, std::uint64_t tag) override {
        check_stream(uses, rate_limit, streams_.contains(tag), flows_.links());
        streams_[tag] = flows_.start(now_, uses, std::numeric_limits<double>::infinity(), rate_limit, sequence_++, tag);
    }
    void end_stream(std::uint64_t tag) override {
        const auto stream = streams_.find(tag);
        if (stream == streams_.end()) throw Error("no such stream is under way");
        flows_.stop(stream->second, now_);
        streams_.erase(stream);
    }

    void capacity(std::uint32_t link, double bytes_per_second) override {
        check_link(link, flows_.links());
        check_changed_capacity(bytes_per_second);
        flows_.set_capacity(link, bytes_per_second);
    }

    void run(EventSink& sink) override {
        if (sink_ != nullptr) throw Error("a run of this engine is under way already");
        sink_ = &sink;
        loop_(*this);
        sink_ = nullptr;
    }

    [[nodiscard]] double carried_bytes(std::uint32_t link) const override {
        check_link(link, flows_.links());
        return flows_.carried_bytes(link, now_);
    }

    void stop() override { stopped_ = true; }

private:
    double next() override {
        const double end = flows_.next_end(now_);  // settles the rates, which carried_bytes() asks for
        return stopped_ ? std::numeric_limits<double>::infinity() : std::min(timers_.next(), end);
    }

    /// Tells the sink all that happens then, including what the sink adds for the same moment. Rates are settled
    /// afterwards, once for all of it.
    void happen(double at) override {
        now_ = at;
        ended_.clear();
        flows_.take_ended(now_, ended_);
        due_.clear();
        for (const FluidFlows::Ended& end : ended_) due_.push_back({now_, end.sequence, end.tag, true});
        do {
            timers_.take(now_, due_);
            if (!std::is_sorted(due_.begin(), due_.end())) std::sort(due_.begin(), due_.end());
            for (const TimedEvent& event : due_) event.tell(*sink_);
            due_.clear();
        } while (timers_.next() <= now_);
    }

    MainLoop loop_;
    EventSink* sink_ = nullptr;  // while running
    double now_ = 0.0;
    std::uint64_t sequence_ = 0;
    TimerQueue timers_;
    FluidFlows flows_;
    std::map<std::uint64_t, std::uint32_t> streams_;  // by tag
    bool stopped_ = false;
    std::vector<FluidFlows::Ended> ended_;
    std::vector<TimedEvent> due_;
};

}  // namespace

void run_by_itself(EventSource& events) {
    for (double at = events.next(); at < std::numeric_limits<double>::infinity(); at = events.next()) events.happen(at);
}

std::unique_ptr<Engine> make_fluid_engine(std::vector<double> capacity_bytes_per_second) {
    return make_fluid_engine_under(run_by_itself, std::move(capacity_bytes_per_second));
}

std::unique_ptr<Engine> make_fluid_engine_under(MainLoop loop, std::vector<double> capacity_bytes_per_second,
                                                RateWatch* watch) {
    check_capacities(capacity_bytes_per_second);
    return std::make_unique<FluidEngine>(std::move(capacity_bytes_per_second), loop, watch);
}

}  // namespace orrery::sim
