#include "sim/breakdown.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "sim/awaited.hpp"
#include "sim/block_rest.hpp"

namespace orrery::sim {

namespace {

using strategies::Call;
using strategies::Collective;
using strategies::Compute;
using strategies::Lane;
using strategies::Op;
using strategies::Phase;

/// Spans of transfers, swept from left to right.
class Sweep {
public:
    void add(Span span) { spans_.push_back(span); }
    [[nodiscard]] bool empty() const { return spans_.empty(); }
    void sort() {
        std::sort(spans_.begin(), spans_.end(), [](const Span& a, const Span& b) { return a.begin < b.begin; });
    }
    /// Seconds of [from, to) that lie in some span; successive calls move right.
    double inside(double from, double to) {
        double total = 0, covered = from;
        while (next_ < spans_.size() && spans_[next_].end <= from) ++next_;
        for (std::size_t i = next_; i < spans_.size() && spans_[i].begin < to; ++i) {
            const double begin = std::max(spans_[i].begin, covered), end = std::min(spans_[i].end, to);
            if (end <= begin) continue;
            total += end - begin;
            covered = end;
        }
        return total;
    }
    [[nodiscard]] bool ends_within(double from, double to) const {
        for (std::size_t i = next_; i < spans_.size() && spans_[i].begin < to; ++i)
            if (spans_[i].end > from && spans_[i].end <= to) return true;
        return false;
    }

private:
    std::vector<Span> spans_;
    std::size_t next_ = 0;
};

/// Of one rank's spans, those of each kind of traffic; waits: of data-parallel collectives for other ranks.
struct Sweeps {
    Sweep tensor, experts, data, messages, copies, waits;

    Sweeps(const strategies::Program& program, const RankClass& rank) {
        for (std::size_t i = 0; i < program.ops.size(); ++i) {
            const Op& op = program.ops[i];
            if (op.lane == Lane::compute) continue;
            const Span& span = rank.spans[i];
            if (op.lane == Lane::tensor) tensor.add(span);
            if (op.lane == Lane::expert) experts.add(span);
            if (strategies::among_data_ranks(op.lane)) data.add(span);
            if (std::holds_alternative<strategies::Send>(op.what) || std::holds_alternative<strategies::Recv>(op.what))
                messages.add(span);
            if (std::holds_alternative<strategies::Copy>(op.what) ||
                std::holds_alternative<strategies::HostCompute>(op.what))
                copies.add(span);
        }
        for (const Wait& wait : rank.data_waits) {
            const double met = rank.spans[wait.op].begin;
            waits.add({met - wait.seconds, met});
        }
        for (Sweep* sweep : {&tensor, &experts, &data, &messages, &copies, &waits}) sweep->sort();
    }
};

class Walk {
public:
    Walk(const strategies::StepProgram& step, const Costs* costs, const RankClass& rank)
        : step_(step),
          costs_(costs),
          rank_(rank),
          program_(step.programs[rank.role]),
          sweeps_(program_, rank),
          awaited_(program_),
          causes_(step.blocks.size()),
          rests_(step.blocks.size()) {
        for (const kernels::Kernel& kernel : step.kernels) share_of_.push_back(share_of(kernel));
    }

    Breakdown run(double step_end) && {
        bool synced = true;
        const Repeated& repeated = rank_.repeated;
        Breakdown before;
        for (std::uint32_t i = 0; i < program_.ops.size(); ++i) {
            if (repeated.times > 0 && i == repeated.from) before = sum_;
            if (repeated.times > 0 && i == repeated.to) repeat(before, repeated.times);
            const Op& op = program_.ops[i];
            if (std::holds_alternative<strategies::HostSync>(op.what)) {
                host_ = rank_.spans[i].end;
                synced = true;  // whatever the host waited for, the next operation has waited for too
            } else if (op.lane != Lane::compute) {
                awaited_.issue(op, i);
                host_ += costs_ != nullptr ? costs_->of(rank_.role, i).host : 0;
            } else {
                Causes causes = awaited_.wait(op);
                if (costs_ == nullptr || std::exchange(synced, false)) causes = Causes::all();
                visit(i, op, causes);
            }
        }
        gap(now_, step_end - repeated.seconds(), Causes::all(), true, never);
        return sum_;
    }

private:
    /// What came since `before` comes so many times more.
    void repeat(const Breakdown& before, std::uint32_t times) {
        Breakdown round = sum_;
        round.add(before, -1);
        sum_.add(round, times);
    }

