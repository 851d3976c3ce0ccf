#include "sim/replay.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "sim/rendezvous.hpp"
#include "sim/tape.hpp"

namespace orrery::sim {

namespace {

using strategies::Lane;
using strategies::lanes;

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

/// What a lane's next operation can wait for besides the place of an operation.
constexpr std::uint32_t nothing = Place::none, a_sync = Place::none - 1;

/// How far one class has come.
struct Progress {
    const Tape* tape = nullptr;
    double* ends = nullptr;                       // of operations that others wait for, by Tape's slots
    double last_sync = 0;                         // when the host passed it
    std::vector<Span>* spans = nullptr;           // null: not recorded
    std::uint32_t passed = 0;                     // syncs
    std::uint32_t ended = 0;                      // operations
    std::uint16_t ready = (1U << all_lanes) - 1;  // lanes whose next operation may be able to begin, one bit each
    std::uint16_t waiting = 0;                    // lanes whose last operation is a transfer that has not ended
    std::array<std::uint32_t, lanes> next{};      // operations of each lane that have begun
    std::array<std::uint32_t, all_lanes> done{};  // operations of each lane that have ended; in their order
    std::array<std::uint32_t, all_lanes> blocked_on{};
    std::array<double, lanes> lane_free{};

    /// Lanes that wait for `what` may begin.
    void wake(std::uint32_t what) {
        for (std::size_t lane = 0; lane < all_lanes; ++lane)
            if (blocked_on[lane] == what) {
                blocked_on[lane] = nothing;
                ready = static_cast<std::uint16_t>(ready | 1U << lane);
            }
    }
};

class Replay final : public EventSink {
public:
    Replay(const strategies::StepProgram& step, const Costs& costs, const Network& network, const Folding& folding,
           Engine& engine, const std::vector<std::uint32_t>& record, const Perturbed* perturbed)
        : engine_(engine), rendezvous_(network, folding), perturbed_(perturbed) {
        tapes_.reserve(step.programs.size());
        for (std::uint32_t role = 0; role < step.programs.size(); ++role)
            tapes_.emplace_back(step.programs[role], role, costs, folding.traffic);
        result_.classes = folding.classes;
        set_out();
        for (const std::uint32_t who : record) {
            RankClass& rank = result_.classes[who];
            rank.spans.assign(tapes_[rank.role].ops.size(), {unknown, unknown});
            progress_[who].spans = &rank.spans;
        }
        if (perturbed_ != nullptr) change_capacities(folding, network.first_fabric_link());
    }

    Replayed run() && {
        for (std::uint32_t who = 0; who < progress_.size(); ++who) advance(who);
        work();
        engine_.run(*this);
        check_finished();
        return std::move(result_);
    }

    void on_timer(std::uint64_t tag) override {
        if (tag >= first_change) {
            const auto& [link, bytes_per_second] = changes_[tag - first_change];
            return engine_.capacity(link, bytes_per_second);
        }
        const Meeting meeting = rendezvous_.meeting(static_cast<Rendezvous::Number>(tag));
        engine_.flow(meeting.uses, meeting.transfer.bytes, meeting.transfer.rate_limit, tag);
    }
    void on_flow_end(std::uint64_t tag) override {
        const auto number = static_cast<Rendezvous::Number>(tag);
        finish(number, rendezvous_.meeting(number).begin, engine_.now());
        work();
    }

private:
    /// Every class at its beginning; their times lie one after the other in one array.
    void set_out() {
        std::size_t ends = 0;
        for (const RankClass& rank : result_.classes) ends += tapes_[rank.role].slots;
        ends_.assign(ends, 0.0);
        ends = 0;
        for (const RankClass& rank : result_.classes) {
            Progress& p = progress_.emplace_back();
            p.tape = &tapes_[rank.role];
            p.blocked_on.fill(nothing);
            p.ends = ends_.data() + ends;
            ends += p.tape->slots;
        }
    }

