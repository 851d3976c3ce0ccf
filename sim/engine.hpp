// The simulated clock and the flows that contend for links: the one seam between a replay and what times it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace orrery::sim {

/// A flow moves weight bytes over `link` for each of its own bytes.
struct LinkUse {
    std::uint32_t link;
    double weight;
};

/// Receives what ends, in order of time; events of one moment in the order in which they were inserted.
class EventSink {
public:
    virtual ~EventSink() = default;
    virtual void on_timer(std::uint64_t tag) = 0;
    virtual void on_flow_end(std::uint64_t tag) = 0;
};

/// Clock and contended flows of one simulation. Rates are weighted max-min fair: all flows' rates grow together until
/// a link (sum of weight x rate = capacity) or a flow's own limit binds. The clock starts at zero.
class Engine {
public:
    virtual ~Engine() = default;

    /// Seconds since the start.
    [[nodiscard]] virtual double now() const = 0;

    /// Calls on_timer(tag) at `at` seconds. Throws Error when `at` is before now() or not finite.
    virtual void timer(double at, std::uint64_t tag) = 0;

    /// Starts now; on_flow_end(tag) follows when `bytes` have moved at no more than `rate_limit` bytes per second
    /// (infinity: no limit). A flow of zero bytes ends at once, but never inside this call. A link may be named
    /// twice: its weights add up; weight 0 is no use. Throws Error on a link that does not exist, a negative weight or
    /// size, or a limit that is not positive.
    virtual void flow(std::span<const LinkUse> uses, double bytes, double rate_limit, std::uint64_t tag) = 0;

    /// A flow without end, at most rate_limit (finite) bytes per second: background traffic. It shares links as flows
    /// do, keeps no run going and tells nobody anything, until end_stream() with its tag, which names no other stream
    /// under way. Throws Error as flow() does.
    virtual void stream(std::span<const LinkUse> uses, double rate_limit, std::uint64_t tag) = 0;
    /// Throws Error when no such stream is under way.
    virtual void end_stream(std::uint64_t tag) = 0;

    /// A link's capacity from now on, in bytes per second; with 0 nothing moves over it. Throws Error on a link that
    /// does not exist or a negative capacity, and where the engine cannot do that (SimGrid's CM02).
    virtual void capacity(std::uint32_t link, double bytes_per_second) = 0;

    /// Until nothing but streams is pending, or stop(); the sink may add timers and flows. An exception of the sink
    /// ends the run and passes through; the engine is then good for nothing but destruction. Runs do not nest: throws
    /// Error.
    virtual void run(EventSink& sink) = 0;

    /// Called by the sink: the run ends once it has been told of all that happens at this moment. The engine can be
    /// asked what links have carried, and nothing else.
    virtual void stop() = 0;

    /// Weight x bytes that `link` has carried so far, for link-load reports.
    [[nodiscard]] virtual double carried_bytes(std::uint32_t link) const = 0;
};

/// What a main loop drives: asks for the time of the next event, moves there and lets it happen, until there is none.
class EventSource {
public:
    virtual ~EventSource() = default;
    /// Seconds since the start.
    [[nodiscard]] virtual double now() const = 0;
    /// Seconds at which something happens next; infinity when nothing will.
    virtual double next() = 0;
    /// `at`: next()'s last answer, to which the clock moves. An exception ends the loop and passes through.
    virtual void happen(double at) = 0;
};
using MainLoop = void (*)(EventSource& events);

/// Is told of the rates of flows as they change.
class RateWatch {
public:
    virtual ~RateWatch() = default;
    /// Bytes per second of the flow that bears the tag; 0 before it begins and when it has ended.
    virtual void rate(std::uint64_t tag, double before, double now) = 0;
    /// All of this moment have been told.
    virtual void settled() = 0;
};

/// Our own model of links and delays: the fast path, as many at a time as there are threads. Capacities in bytes per
/// second, all positive (infinity: never binds); throws Error otherwise.
std::unique_ptr<Engine> make_fluid_engine(std::vector<double> capacity_bytes_per_second);
/// The same under another loop, equal to the bit. watch: must outlive the engine; null: nobody.
std::unique_ptr<Engine> make_fluid_engine_under(MainLoop loop, std::vector<double> capacity_bytes_per_second,
                                                RateWatch* watch = nullptr);
/// Our own loop.
void run_by_itself(EventSource& events);
/// The same inside SimGrid's kernel, one at a time in a process. Throws Error where SimGrid cannot be opened.
std::unique_ptr<Engine> make_fluid_engine_in_simgrid(std::vector<double> capacity_bytes_per_second);

/// SimGrid's own CM02 network, without TCP effects: the reference that the fluid engine is tested against. A flow's
/// weights must be equal, a link named once a flow, capacities finite; throws Error otherwise. Sizes are rounded to
/// whole bytes, which is what SimGrid takes. One at a time in a process.
std::unique_ptr<Engine> make_cm02_engine(std::vector<double> capacity_bytes_per_second);

}  // namespace orrery::sim
