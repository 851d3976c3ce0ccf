#include "strategies/memory.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace orrery::strategies {

namespace {

constexpr std::size_t most_samples = 2000;

/// First and last use, in program order.
struct Uses {
    std::uint32_t first = std::numeric_limits<std::uint32_t>::max(), last = 0;
};

bool lasting(const Buffer& buffer) { return buffer.lifetime.span == Lifetime::Span::step; }

std::uint64_t bytes_of(const Buffer& buffer) { return buffer.bytes * buffer.lifetime.versions; }

std::vector<Uses> uses(const Program& program) {
    std::vector<Uses> lives(program.buffers.size());
    for (std::uint32_t i = 0; i < program.ops.size(); ++i) {
        const Op& op = program.ops[i];
        for (const auto list : {program.reads(op), program.writes(op)})
            for (const BufferId id : list) {
                lives[id].first = std::min(lives[id].first, i);
                lives[id].last = i;
            }
    }
    return lives;
}

/// Buffers that begin or end at each operation, row by row.
class Events {
public:
    explicit Events(std::size_t ops) : first_(ops + 1) {}
    void count(std::uint32_t op) { ++first_[op + 1]; }
    void counted() {
        std::partial_sum(first_.begin(), first_.end(), first_.begin());
        buffers_.resize(first_.back());
        next_ = first_;
    }
    void add(std::uint32_t op, BufferId id) { buffers_[next_[op]++] = id; }
    [[nodiscard]] std::span<const BufferId> at(std::uint32_t op) const {
        return {buffers_.data() + first_[op], buffers_.data() + first_[op + 1]};
    }

private:
    std::vector<std::uint32_t> first_, next_;
    std::vector<BufferId> buffers_;
};

/// Of buffers that do not last the whole step.
struct Changes {
    Events births, deaths;
};

Changes changes_of(const Program& program) {
    Changes result{Events(program.ops.size()), Events(program.ops.size())};
    const auto lives = uses(program);
    const auto comes_and_goes = [&](BufferId id) {
        return !lasting(program.buffers[id]) && lives[id].first <= lives[id].last;
    };
    for (BufferId id = 0; id < lives.size(); ++id) {
        if (!comes_and_goes(id)) continue;
        result.births.count(lives[id].first);
        result.deaths.count(lives[id].last);
    }
    result.births.counted();
    result.deaths.counted();
    for (BufferId id = 0; id < lives.size(); ++id) {
        if (!comes_and_goes(id)) continue;
        result.births.add(lives[id].first, id);
        result.deaths.add(lives[id].last, id);
    }
    return result;
}

std::uint64_t block_peak(const Program& block) {
    const Changes changes = changes_of(block);
    std::uint64_t now = 0, peak = 0;
    for (std::uint32_t i = 0; i < block.ops.size(); ++i) {
        for (const BufferId id : changes.births.at(i)) now += bytes_of(block.buffers[id]);
        peak = std::max(peak, now);
        for (const BufferId id : changes.deaths.at(i)) now -= bytes_of(block.buffers[id]);
    }
    return peak;
}

void thin(std::vector<StageMemory::Sample>& samples) {
    if (samples.size() <= most_samples) return;
    // keep the largest sample of every stretch, so that the peak stays
    const std::size_t stretch = (samples.size() + most_samples - 1) / most_samples;
    std::vector<StageMemory::Sample> kept;
    for (std::size_t i = 0; i < samples.size(); i += stretch) {
        const auto end = samples.begin() + static_cast<std::ptrdiff_t>(std::min(i + stretch, samples.size()));
        kept.push_back(*std::max_element(samples.begin() + static_cast<std::ptrdiff_t>(i), end,
                                         [](const auto& a, const auto& b) { return a.bytes < b.bytes; }));
    }
    samples = std::move(kept);
}

/// The three parts of a step, for the three maxima.
std::uint64_t& maximum_of(StageMemory& memory, Phase& reached, Phase phase) {
    if (phase == Phase::optimizer || reached == Phase::optimizer) {
        reached = Phase::optimizer;
        return memory.after_optimizer;
    }
    if (phase == Phase::backward || phase == Phase::gradient || reached == Phase::backward) {
        reached = Phase::backward;
        return memory.after_backward;
    }
    return memory.before_backward;
}

}  // namespace

StageMemory memory(const StepProgram& step, std::uint32_t role) {
    const Program& program = step.programs[role];
    std::vector<std::uint64_t> transient;
    for (const Program& block : step.blocks) transient.push_back(block_peak(block));
    std::array<std::uint64_t, keeps> now{};
    std::uint64_t host = 0;
    const auto in_use = [&](const Buffer& buffer) -> std::uint64_t& {
        return buffer.where == Where::host ? host : now[static_cast<std::size_t>(buffer.keep)];
    };
    for (const Buffer& buffer : program.buffers)
        if (lasting(buffer)) in_use(buffer) += bytes_of(buffer);
    const Changes changes = changes_of(program);
    StageMemory result;
    Phase reached = Phase::forward;
    for (std::uint32_t i = 0; i < program.ops.size(); ++i) {
        for (const BufferId id : changes.births.at(i)) in_use(program.buffers[id]) += bytes_of(program.buffers[id]);
        result.host = std::max(result.host, host);
        const auto* call = std::get_if<Call>(&program.ops[i].what);
        auto during = now;
        if (call != nullptr) during[static_cast<std::size_t>(Keep::scratch)] += transient[call->block];
        std::uint64_t total = 0;
        for (const std::uint64_t bytes : during) total += bytes;
        if (result.over_time.empty() || result.over_time.back().bytes != total)
            result.over_time.push_back({i, total, during});
        std::uint64_t& maximum = maximum_of(result, reached, program.ops[i].label.phase);
        maximum = std::max(maximum, total);
        if (total > result.peak) {
            result.peak = total;
            result.at_peak = during;
        }
        for (const BufferId id : changes.deaths.at(i)) in_use(program.buffers[id]) -= bytes_of(program.buffers[id]);
    }
    thin(result.over_time);
    return result;
}

}  // namespace orrery::strategies
