// SimGrid's own network behind the same contract: slow, and trusted; the reference of the tests.
#include "sim/simgrid/cm02_engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <limits>
#include <set>
#include <simgrid/kernel/routing/NetZoneImpl.hpp>
#include <simgrid/s4u/Comm.hpp>
#include <simgrid/s4u/Host.hpp>
#include <simgrid/s4u/Link.hpp>
#include <simgrid/s4u/NetZone.hpp>

#include "base/error.hpp"
#include "sim/engine_checks.hpp"
#include "sim/simgrid/kernel.hpp"
#include "sim/timer_queue.hpp"

namespace orrery::sim {

namespace {

constexpr const char* another_engine = "SimGrid's network cannot show this; leave --engine out, or write --engine fast";

namespace sg = simgrid;

constexpr double infinity = std::numeric_limits<double>::infinity();

/// How long a stream can last: SimGrid knows no flow without end, and of 1e16 bytes a double still counts each.
constexpr double longest_stream_seconds = 1e6;

/// Two hosts and all links; whatever goes from one to the other takes the links named last. So a flow over any list of
/// links is a communication between the same two hosts. SimGrid owns and deletes its zones.
class DirectedZone final : public sg::kernel::routing::NetZoneImpl {
public:
    explicit DirectedZone(const std::vector<double>& capacity) : NetZoneImpl("orrery") {
        for (std::size_t l = 0; l < capacity.size(); ++l) {
            sg::s4u::Link* link = create_link(fmt::format("link {}", l), {capacity[l]})->set_latency(0.0);
            links_.push_back(link->seal()->get_impl());
        }
        constexpr double unused_speed = 1e9;
        source_ = create_host("source", {unused_speed});
        target_ = create_host("target", {unused_speed});
        const auto& models = sg::s4u::Engine::get_instance()->get_all_models();
        network_ = *std::find_if(models.begin(), models.end(),
                                 [](const auto* model) { return model->get_name() == "Network_CM02"; });
    }

    /// weight: of the flow among others; those of its links are 1.
    sg::s4u::CommPtr start(std::span<const LinkUse> uses, double bytes, double rate_limit, double weight) {
        path_ = uses;
        const sg::s4u::CommPtr comm = sg::s4u::Comm::sendto_init();
        comm->set_payload_size(static_cast<std::uint64_t>(bytes));
        comm->set_source(source_)->set_destination(target_);
        if (comm->get_state() != sg::s4u::Activity::State::STARTED) comm->start();  // 3.32 starts once both are set
        // SimGrid 3.32 forgets Comm::set_rate on a communication between hosts; its network action takes it.
        auto& action = network_->get_started_action_set()->back();
        if (rate_limit < infinity) action.set_bound(rate_limit);
        if (weight != 1.0) action.set_sharing_penalty(1.0 / weight);
        return comm;
    }

    void get_local_route(const sg::kernel::routing::NetPoint*, const sg::kernel::routing::NetPoint*,
                         sg::kernel::routing::Route* into, double*) override {
        for (const LinkUse& use : path_) into->link_list_.push_back(links_[use.link]);
    }

private:
    std::vector<sg::kernel::resource::StandardLinkImpl*> links_;
    sg::s4u::Host* source_;
    sg::s4u::Host* target_;
    sg::kernel::resource::Model* network_;
    std::span<const LinkUse> path_;
};

struct Cm02Flow {
    std::vector<LinkUse> uses;
    double bytes, rate_limit, weight;
    std::uint64_t sequence, tag;
    bool stream;
    sg::s4u::CommPtr comm;  // null until it starts in a run

    [[nodiscard]] double moved() const { return comm == nullptr ? 0.0 : bytes - comm->get_remaining(); }
    [[nodiscard]] bool ended() const { return comm->get_state() == sg::s4u::Activity::State::FINISHED; }
};

class Cm02Engine final : public Engine {
public:
    explicit Cm02Engine(std::vector<double> capacity) : capacity_(std::move(capacity)), carried_(capacity_.size()) {}

    [[nodiscard]] double now() const override { return now_; }