    /// An operation of the compute lane.
    void visit(std::uint32_t i, const Op& op, Causes causes) {
        if (const auto* called = std::get_if<Call>(&op.what)) return call(i, *called, causes);
        OpTime time;
        Issued issued;
        if (costs_ != nullptr) {
            const OpCost& cost = costs_->of(rank_.role, i);
            time = {cost.device, costs_->slowed(rank_.role, i)};
            issued = {host_ + cost.first_dispatch, host_ + cost.host_to_end};
            host_ += cost.host;
        }
        pass(op, rank_.spans[i], time, causes, issued);
    }

    void call(std::uint32_t i, const Call& called, Causes causes) {
        const Span span = rank_.spans[i];
        double begin = span.begin;
        for (std::uint32_t time = 0; time < called.times; ++time) {
            const bool last = time + 1 == called.times;
            const BlockTimes& times = costs_->call(rank_.role, i, called.block, time);
            begin = run_block(called.block, times, {begin, last ? span.end : begin + times.cost.device}, causes);
            causes = {};
        }
    }

    /// Where the host is ahead the block goes as its times say; else operation by operation, until it is ahead of all
    /// that are left. Returns its end.
    double run_block(std::uint32_t number, const BlockTimes& times, Span span, Causes causes) {
        const strategies::Program& block = step_.blocks[number];
        double host = std::exchange(host_, host_ + times.cost.host);
        if (host_ <= span.begin) {
            gap(now_, span.begin, causes, std::holds_alternative<Collective>(block.ops.front().what),
                host + times.cost.first_dispatch);
            add(times.shares);
            return now_ = span.end;
        }
        const std::vector<Causes>& own = causes_of(number);
        const BlockRest* rest = nullptr;
        const double end =
            costs_->run(number, times.ops, span.begin, host, spans_, [&](std::uint32_t k, Issued issued) {
                const Op& op = block.ops[k];
                if (op.lane == Lane::compute) pass(op, spans_[k], times.ops[k], k == 0 ? causes : own[k], issued);
                if (op.lane == Lane::tensor) sweeps_.tensor.add(spans_[k]);
                if (op.lane == Lane::expert) sweeps_.experts.add(spans_[k]);
                host += costs_->hand_outs(number)[k].all;
                rest = rest_behind(number, times, k);
                return rest == nullptr || host + rest->host > spans_[k].end;
            });
        if (rest == nullptr) return end;
        add(rest->shares);
        return now_ = end + rest->device;
    }

    /// Behind an operation; nullptr: it is the last, or what is left depends on other lanes, or on what runs beside it.
    const BlockRest* rest_behind(std::uint32_t number, const BlockTimes& times, std::uint32_t k) {
        if (&times != &costs_->block(number)) return nullptr;
        const std::vector<BlockRest>& rests = rests_of(number);
        return k + 1 < rests.size() ? &rests[k + 1] : nullptr;
    }

    const std::vector<BlockRest>& rests_of(std::uint32_t number) {
        std::optional<std::vector<BlockRest>>& rests = rests_[number];
        if (!rests) rests = block_rests(step_, *costs_, number);
        return *rests;
    }

    /// For what each operation of a block waits: the same in every call.
    const std::vector<Causes>& causes_of(std::uint32_t number) {
        std::vector<Causes>& causes = causes_[number];
        if (!causes.empty()) return causes;
        const strategies::Program& block = step_.blocks[number];
        Awaited awaited(block);
        causes.resize(block.ops.size());
        for (std::uint32_t k = 0; k < block.ops.size(); ++k)
            if (block.ops[k].lane == Lane::compute)
                causes[k] = awaited.wait(block.ops[k]);
            else
                awaited.issue(block.ops[k], k);
        return causes;
    }

    void pass(const Op& op, Span span, const OpTime& time, Causes causes, const Issued& issued) {
        if (span.begin > now_) gap(now_, span.begin, causes, std::holds_alternative<Collective>(op.what), issued.first);
        const double begin = std::max(now_, span.begin);
        // Its launches came one by one, and the device waited for them.
        const double waited = issued.end >= span.end ? std::max(0.0, span.end - begin - time.seconds) : 0;
        busy(op, span.end - begin - waited, time);
        sum_.launch += waited;
        now_ = std::max(now_, span.end);
    }

