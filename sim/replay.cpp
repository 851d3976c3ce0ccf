#include "sim/replay.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <utility>

#include "base/error.hpp"
#include "sim/link_events.hpp"
#include "sim/rendezvous.hpp"
#include "sim/tape.hpp"

namespace orrery::sim {

namespace {

using strategies::Lane;
using strategies::lanes;

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

/// Tags of the engine: their upper half says whose they are, a job's (by number) or all links'.
constexpr std::uint32_t tag_bits = 40;
constexpr std::uint64_t of_links = (std::uint64_t{1} << (64 - tag_bits)) - 1;

/// Of a job's tags, those below are transfers.
constexpr std::uint64_t step_begins = std::uint64_t{1} << 32U, step_ends = step_begins + 1;

/// A job's step may be repeated so often: beyond, steps are too unlike for a step of one to say anything of the other.
constexpr std::uint32_t most_steps = 10'000;

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

    /// A step from its beginning.
    void begin(double at) {
        const Progress fresh{.tape = tape, .ends = ends, .last_sync = at, .spans = spans};
        *this = fresh;
        blocked_on.fill(nothing);
        lane_free.fill(at);
    }

    /// Lanes that wait for `what` may begin.
    void wake(std::uint32_t what) {
        for (std::size_t lane = 0; lane < all_lanes; ++lane)
            if (blocked_on[lane] == what) {
                blocked_on[lane] = nothing;
                ready = static_cast<std::uint16_t>(ready | 1U << lane);
            }
    }
};

/// One job, step after step.
class JobReplay {
public:
    /// number: of the job. count_bytes: Replayed::own_bytes is wanted.
    JobReplay(const ReplayJob& job, std::uint64_t number, const Network& network, Engine& engine,
              const Perturbed* perturbed, bool count_bytes)
        : engine_(engine),
          rendezvous_(network, *job.folding),
          perturbed_(perturbed),
          first_tag_(number << tag_bits),
          starts_at_(job.starts_at) {
        tapes_.reserve(job.step->programs.size());
        for (std::uint32_t role = 0; role < job.step->programs.size(); ++role)
            tapes_.emplace_back(job.step->programs[role], role, *job.costs, job.folding->traffic);
        result_.classes = job.folding->classes;
        if (count_bytes) result_.own_bytes.resize(job.folding->capacities.size());
        set_out();
        for (const std::uint32_t who : job.record) {
            RankClass& rank = result_.classes[who];
            rank.spans.assign(tapes_[rank.role].ops.size(), {unknown, unknown});
            progress_[who].spans = &rank.spans;
        }
    }

    /// Sets off what happens first.
    void start() { starts_at_ > 0 ? engine_.timer(starts_at_, first_tag_ + step_begins) : begin(0); }

    void begin(double at) {
        std::fill(ends_.begin(), ends_.end(), at);
        end_ = at;
        left_ = 0;
        for (Progress& p : progress_) {
            p.begin(at);
            left_ += p.tape->ops.size();
        }
        for (std::uint32_t who = 0; who < progress_.size(); ++who) advance(who);
        work();
    }
    /// The latency of a transfer is over.
    void transfer(Rendezvous::Number number) {
        const Meeting meeting = rendezvous_.meeting(number);
        if (steps_ == 0 && !result_.own_bytes.empty())
            for (const LinkUse& use : meeting.uses) result_.own_bytes[use.link] += use.weight * meeting.transfer.bytes;
        engine_.flow(meeting.uses, meeting.transfer.bytes, meeting.transfer.rate_limit, first_tag_ + number);
    }
    void end_transfer(Rendezvous::Number number) {
        finish(number, rendezvous_.meeting(number).begin, engine_.now());
        work();
    }
    /// Whether it was the first.
    bool end_step() {
        if (++steps_ > 1) {
            if (steps_ < most_steps) return false;
            throw Error("", "/other_jobs",
                        fmt::format("a job repeats its step {} times before another has ended its first", most_steps),
                        "choose jobs whose steps are less unlike, or that start sooner");
        }
        result_.end = end_;
        for (std::size_t who = 0; who < progress_.size(); ++who) {
            Progress& p = progress_[who];
            result_.classes[who].end = std::max(*std::max_element(p.lane_free.begin(), p.lane_free.end()), p.last_sync);
            p.spans = nullptr;
        }
        return true;
    }