    void timer(double at, std::uint64_t tag) override {
        check_timer(at, now_);
        timers_.push({at, sequence_++, tag, false});
    }

    void flow(std::span<const LinkUse> uses, double bytes, double rate_limit, std::uint64_t tag) override;
    void stream(std::span<const LinkUse> uses, double rate_limit, std::uint64_t tag) override;
    void end_stream(std::uint64_t tag) override;
    void stop() override { stopped_ = true; }
    void capacity(std::uint32_t, double) override {
        throw Error("the reference engine keeps the capacities of links", "use --engine fast with slow links");
    }
    void run(EventSink& sink) override;
    [[nodiscard]] double carried_bytes(std::uint32_t link) const override;

    /// Tells the sink all that has happened by SimGrid's clock; seconds until the next timer, negative without one.
    double happen(double clock, EventSink& sink);

private:
    void start(std::span<const LinkUse> uses, double bytes, double rate_limit, std::uint64_t tag, bool stream);
    void cancel(Cm02Flow& flow);
    bool take_due(double by);

    std::vector<double> capacity_, carried_;
    double now_ = 0.0;
    double origin_ = 0.0;  // SimGrid's clock at our time zero
    std::uint64_t sequence_ = 0;
    TimerQueue timers_;
    std::vector<Cm02Flow> flows_;
    std::vector<TimedEvent> due_;
    DirectedZone* zone_ = nullptr;                 // while running
    std::vector<sg::s4u::ActivityPtr> cancelled_;  // SimGrid still looks at them in its next turn
    bool stopped_ = false;
};

void Cm02Engine::flow(std::span<const LinkUse> uses, double bytes, double rate_limit, std::uint64_t tag) {
    check_flow(uses, bytes, rate_limit, capacity_.size());
    start(uses, bytes, rate_limit, tag, false);
}

void Cm02Engine::stream(std::span<const LinkUse> uses, double rate_limit, std::uint64_t tag) {
    const auto same = [&](const Cm02Flow& flow) { return flow.stream && flow.tag == tag; };
    check_stream(uses, rate_limit, std::any_of(flows_.begin(), flows_.end(), same), capacity_.size());
    start(uses, rate_limit * longest_stream_seconds, rate_limit, tag, true);
}

void Cm02Engine::end_stream(std::uint64_t tag) {
    const auto found = std::find_if(flows_.begin(), flows_.end(),
                                    [&](const Cm02Flow& flow) { return flow.stream && flow.tag == tag; });
    if (found == flows_.end()) throw Error("no such stream is under way");
    cancel(*found);
    flows_.erase(found);
}

/// What it has moved stays counted.
void Cm02Engine::cancel(Cm02Flow& flow) {
    for (const LinkUse& use : flow.uses) carried_[use.link] += flow.moved();
    // Cancelled, it would hold its share until SimGrid's next turn; suspended, it leaves its share at once.
    if (flow.comm != nullptr) cancelled_.push_back(flow.comm->suspend()->cancel());
    flow.comm = nullptr;
}

void Cm02Engine::start(std::span<const LinkUse> uses, double bytes, double rate_limit, std::uint64_t tag, bool stream) {
    std::set<std::uint32_t> seen;
    const double weight = uses.empty() ? 1.0 : uses.front().weight;
    for (const LinkUse& use : uses) {
        if (use.weight != weight || weight == 0.0)
            throw Error(
                fmt::format(
                    "CM02 has one weight a flow, and messages here take several ways at once: {} and {} (link {})",
                    weight, use.weight, use.link),
                another_engine);
        if (!seen.insert(use.link).second)
            throw Error(fmt::format("CM02 carries a flow once over link {}", use.link), another_engine);
    }
    // A flow that weighs the same on all its links is one of weight 1 that moves more bytes and gets a larger share.
    bytes = std::round(bytes * weight);
    rate_limit *= weight;
    if (bytes == 0.0 || uses.empty()) {
        timers_.push({now_ + bytes / rate_limit, sequence_++, tag, true});
        return;
    }
    flows_.push_back({{uses.begin(), uses.end()}, bytes, rate_limit, weight, sequence_++, tag, stream, nullptr});
    if (zone_ != nullptr) flows_.back().comm = zone_->start(flows_.back().uses, bytes, rate_limit, weight);
}

double Cm02Engine::carried_bytes(std::uint32_t link) const {
    check_link(link, capacity_.size());
    double carried = carried_[link];
    for (const Cm02Flow& flow : flows_)
        for (const LinkUse& use : flow.uses)
            if (use.link == link) carried += flow.moved();
    return carried;
}

bool Cm02Engine::take_due(double by) {
    due_.clear();
    timers_.take(by, due_);
    for (Cm02Flow& flow : flows_) {
        if (!flow.ended()) continue;
        if (flow.stream) throw Error(fmt::format("the reference engine streams for {} s", longest_stream_seconds));
        due_.push_back({now_, flow.sequence, flow.tag, true});
        for (const LinkUse& use : flow.uses) carried_[use.link] += flow.bytes;
        flow.comm = nullptr;
    }
    std::erase_if(flows_, [](const Cm02Flow& flow) { return flow.comm == nullptr; });
    std::sort(due_.begin(), due_.end(),
              [](const TimedEvent& a, const TimedEvent& b) { return a.sequence < b.sequence; });
    return !due_.empty();
}

double Cm02Engine::happen(double clock, EventSink& sink) {
    now_ = std::max(now_, clock - origin_);
    // A timer closer than the clock can resolve is due: SimGrid could not move towards it.
    const double by = now_ + 4.0 * std::numeric_limits<double>::epsilon() * clock;
    while (!stopped_ && take_due(by)) {
        for (const TimedEvent& event : due_) {
            now_ = std::max(now_, event.at);
            event.tell(sink);
        }
    }
    const auto ends = [](const Cm02Flow& flow) { return !flow.stream; };
    if (stopped_ || (timers_.next() == infinity && std::none_of(flows_.begin(), flows_.end(), ends))) {
        for (Cm02Flow& flow : flows_) cancel(flow);
        flows_.clear();
        return -1.0;
    }
    return timers_.next() < infinity ? timers_.next() - now_ : -1.0;
}

/// Asked before the network model in each turn of SimGrid's main loop, so what the sink starts is timed in that turn.
class Cm02Turns final : public sg::kernel::resource::Model {
public:
    Cm02Turns(Cm02Engine& engine, EventSink& sink) : Model("orrery turns"), engine_(engine), sink_(sink) {}