    /// Sets the times at which links become slower or faster.
    void change_capacities(const Folding& folding, topology::LinkId first) {
        for (std::uint32_t link = 0; link < folding.capacities.size(); ++link) {
            const std::uint32_t mark = perturbed_->marks().of_link(folding.link_example[link], first);
            for (const Pace& pace : perturbed_->paces_of_link(mark)) {
                engine_.timer(pace.at, first_change + changes_.size());
                changes_.emplace_back(link, folding.capacities[link] / pace.factor);
            }
        }
    }

    /// All that a class can do now.
    void advance(std::uint32_t who) {
        Progress& p = progress_[who];
        while (p.ready != 0) {
            const auto lane = static_cast<std::size_t>(std::countr_zero(p.ready));
            p.ready = static_cast<std::uint16_t>(p.ready & ~(1U << lane));
            lane == sync_lane ? pass_syncs(p) : run_lane(who, p, lane);
        }
    }
    void work() {
        while (!work_.empty()) {
            const std::uint32_t who = work_.back();
            work_.pop_back();
            advance(who);
        }
    }

    /// When everything an operation must wait for on the device has ended; unknown while something has not, which the
    /// lane then waits for.
    static double waits_end(Progress& p, const Tape::Op& op, std::size_t lane) {
        double latest = 0;
        for (const Tape::Wait& wait : p.tape->waits_of(op)) {
            if (p.done[Place::lane(wait.place)] <= Place::number(wait.place)) {
                p.blocked_on[lane] = wait.place;
                return unknown;
            }
            latest = std::max(latest, p.ends[wait.slot]);
        }
        return latest;
    }

    void pass_syncs(Progress& p) {
        while (p.passed < p.tape->syncs.size()) {
            const std::uint32_t index = p.tape->syncs[p.passed];
            const Tape::Op& op = p.tape->ops[index];
            const double end = waits_end(p, op, sync_lane);
            if (std::isnan(end)) return;
            const double host = p.ends[op.start] + op.issue;
            p.last_sync = std::max(host, end);
            ++p.passed;
            record(p, op, index, {host, p.last_sync});
            p.wake(a_sync);
        }
    }

    void run_lane(std::uint32_t who, Progress& p, std::size_t lane) {
        const auto& queue = p.tape->queue[lane];
        while ((p.waiting >> lane & 1U) == 0 && p.next[lane] < queue.size()) {
            const std::uint32_t index = queue[p.next[lane]];
            const Tape::Op& op = p.tape->ops[index];
            if (op.segment > p.passed) {
                p.blocked_on[lane] = a_sync;
                return;
            }
            const double waits = waits_end(p, op, lane);
            if (std::isnan(waits)) return;
            ++p.next[lane];
            time(who, p, index, std::max(p.lane_free[lane], waits));
        }
    }

    /// device: when the lane and everything waited for is free.
    void time(std::uint32_t who, Progress& p, std::uint32_t index, double device) {
        const Tape::Op& op = p.tape->ops[index];
        const double start = p.ends[op.start];
        const double begin = std::max(device, start + op.issue);
        if (op.kind == Tape::Kind::local) {
            const double end =
                perturbed_ != nullptr && perturbed_->kernels()
                    ? perturbed_->end(result_.classes[who].representative, index, begin, op.device, op.routed)
                    : std::max(device + op.device, start + op.done);
            return end_operation(p, op, index, begin, end);
        }
        p.waiting = static_cast<std::uint16_t>(p.waiting | 1U << op.lane());
        const Party party{who, index, begin};
        switch (op.kind) {
            case Tape::Kind::send:
                return begin_transfer(rendezvous_.send(op.route, std::get<strategies::Send>(*op.what).bytes, party));
            case Tape::Kind::receive:
                return begin_transfer(rendezvous_.receive(op.route, std::get<strategies::Recv>(*op.what).bytes, party));
            default:
                return begin_transfer(
                    rendezvous_.join(op.route, collective(op, who), static_cast<Lane>(op.lane()), party));
        }
    }