    [[nodiscard]] Replayed result() && {
        if (steps_ == 0) refuse();
        return std::move(result_);
    }

private:
    /// Every class; their times lie one after the other in one array.
    void set_out() {
        std::size_t ends = 0;
        for (const RankClass& rank : result_.classes) ends += tapes_[rank.role].slots;
        ends_.assign(ends, 0.0);
        ends = 0;
        for (const RankClass& rank : result_.classes) {
            Progress& p = progress_.emplace_back();
            p.tape = &tapes_[rank.role];
            p.ends = ends_.data() + ends;
            ends += p.tape->slots;
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
    /// Also tells the engine when the step ends, once that is known.
    void work() {
        while (!work_.empty()) {
            const std::uint32_t who = work_.back();
            work_.pop_back();
            advance(who);
        }
        if (left_ == 0) engine_.timer(end_, first_tag_ + step_ends);
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
            const double end = perturbed_ != nullptr && perturbed_->kernels()
                                   ? perturbed_->end(result_.classes[who].representative, index, begin, op.device)
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
                return begin_transfer(rendezvous_.join(op.route, std::get<strategies::Collective>(*op.what),
                                                       static_cast<Lane>(op.lane()), party));
        }
    }

    void end_operation(Progress& p, const Tape::Op& op, std::uint32_t index, double begin, double end) {
        p.lane_free[op.lane()] = end;
        end_ = std::max(end_, end);
        record(p, op, index, {begin, end});
    }
    void record(Progress& p, const Tape::Op& op, std::uint32_t index, Span span) {
        ++p.ended;
        --left_;
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
        engine_.timer(meeting.begin + meeting.transfer.latency, first_tag_ + *number);
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

    /// Not everything has ended.
    [[noreturn]] void refuse() const {
        for (std::size_t who = 0; who < progress_.size(); ++who) {
            const Progress& p = progress_[who];
            if (p.ended != p.tape->ops.size())
                throw std::logic_error(fmt::format("rank {}: {} of {} operations never end",
                                                   result_.classes[who].representative, p.tape->ops.size() - p.ended,
                                                   p.tape->ops.size()));
        }
        throw std::logic_error("a step without an end");
    }

    Engine& engine_;
    Rendezvous rendezvous_;
    const Perturbed* perturbed_;
    std::uint64_t first_tag_;
    double starts_at_;
    std::vector<Tape> tapes_;  // by role
    std::vector<Progress> progress_;
    std::vector<double> ends_;
    std::vector<std::uint32_t> work_;
    std::uint32_t steps_ = 0;  // that have ended
    std::uint64_t left_ = 0;   // operations of this step that have not ended
    double end_ = 0;           // of this step, as far as known
    Replayed result_;
};

/// All jobs and what happens to links; hands events to whom their tags say.
class Replay final : public EventSink {
public:
    Replay(std::span<const ReplayJob> jobs, const Network& network, Engine& engine, const Perturbed* perturbed)
        : engine_(engine), unfinished_(jobs.size()) {
        const Folding& first = *jobs.front().folding;
        if (perturbed != nullptr)
            links_.emplace(*perturbed, first, network.first_fabric_link(), engine, of_links << tag_bits);
        for (std::size_t i = 0; i < jobs.size(); ++i)
            jobs_.push_back(std::make_unique<JobReplay>(jobs[i], i, network, engine, i == 0 ? perturbed : nullptr,
                                                        i == 0 && (jobs.size() > 1 || !first.background.empty())));
        result_.link_bytes.resize(first.capacities.size());
    }

    ReplayedJobs run() && {
        for (const auto& job : jobs_) job->start();
        engine_.run(*this);
        for (const auto& job : jobs_) result_.jobs.push_back(std::move(*job).result());
        return std::move(result_);
    }

    void on_timer(std::uint64_t tag) override {
        const std::uint64_t owner = tag >> tag_bits, what = tag & ((std::uint64_t{1} << tag_bits) - 1);
        if (owner == of_links) return links_->happen(what);
        JobReplay& job = *jobs_[owner];
        if (what < step_begins) return job.transfer(static_cast<Rendezvous::Number>(what));
        if (what == step_ends && job.end_step()) {
            if (owner == 0) note_link_bytes();
            if (--unfinished_ == 0) return engine_.stop();
        }
        job.begin(engine_.now());
    }
    void on_flow_end(std::uint64_t tag) override {
        jobs_[tag >> tag_bits]->end_transfer(static_cast<Rendezvous::Number>(tag));
    }

private:
    void note_link_bytes() {
        for (std::uint32_t link = 0; link < result_.link_bytes.size(); ++link)
            result_.link_bytes[link] = engine_.carried_bytes(link);
    }

    Engine& engine_;
    std::optional<LinkEvents> links_;
    std::vector<std::unique_ptr<JobReplay>> jobs_;
    std::size_t unfinished_;  // jobs whose first step has not ended
    ReplayedJobs result_;
};

}  // namespace

ReplayedJobs replay(std::span<const ReplayJob> jobs, const Network& network, Engine& engine,
                    const Perturbed* perturbed) {
    return Replay(jobs, network, engine, perturbed).run();
}

Replayed replay(const strategies::StepProgram& step, const Costs& costs, const Network& network, const Folding& folding,
                Engine& engine) {
    ReplayJob job{&step, &costs, &folding};
    job.record.resize(folding.classes.size());
    std::iota(job.record.begin(), job.record.end(), 0U);
    return replay({&job, 1}, network, engine).jobs.front();
}

}  // namespace orrery::sim