    double next_occurring_event(double clock) override {
        try {
            return failure_ ? -1.0 : engine_.happen(clock, sink_);
        } catch (...) {
            failure_ = std::current_exception();
            return -1.0;
        }
    }

    void update_actions_state(double, double) override {}

    void rethrow() const {
        if (failure_) std::rethrow_exception(failure_);
    }

private:
    Cm02Engine& engine_;
    EventSink& sink_;
    std::exception_ptr failure_;
};

void Cm02Engine::run(EventSink& sink) {
    SimgridKernel kernel;
    const auto turns = std::make_shared<Cm02Turns>(*this, sink);
    kernel.add(turns);
    zone_ = new DirectedZone(capacity_);
    zone_->seal();
    origin_ = sg::s4u::Engine::get_clock() - now_;
    for (Cm02Flow& flow : flows_) flow.comm = zone_->start(flow.uses, flow.bytes, flow.rate_limit, flow.weight);
    kernel.run();
    zone_ = nullptr;
    cancelled_.clear();
    turns->rethrow();
}

}  // namespace

std::unique_ptr<Engine> new_cm02_engine(std::vector<double> capacity_bytes_per_second) {
    check_capacities(capacity_bytes_per_second);
    for (std::size_t l = 0; l < capacity_bytes_per_second.size(); ++l)
        if (!std::isfinite(capacity_bytes_per_second[l]))
            throw Error(fmt::format("CM02 needs a finite capacity for link {}", l), another_engine);
    return std::make_unique<Cm02Engine>(std::move(capacity_bytes_per_second));
}

}  // namespace orrery::sim