    /// As planned, or with the bytes that perturbed routers make of it.
    [[nodiscard]] strategies::Collective collective(const Tape::Op& op, std::uint32_t who) const {
        strategies::Collective what = std::get<strategies::Collective>(*op.what);
        if (op.routed && perturbed_ != nullptr)
            what.bytes = perturbed_->routed_bytes(what, result_.classes[who].representative);
        return what;
    }

    void end_operation(Progress& p, const Tape::Op& op, std::uint32_t index, double begin, double end) {
        p.lane_free[op.lane()] = end;
        result_.end = std::max(result_.end, end);
        record(p, op, index, {begin, end});
    }
    void record(Progress& p, const Tape::Op& op, std::uint32_t index, Span span) {
        ++p.ended;
        ++p.done[Place::lane(op.place)];
        if (op.slot != Slots::none) {
            p.ends[op.slot] = span.end;
            p.wake(op.place);
        }
        if (p.spans != nullptr) (*p.spans)[index] = span;
    }

    /// Transfers that cross no contended link end after a time that is known now; the others go to the engine.
    void begin_transfer(std::optional<Rendezvous::Number> number) {
        if (!number) return;
        const Meeting meeting = rendezvous_.meeting(*number);
        if (meeting.uses.empty() || meeting.transfer.bytes <= 0)
            return finish(*number, meeting.begin, meeting.begin + meeting.alone);
        engine_.timer(meeting.begin + meeting.transfer.latency, *number);
    }

    void finish(Rendezvous::Number number, double begin, double end) {
        for (const Party& party : rendezvous_.part(number)) {
            Progress& p = progress_[party.who];
            const Tape::Op& op = p.tape->ops[party.op];
            p.waiting = static_cast<std::uint16_t>(p.waiting & ~(1U << op.lane()));
            p.ready = static_cast<std::uint16_t>(p.ready | 1U << op.lane());
            end_operation(p, op, party.op, begin, end);
            work_.push_back(party.who);
        }
    }

    void check_finished() {
        for (std::size_t who = 0; who < progress_.size(); ++who) {
            const Progress& p = progress_[who];
            RankClass& rank = result_.classes[who];
            rank.end = *std::max_element(p.lane_free.begin(), p.lane_free.end());
            rank.end = std::max(rank.end, p.last_sync);
            if (p.ended != p.tape->ops.size())
                throw std::logic_error(fmt::format("rank {}: {} of {} operations never end", rank.representative,
                                                   p.tape->ops.size() - p.ended, p.tape->ops.size()));
        }
    }

    Engine& engine_;
    Rendezvous rendezvous_;
    const Perturbed* perturbed_;
    /// Links and their new capacities; tags from `first_change` on are theirs, those below are transfers.
    static constexpr std::uint64_t first_change = std::uint64_t{1} << 32U;
    std::vector<std::pair<std::uint32_t, double>> changes_;
    std::vector<Tape> tapes_;  // by role
    std::vector<Progress> progress_;
    std::vector<double> ends_;
    std::vector<std::uint32_t> work_;
    Replayed result_;
};

}  // namespace

Replayed replay(const strategies::StepProgram& step, const Costs& costs, const Network& network, const Folding& folding,
                Engine& engine, const std::vector<std::uint32_t>& record, const Perturbed* perturbed) {
    return Replay(step, costs, network, folding, engine, record, perturbed).run();
}

Replayed replay(const strategies::StepProgram& step, const Costs& costs, const Network& network, const Folding& folding,
                Engine& engine) {
    std::vector<std::uint32_t> all(folding.classes.size());
    std::iota(all.begin(), all.end(), 0U);
    return replay(step, costs, network, folding, engine, all);
}

}  // namespace orrery::sim
