#include "sim/replay.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <stdexcept>

#include "sim/rendezvous.hpp"
#include "strategies/hazards.hpp"

namespace orrery::sim {

namespace {

using strategies::Collective;
using strategies::HostSync;
using strategies::Op;
using strategies::Program;
using strategies::Recv;
using strategies::Send;

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

/// What all classes of one role share.
struct Role {
    const Program* program;
    strategies::Hazards hazards;
    std::array<std::vector<std::uint32_t>, strategies::lanes> queue;

    explicit Role(const Program& p) : program(&p), hazards(p) {
        for (std::uint32_t i = 0; i < p.ops.size(); ++i)
            if (!std::holds_alternative<HostSync>(p.ops[i].what))
                queue[static_cast<std::size_t>(p.ops[i].lane)].push_back(i);
    }
};

/// How far one class has come.
struct Progress {
    const Role* role = nullptr;
    std::uint32_t number = 0;  // of the role
    std::vector<Span>* spans = nullptr;
    std::vector<double> host_before;  // host time before it issues an operation; known up to `issued`
    double host = 0;
    std::uint32_t issued = 0;
    std::array<std::uint32_t, strategies::lanes> next{};
    std::array<double, strategies::lanes> lane_free{};
    std::array<bool, strategies::lanes> waiting{};  // the operation before `next` is a transfer that has not ended
    bool queued = false;
};

class Replay final : public EventSink {
public:
    Replay(const strategies::StepProgram& step, const Costs& costs, const Network& network, const Folding& folding,
           Engine& engine)
        : costs_(costs), network_(network), engine_(engine), rendezvous_(step, network, folding) {
        roles_.reserve(step.programs.size());
        progress_.reserve(folding.classes.size());
        for (const Program& program : step.programs) roles_.emplace_back(program);
        result_.classes = folding.classes;
        for (RankClass& rank : result_.classes) start(rank);
    }

    Replayed run() && {
        work();
        engine_.run(*this);
        check_finished();
        return std::move(result_);
    }

    void on_timer(std::uint64_t tag) override {
        const Meeting& meeting = pending_[tag];
        engine_.flow(*meeting.uses, meeting.transfer.bytes, meeting.transfer.rate_limit, tag);
    }
    void on_flow_end(std::uint64_t tag) override {
        finish(pending_[tag], pending_[tag].begin(), engine_.now());
        free_.push_back(tag);
        work();
    }

private:
    void start(RankClass& rank) {
        Progress progress;
        progress.role = &roles_[rank.role];
        progress.number = rank.role;
        const std::size_t ops = progress.role->program->ops.size();
        rank.spans.assign(ops, {unknown, unknown});
        progress.spans = &rank.spans;
        progress.host_before.resize(ops);
        progress_.push_back(std::move(progress));
        enqueue(static_cast<std::uint32_t>(progress_.size() - 1));
    }

    void enqueue(std::uint32_t who) {
        if (progress_[who].queued) return;
        progress_[who].queued = true;
        work_.push_back(who);
    }
    void work() {
        while (!work_.empty()) {
            const std::uint32_t who = work_.back();
            work_.pop_back();
            progress_[who].queued = false;
            advance(who);
        }
    }

    /// When everything an operation must wait for on the device has ended, if that is known.
    [[nodiscard]] std::optional<double> hazards_end(const Progress& p, std::uint32_t op) const {
        double latest = 0;
        for (const std::uint32_t other : p.role->hazards.of(op)) {
            const double end = (*p.spans)[other].end;
            if (std::isnan(end)) return std::nullopt;
            latest = std::max(latest, end);
        }
        return latest;
    }

    void advance(std::uint32_t who) {
        Progress& p = progress_[who];
        for (bool moved = true; moved;) {
            moved = issue(p);
            for (std::size_t lane = 0; lane < strategies::lanes; ++lane) moved |= run_lane(who, p, lane);
        }
    }

