#include "sim/job_replay.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

#include "base/error.hpp"

namespace orrery::sim {

namespace {

using strategies::Lane;

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

/// A job's step may be repeated so often: beyond, steps are too unlike for a step of one to say anything of the other.
constexpr std::uint32_t most_steps = 10'000;

}  // namespace

JobReplay::JobReplay(const ReplayJob& job, std::uint64_t first_tag, const Network& network, Engine& engine,
                     const Perturbed* perturbed, bool count_bytes)
    : engine_(engine),
      rendezvous_(network, *job.folding, *job.step),
      perturbed_(perturbed),
      first_tag_(first_tag),
      starts_at_(job.starts_at),
      known_(job.known) {
    result_.classes = job.folding->classes;
    if (count_bytes) result_.own_bytes.resize(job.folding->capacities.size());
    const Tapes& tapes = job.tapes != nullptr
                             ? *job.tapes
                             : own_tapes_.emplace(*job.step, *job.costs, job.folding->traffic, job.folding->classes);
    progress_.reserve(result_.classes.size());
    for (const RankClass& rank : result_.classes) progress_.emplace_back().tape = &tapes.of(rank);
    if (known_ != nullptr) look_back();
    set_out();
    record(job.record);
}

void JobReplay::record(std::span<const std::uint32_t> classes) {
    for (const std::uint32_t who : classes) {
        RankClass& rank = result_.classes[who];
        Progress& p = progress_[who];
        rank.spans.assign(p.tape->ops.size() - p.first_span, {unknown, unknown});
        p.spans = &rank.spans;
    }
}

/// How far the classes of the known folding had come.
void JobReplay::look_back() {
    come_.resize(known_->classes->size());
    for (std::uint32_t who = 0; who < progress_.size(); ++who) {
        const std::uint32_t number = known_class(who);
        if (come_[number].progress.tape == nullptr)
            come_[number] = Come(*progress_[who].tape, *known_, (*known_->classes)[number].spans);
        progress_[who].first_span = come_[number].progress.first_span;
    }
}

JobReplay::Come::Come(const Tape& tape, const KnownStart& known, const std::vector<Span>& spans) : ends(tape.slots) {
    progress.tape = &tape;
    progress.ends = ends.data();
    progress.begin(0);
    progress.first_span = static_cast<std::uint32_t>(tape.ops.size());
    for (std::uint32_t i = 0; i < tape.ops.size(); ++i) {
        const Tape::Op& op = tape.ops[i];
        if (known.knows(op, spans[i])) {
            progress.has_run(op, spans[i].end);
            continue;
        }
        progress.first_span = std::min(progress.first_span, i);
        slots = std::max(slots, op.start + 1);
        if (op.slot != Slots::none) slots = std::max(slots, op.slot + 1);
        for (const Tape::Wait& wait : tape.waits_of(op)) slots = std::max(slots, wait.slot + 1);
    }
}

std::uint32_t JobReplay::known_class(std::uint32_t who) const {
    return known_->folding->class_of[result_.classes[who].representative];
}

/// The first step goes on from there.
void JobReplay::go_on() {
    for (std::uint32_t who = 0; who < progress_.size(); ++who) {
        const Come& come = come_[known_class(who)];
        Progress& p = progress_[who];
        double* const ends = p.ends;
        auto* const spans = p.spans;
        p = come.progress;
        p.ends = ends;
        p.spans = spans;
        std::copy_n(come.ends.begin(), come.slots, ends);
        left_ -= p.ended;
    }
}

void JobReplay::start() { starts_at_ > 0 ? engine_.timer(starts_at_, first_tag_ + step_begins) : begin(0); }

void JobReplay::begin(double at) {
    std::fill(ends_.begin(), ends_.end(), at);
    end_ = at;
    left_ = operations_;
    for (Progress& p : progress_) p.begin(at);
    if (known_ != nullptr && steps_ == 0) go_on();
    for (std::uint32_t who = 0; who < progress_.size(); ++who) advance(who);
    work();
}

void JobReplay::transfer(Rendezvous::Number number) {
    const Meeting meeting = rendezvous_.meeting(number);
    if (steps_ == 0 && !result_.own_bytes.empty())
        for (const LinkUse& use : meeting.uses) result_.own_bytes[use.link] += use.weight * meeting.transfer.bytes;
    engine_.flow(meeting.uses, meeting.transfer.bytes, meeting.transfer.rate_limit, first_tag_ + number);
}

void JobReplay::end_transfer(Rendezvous::Number number) {
    finish(number, rendezvous_.meeting(number).begin, engine_.now());
    work();
}

bool JobReplay::end_step() {
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

Replayed JobReplay::result() && {
    if (steps_ == 0 && !std::isfinite(result_.meets)) refuse();
    return std::move(result_);
}

/// The times of all classes lie one after the other in one array.
void JobReplay::set_out() {
    std::vector<std::size_t> first;
    std::size_t ends = 0;
    for (std::uint32_t who = 0; who < progress_.size(); ++who) {
        first.push_back(ends);
        ends += known_ != nullptr ? come_[known_class(who)].slots : progress_[who].tape->slots;
        operations_ += progress_[who].tape->ops.size();
    }
    ends_.assign(ends, 0.0);
    for (std::uint32_t who = 0; who < progress_.size(); ++who) progress_[who].ends = ends_.data() + first[who];
}

/// All that a class can do now.
void JobReplay::advance(std::uint32_t who) {
    Progress& p = progress_[who];
    while (p.ready != 0) {
        const auto lane = static_cast<std::size_t>(std::countr_zero(p.ready));
        p.ready &= ~(1U << lane);
        lane == sync_lane ? pass_syncs(p) : run_lane(who, p, lane);
    }
}

/// Also tells the engine when the step ends, once that is known.
void JobReplay::work() {
    while (!work_.empty()) {
        const std::uint32_t who = work_.back();
        work_.pop_back();
        advance(who);
    }
    if (left_ == 0) engine_.timer(end_, first_tag_ + step_ends);
}

/// When everything an operation must wait for on the device has ended; unknown while something has not, which the
/// lane then waits for.
double JobReplay::waits_end(Progress& p, const Tape::Op& op, std::size_t lane) {
    double latest = 0;
    for (const Tape::Wait& wait : p.tape->waits_of(op)) {
        if (p.done[Place::lane(wait.place)] <= Place::number(wait.place)) {
            p.block(lane, wait.place);
            return unknown;
        }
        latest = std::max(latest, p.ends[wait.slot]);
    }
    return latest;
}

void JobReplay::pass_syncs(Progress& p) {
    while (p.passed < p.tape->syncs.size()) {
        const std::uint32_t index = p.tape->syncs[p.passed];
        const Tape::Op& op = p.tape->ops[index];
        const double end = waits_end(p, op, sync_lane);
        if (std::isnan(end)) return;
        const double host = p.ends[op.start] + op.issue;
        p.last_sync = std::max(host, end);
        ++p.passed;
        record(p, op, index, {host, p.last_sync});
        p.wake(Progress::a_sync);
    }
}

void JobReplay::run_lane(std::uint32_t who, Progress& p, std::size_t lane) {
    const auto& queue = p.tape->queue[lane];
    while ((p.waiting >> lane & 1U) == 0 && p.next[lane] < queue.size()) {
        const std::uint32_t index = queue[p.next[lane]];
        const Tape::Op& op = p.tape->ops[index];
        if (op.segment > p.passed) {
            p.block(lane, Progress::a_sync);
            return;
        }
        const double waits = waits_end(p, op, lane);
        if (std::isnan(waits)) return;
        ++p.next[lane];
        time(who, p, index, std::max(p.lane_free[lane], waits));
    }
}

/// device: when the lane and everything waited for is free.
void JobReplay::time(std::uint32_t who, Progress& p, std::uint32_t index, double device) {
    const Tape::Op& op = p.tape->ops[index];
    const double start = p.ends[op.start];
    const double begin = std::max(device, start + op.issue);
    if (op.kind == Tape::Kind::local) {
        const bool as_planned = perturbed_ == nullptr || !perturbed_->kernels() ||
                                std::holds_alternative<strategies::Copy>(*op.what) ||
                                std::holds_alternative<strategies::HostCompute>(*op.what);
        const std::uint32_t rank = result_.classes[who].representative;
        const double end = as_planned ? std::max(device + op.device, start + op.done)
                                      : perturbed_->end(rank, index, begin, op.device, op.routed);
        return end_operation(p, op, index, begin, end);
    }
    p.waiting |= 1U << op.lane();
    if (op.kind == Tape::Kind::collective && !rendezvous_.joins(op.route, who)) {
        result_.meets = std::min(result_.meets, begin);
        return;
    }
    const Party party{who, index, begin};
    switch (op.kind) {
        case Tape::Kind::send:
            return begin_transfer(rendezvous_.send(op.route, std::get<strategies::Send>(*op.what).bytes, party));
        case Tape::Kind::receive:
            return begin_transfer(rendezvous_.receive(op.route, std::get<strategies::Recv>(*op.what).bytes, party));
        default:
            return begin_transfer(rendezvous_.join(op.route, collective(op, who), static_cast<Lane>(op.lane()), party));
    }
}

/// As planned, or with the bytes that perturbed routers make of it.
strategies::Collective JobReplay::collective(const Tape::Op& op, std::uint32_t who) const {
    strategies::Collective what = std::get<strategies::Collective>(*op.what);
    if (op.routed && perturbed_ != nullptr)
        what.bytes = perturbed_->routed_bytes(what, result_.classes[who].representative);
    return what;
}

void JobReplay::end_operation(Progress& p, const Tape::Op& op, std::uint32_t index, double begin, double end) {
    p.lane_free[op.lane()] = end;
    end_ = std::max(end_, end);
    record(p, op, index, {begin, end});
}

void JobReplay::record(Progress& p, const Tape::Op& op, std::uint32_t index, Span span) {
    ++p.ended;
    --left_;
    ++p.done[Place::lane(op.place)];
    if (op.slot != Slots::none) {
        p.ends[op.slot] = span.end;
        p.wake(op.place);
    }
    if (p.spans != nullptr) (*p.spans)[index - p.first_span] = span;
}

/// Transfers that cross no contended link end after a time that is known now; the others go to the engine.
void JobReplay::begin_transfer(std::optional<Rendezvous::Number> number) {
    if (!number) return;
    const Meeting meeting = rendezvous_.meeting(*number);
    if (meeting.uses.empty() || meeting.transfer.bytes <= 0)
        return finish(*number, meeting.begin, meeting.begin + meeting.alone);
    engine_.timer(meeting.begin + meeting.transfer.latency, first_tag_ + *number);
}

void JobReplay::finish(Rendezvous::Number number, double begin, double end) {
    for (const Party& party : rendezvous_.part(number)) {
        Progress& p = progress_[party.who];
        const Tape::Op& op = p.tape->ops[party.op];
        p.waiting &= ~(1U << op.lane());
        p.ready |= 1U << op.lane();
        if (p.spans != nullptr && op.kind == Tape::Kind::collective &&
            strategies::among_data_ranks(static_cast<Lane>(op.lane())))
            result_.classes[party.who].data_waits.push_back({party.op, begin - party.ready});
        end_operation(p, op, party.op, begin, end);
        work_.push_back(party.who);
    }
}

/// Not everything has ended.
void JobReplay::refuse() const {
    for (std::size_t who = 0; who < progress_.size(); ++who) {
        const Progress& p = progress_[who];
        if (p.ended != p.tape->ops.size())
            throw std::logic_error(fmt::format("rank {}: {} of {} operations never end",
                                               result_.classes[who].representative, p.tape->ops.size() - p.ended,
                                               p.tape->ops.size()));
    }
    throw std::logic_error("a step without an end");
}

}  // namespace orrery::sim
