#include "sim/breakdown.hpp"

#include <algorithm>
#include <vector>

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

class Walk {
public:
    Walk(const strategies::StepProgram& step, const Costs* costs, const RankClass& rank)
        : step_(step), costs_(costs), rank_(rank), program_(step.programs[rank.role]) {
        auto wait = rank.data_waits.begin();
        for (std::size_t i = 0; i < program_.ops.size(); ++i) {
            const Op& op = program_.ops[i];
            if (op.lane == Lane::data) data_.add(rank.spans[i]);
            if (op.lane == Lane::data && std::holds_alternative<Collective>(op.what) && wait != rank.data_waits.end()) {
                waits_.add({rank.spans[i].begin - *wait, rank.spans[i].begin});
                ++wait;
            }
            if (std::holds_alternative<strategies::Send>(op.what) || std::holds_alternative<strategies::Recv>(op.what))
                messages_.add(rank.spans[i]);
            if (std::holds_alternative<strategies::Copy>(op.what)) copies_.add(rank.spans[i]);
        }
        copies_.sort();
        data_.sort();
        waits_.sort();
        messages_.sort();
    }

    Breakdown run(double step_end) && {
        double now = 0;
        for (std::uint32_t i = 0; i < program_.ops.size(); ++i) {
            const Op& op = program_.ops[i];
            if (op.lane != Lane::compute || std::holds_alternative<strategies::HostSync>(op.what)) continue;
            const Span span = rank_.spans[i];
            gap(now, span.begin, std::holds_alternative<Collective>(op.what));
            busy(i, op, span.end - std::max(now, span.begin));
            now = std::max(now, span.end);
        }
        gap(now, step_end, true);
        return sum_;
    }

private:
    void gap(double from, double to, bool waits_for_others) {
        if (to <= from) return;
        const double data = data_.inside(from, to), messages = std::min(messages_.inside(from, to), to - from - data);
        sum_.data_comm += data;
        sum_.pipeline_comm += messages;
        const double copies = std::min(copies_.inside(from, to), to - from - data - messages);
        sum_.offload += copies;
        const double waits = std::min(waits_.inside(from, to), to - from - data - messages - copies);
        sum_.bubble += waits;
        const double rest = to - from - data - messages - copies - waits;
        const bool stage_waits = messages > 0 || messages_.ends_within(from, to) || waits_for_others;
        (stage_waits ? sum_.bubble : sum_.launch) += rest;
    }

    void busy(std::uint32_t index, const Op& op, double seconds) {
        if (const auto* call = std::get_if<Call>(&op.what)) return block(index, call->block, seconds);
        if (op.label.phase == Phase::optimizer) {
            sum_.optimizer += seconds;
        } else if (const auto* compute = std::get_if<Compute>(&op.what)) {
            add(share_of(step_.kernels[compute->kernel], seconds));
        } else if (op.label.phase == Phase::gradient) {
            sum_.data_comm += seconds;
        } else {
            const auto* collective = std::get_if<Collective>(&op.what);
            const bool exchange = collective != nullptr && collective->kind == kernels::CollectiveKind::all_to_all;
            (exchange ? sum_.expert_comm : sum_.tensor_comm) += seconds;
        }
    }

    /// What a block takes beyond its kernels is its collectives; beyond its device time, the host; a slow-down beside
    /// the data lane is that lane's, or where that is empty that of copies.
    void block(std::uint32_t index, std::uint32_t number, double seconds) {
        const Shares& kernels = costs_->block_shares(number);
        const double alone = costs_->block(number).device, slowed = costs_->of(rank_.role, index).device;
        add(kernels);
        const double kernel_seconds = kernels.gemm + kernels.attention + kernels.memory_bound;
        sum_.tensor_comm += alone - kernel_seconds - kernels.expert_comm;
        (data_.empty() ? sum_.offload : sum_.data_comm) += slowed - alone;
        sum_.launch += seconds - slowed;
    }

    void add(const Shares& shares) {
        sum_.gemm += shares.gemm;
        sum_.attention += shares.attention;
        sum_.memory_bound += shares.memory_bound;
        sum_.tensor_comm += shares.tensor_comm;
        sum_.expert_comm += shares.expert_comm;
    }

    const strategies::StepProgram& step_;
    const Costs* costs_;  ///< null: the program holds no calls
    const RankClass& rank_;
    const strategies::Program& program_;
    Sweep data_, messages_, copies_, waits_;  ///< waits_: of data-parallel collectives for other ranks
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