    bool issue(Progress& p) {
        const auto& ops = p.role->program->ops;
        const std::uint32_t before = p.issued;
        for (; p.issued < ops.size(); ++p.issued) {
            if (std::holds_alternative<HostSync>(ops[p.issued].what)) {
                const auto end = hazards_end(p, p.issued);
                if (!end) break;
                (*p.spans)[p.issued] = {p.host, std::max(p.host, *end)};
                p.host = std::max(p.host, *end);
            }
            p.host_before[p.issued] = p.host;
            p.host += costs_.of(p.number, p.issued).host;
        }
        return p.issued > before;
    }

    bool run_lane(std::uint32_t who, Progress& p, std::size_t lane) {
        const auto& queue = p.role->queue[lane];
        bool moved = false;
        while (!p.waiting[lane] && p.next[lane] < queue.size()) {
            const std::uint32_t index = queue[p.next[lane]];
            if (index >= p.issued) break;
            const auto hazards = hazards_end(p, index);
            if (!hazards) break;
            ++p.next[lane];
            moved = true;
            time(who, p, lane, index, std::max(p.lane_free[lane], *hazards));
        }
        return moved;
    }

    /// device: when the lane and everything waited for is free.
    void time(std::uint32_t who, Progress& p, std::size_t lane, std::uint32_t index, double device) {
        const OpCost& cost = costs_.of(p.number, index);
        const double host = p.host_before[index];
        const double begin = std::max(device, host + cost.first_dispatch);
        const Op& op = p.role->program->ops[index];
        p.waiting[lane] = true;
        if (const auto* send = std::get_if<Send>(&op.what)) {
            begin_transfer(rendezvous_.send(*send, {who, index, begin}));
        } else if (const auto* recv = std::get_if<Recv>(&op.what)) {
            begin_transfer(rendezvous_.receive(*recv, {who, index, begin}));
        } else if (const auto* collective = std::get_if<Collective>(&op.what)) {
            begin_transfer(rendezvous_.join(*collective, op.lane, {who, index, begin}));
        } else {
            end_operation({who, index, begin}, begin, std::max(device + cost.device, host + cost.host_to_end));
        }
    }

    void end_operation(const Party& party, double begin, double end) {
        Progress& p = progress_[party.who];
        (*p.spans)[party.op] = {begin, end};
        const auto lane = static_cast<std::size_t>(p.role->program->ops[party.op].lane);
        p.lane_free[lane] = end;
        p.waiting[lane] = false;
        result_.end = std::max(result_.end, end);
    }

    /// Transfers that cross no contended link end after a time that is known now; the others go to the engine.
    void begin_transfer(std::optional<Meeting> meeting) {
        if (!meeting) return;
        const double begin = meeting->begin();
        if (meeting->uses->empty() || meeting->transfer.bytes <= 0) {
            finish(*meeting, begin, begin + network_.alone(meeting->transfer, *meeting->alone));
            return;
        }
        std::uint64_t tag = pending_.size();
        if (free_.empty()) {
            pending_.push_back(std::move(*meeting));
        } else {
            tag = free_.back();
            free_.pop_back();
            pending_[tag] = std::move(*meeting);
        }
        engine_.timer(begin + pending_[tag].transfer.latency, tag);
    }

    void finish(const Meeting& meeting, double begin, double end) {
        for (const Party& party : meeting.parties) {
            end_operation(party, begin, end);
            enqueue(party.who);
        }
    }

    void check_finished() const {
        for (const RankClass& rank : result_.classes)
            for (std::size_t i = 0; i < rank.spans.size(); ++i)
                if (std::isnan(rank.spans[i].end))
                    throw std::logic_error(fmt::format("rank {} op {} never ends", rank.representative, i));
    }

    const Costs& costs_;
    const Network& network_;
    Engine& engine_;
    Rendezvous rendezvous_;
    std::vector<Role> roles_;
    std::vector<Progress> progress_;
    std::vector<std::uint32_t> work_;
    std::vector<Meeting> pending_;
    std::vector<std::uint64_t> free_;  // slots of pending_ to use again
    Replayed result_;
};

}  // namespace

Replayed replay(const strategies::StepProgram& step, const Costs& costs, const Network& network, const Folding& folding,
                Engine& engine) {
    return Replay(step, costs, network, folding, engine).run();
}

}  // namespace orrery::sim