    /// Nothing runs on the compute lane. issued: when the host had issued what comes next.
    void gap(double from, double to, Causes causes, bool waits_for_others, double issued) {
        if (to <= from) return;
        double rest = to - from;
        const auto take = [&](Sweep& sweep, Traffics traffic, double& part) {
            const double seconds = causes.has(traffic) ? std::min(sweep.inside(from, to), rest) : 0;
            part += seconds;
            rest -= seconds;
            return seconds;
        };
        take(sweeps_.tensor, Traffics::tensor, sum_.tensor_comm);
        take(sweeps_.experts, Traffics::experts, sum_.expert_comm);
        take(sweeps_.data, Traffics::data, sum_.data_comm);
        const double messages = take(sweeps_.messages, Traffics::messages, sum_.pipeline_comm);
        take(sweeps_.copies, Traffics::copies, sum_.offload);
        take(sweeps_.waits, Traffics::data, sum_.bubble);
        const bool stage_waits =
            causes.has(Traffics::messages) && (messages > 0 || sweeps_.messages.ends_within(from, to));
        const double host = waits_for_others ? std::clamp(issued - from, 0.0, rest) : rest;
        (stage_waits ? sum_.bubble : sum_.launch) += host;
        sum_.bubble += rest - host;
    }

    void busy(const Op& op, double seconds, const OpTime& time) {
        if (op.label.phase == Phase::optimizer) {
            sum_.optimizer += seconds;
        } else if (const auto* compute = std::get_if<Compute>(&op.what)) {
            kernel(share_of_[compute->kernel], seconds, time);
        } else if (op.label.phase == Phase::gradient) {
            sum_.data_comm += seconds;
        } else {
            const auto* collective = std::get_if<Collective>(&op.what);
            const bool exchange = collective != nullptr && collective->exchanges_tokens();
            (exchange ? sum_.expert_comm : sum_.tensor_comm) += seconds;
        }
    }

    void kernel(ShareOf what, double seconds, const OpTime& time) {
        double own = seconds;
        if (time.slowed.total() > 0) {
            const double longer = time.seconds > 0 ? seconds / time.seconds : 0;  // than planned, where it is perturbed
            own -= longer * time.slowed.total();
            sum_.tensor_comm += longer * time.slowed.tensor;
            sum_.expert_comm += longer * time.slowed.experts;
            sum_.data_comm += longer * time.slowed.data;
            sum_.offload += longer * time.slowed.copies;
        }
        part_of(sum_, what) += own;
    }

    void add(const Shares& shares) {
        sum_.gemm += shares.gemm;
        sum_.attention += shares.attention;
        sum_.memory_bound += shares.memory_bound;
        sum_.tensor_comm += shares.tensor_comm;
        sum_.expert_comm += shares.expert_comm;
        sum_.data_comm += shares.data_comm;
        sum_.offload += shares.offload;
    }

    const strategies::StepProgram& step_;
    const Costs* costs_;  ///< null: the program holds no calls
    const RankClass& rank_;
    const strategies::Program& program_;
    Sweeps sweeps_;
    Awaited awaited_;
    double now_ = 0;                                            ///< when the compute lane is free
    double host_ = 0;                                           ///< when the host is
    std::vector<Span> spans_;                                   ///< of the operations of one call
    std::vector<std::vector<Causes>> causes_;                   ///< of each block, once it is called
    std::vector<ShareOf> share_of_;                             ///< of each kernel
    std::vector<std::optional<std::vector<BlockRest>>> rests_;  ///< of each block, once its host is not ahead
    Breakdown sum_;
};

Breakdown of_one_step(const Breakdown& window, const strategies::StepProgram& step) {
    Breakdown one;
    one.add(window, 1.0 / step.steps);
    return one;
}

}  // namespace

void Breakdown::add(const Breakdown& other, double share) {
    gemm += share * other.gemm;
    attention += share * other.attention;
    memory_bound += share * other.memory_bound;
    tensor_comm += share * other.tensor_comm;
    expert_comm += share * other.expert_comm;
    pipeline_comm += share * other.pipeline_comm;
    data_comm += share * other.data_comm;
    offload += share * other.offload;
    optimizer += share * other.optimizer;
    launch += share * other.launch;
    bubble += share * other.bubble;
}

Breakdown breakdown(const strategies::StepProgram& step, const Costs& costs, const RankClass& rank, double step_end) {
    return of_one_step(Walk(step, &costs, rank).run(step_end), step);
}

Breakdown breakdown(const strategies::StepProgram& unrolled, const RankClass& rank, double step_end) {
    return of_one_step(Walk(unrolled, nullptr, rank).run(step_end), unrolled);
}

}  // namespace orrery::sim
