// Timers and flows as one resource model inside SimGrid's kernel, which owns the main loop.
#include <algorithm>
#include <exception>
#include <limits>
#include <map>
#include <simgrid/s4u/NetZone.hpp>

#include "base/error.hpp"
#include "sim/engine.hpp"
#include "sim/engine_checks.hpp"
#include "sim/fluid_flows.hpp"
#include "sim/simgrid_kernel.hpp"
#include "sim/timer_queue.hpp"

namespace orrery::sim {

namespace {

class FluidEngine final : public Engine {
public:
    explicit FluidEngine(std::vector<double> capacity) : flows_(std::move(capacity)) {}

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
        streams_[tag] =
            flows_.start(now_, uses, std::numeric_limits<double>::infinity(), rate_limit, sequence_++, tag);
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

    void run(EventSink& sink) override;

    [[nodiscard]] double carried_bytes(std::uint32_t link) const override {
        check_link(link, flows_.links());
        return flows_.carried_bytes(link, now_);
    }

    void stop() override { stopped_ = true; }

    /// Seconds at which something happens next; infinity when nothing will.
    double next() {
        const double end = flows_.next_end(now_);  // settles the rates, which carried_bytes() asks for
        return stopped_ ? std::numeric_limits<double>::infinity() : std::min(timers_.next(), end);
    }

    /// Moves the clock to `at`, next()'s last answer, and tells the sink all that happens then, including what the
    /// sink adds for the same moment. Rates are settled afterwards, once for all of it.
    void happen(double at, EventSink& sink) {
        now_ = at;
        ended_.clear();
        flows_.take_ended(now_, ended_);
        due_.clear();
        for (const FluidFlows::Ended& end : ended_) due_.push_back({now_, end.sequence, end.tag, true});
        do {
            timers_.take(now_, due_);
            if (!std::is_sorted(due_.begin(), due_.end())) std::sort(due_.begin(), due_.end());
            for (const TimedEvent& event : due_) event.tell(sink);
            due_.clear();
        } while (timers_.next() <= now_);
    }

private:
    double now_ = 0.0;
    std::uint64_t sequence_ = 0;
    TimerQueue timers_;
    FluidFlows flows_;
    std::map<std::uint64_t, std::uint32_t> streams_;  // by tag
    bool stopped_ = false;
    std::vector<FluidFlows::Ended> ended_;
    std::vector<TimedEvent> due_;
};

/// The seam to SimGrid's main loop: it asks each model how long until its next event, moves its clock to the first of
/// them and tells the models. Exceptions do not cross its frames.
class FluidModel final : public simgrid::kernel::resource::Model {
public:
    FluidModel(FluidEngine& engine, EventSink& sink) : Model("orrery fluid"), engine_(engine), sink_(sink) {}

    double next_occurring_event(double) override {
        if (failure_) return nothing;
        next_ = engine_.next();
        return next_ < std::numeric_limits<double>::infinity() ? next_ - engine_.now() : nothing;
    }

    void update_actions_state(double, double) override {
        try {
            engine_.happen(next_, sink_);
        } catch (...) {
            failure_ = std::current_exception();
        }
    }

    void rethrow() const {
        if (failure_) std::rethrow_exception(failure_);
    }

private:
    static constexpr double nothing = -1.0;

    FluidEngine& engine_;
    EventSink& sink_;
    double next_ = 0.0;
    std::exception_ptr failure_;
};

void FluidEngine::run(EventSink& sink) {
    SimgridKernel kernel;
    const auto model = std::make_shared<FluidModel>(*this, sink);
    kernel.add(model);
    simgrid::s4u::create_empty_zone("orrery");
    kernel.run();
    model->rethrow();
}

}  // namespace

std::unique_ptr<Engine> make_fluid_engine(std::vector<double> capacity_bytes_per_second) {
    check_capacities(capacity_bytes_per_second);
    return std::make_unique<FluidEngine>(std::move(capacity_bytes_per_second));
}

}  // namespace orrery::sim
