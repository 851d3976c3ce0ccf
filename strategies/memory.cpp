#include "strategies/memory.hpp"

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

namespace orrery::strategies {

namespace {

constexpr std::size_t most_samples = 2000;

/// First and last use, in program order.
struct Uses {
    std::uint32_t first = std::numeric_limits<std::uint32_t>::max(), last = 0;

    [[nodiscard]] bool any() const { return first <= last; }
};

bool lasting(const Buffer& buffer) { return buffer.lifetime.span == Lifetime::Span::step; }

std::uint64_t bytes_of(const Buffer& buffer) { return buffer.bytes * buffer.lifetime.versions; }

std::vector<Uses> uses(const Program& program) {
    std::vector<Uses> lives(program.buffers.size());
    for (std::uint32_t i = 0; i < program.ops.size(); ++i) {
        const Op& op = program.ops[i];
        const std::span operands(program.operands.data() + op.operands, std::size_t{op.reads} + op.writes);
        for (const BufferId id : operands) {
            lives[id].first = std::min(lives[id].first, i);
            lives[id].last = i;
        }
    }
    return lives;
}

/// come(buffer, operation) for each that does not last the whole step and is used, go(buffer, operation) with the
/// first at which it is no longer there: one past its last use.
template <class Come, class Go>
void pass(const Program& program, const Come& come, const Go& go) {
    const std::vector<Uses> lives = uses(program);
    for (BufferId id = 0; id < lives.size(); ++id) {
        if (lasting(program.buffers[id]) || !lives[id].any()) continue;
        come(program.buffers[id], lives[id].first);
        go(program.buffers[id], lives[id].last + 1);
    }
}

std::uint64_t block_peak(const Program& block) {
    std::vector<std::uint64_t> more(block.ops.size() + 1);  // modulo 2^64
    pass(
        block, [&](const Buffer& buffer, std::uint32_t op) { more[op] += bytes_of(buffer); },
        [&](const Buffer& buffer, std::uint32_t op) { more[op] -= bytes_of(buffer); });
    std::uint64_t now = 0, peak = 0;
    for (const std::uint64_t change : more) peak = std::max(peak, now += change);
    return peak;
}

/// Bytes of the buffers that are there, or how many more there are: by Keep on the device, with their sum, and on the
/// host. Modulo 2^64: a negative number of bytes takes away.
struct InUse {
    std::array<std::uint64_t, keeps> by_keep{};
    std::uint64_t total = 0, host = 0;

    void add(const Buffer& buffer) { change(buffer, bytes_of(buffer)); }
    void take(const Buffer& buffer) { change(buffer, -bytes_of(buffer)); }
    InUse& operator+=(const InUse& more) {
        for (std::size_t keep = 0; keep < keeps; ++keep) by_keep[keep] += more.by_keep[keep];
        total += more.total;
        host += more.host;
        return *this;
    }
    /// By Keep, and so much scratch more.
    [[nodiscard]] std::array<std::uint64_t, keeps> with(std::uint64_t scratch) const {
        auto sum = by_keep;
        sum[static_cast<std::size_t>(Keep::scratch)] += scratch;
        return sum;
    }

private:
    void change(const Buffer& buffer, std::uint64_t bytes) {
        if (buffer.where == Where::host) {
            host += bytes;
            return;
        }
        by_keep[static_cast<std::size_t>(buffer.keep)] += bytes;
        total += bytes;
    }
};

/// What an operation finds there more than the one before it.
std::vector<InUse> changes(const Program& program) {
    std::vector<InUse> more(program.ops.size() + 1);
    pass(
        program, [&](const Buffer& buffer, std::uint32_t op) { more[op].add(buffer); },
        [&](const Buffer& buffer, std::uint32_t op) { more[op].take(buffer); });
    return more;
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

std::vector<std::uint64_t> block_peaks(const StepProgram& step) {
    std::vector<std::uint64_t> peaks;
    peaks.reserve(step.blocks.size());
    for (const Program& block : step.blocks) peaks.push_back(block_peak(block));
    return peaks;
}

StageMemory memory(const StepProgram& step, std::uint32_t role, std::span<const std::uint64_t> of_blocks,
                   OverTime over_time) {
    const Program& program = step.programs[role];
    const std::vector<InUse> more = changes(program);
    InUse now;
    for (const Buffer& buffer : program.buffers)
        if (lasting(buffer)) now.add(buffer);
    StageMemory result;
    result.role = role;
    Phase reached = Phase::forward;
    for (std::uint32_t i = 0; i < program.ops.size(); ++i) {
        now += more[i];
        result.host = std::max(result.host, now.host);
        const auto* call = std::get_if<Call>(&program.ops[i].what);
        const std::uint64_t scratch = call != nullptr ? of_blocks[call->block] : 0, total = now.total + scratch;
        auto& samples = result.over_time;
        if (over_time == OverTime::sampled && (samples.empty() || samples.back().bytes != total))
            samples.push_back({i, total, now.with(scratch)});
        std::uint64_t& maximum = maximum_of(result, reached, program.ops[i].label.phase);
        maximum = std::max(maximum, total);
        if (total > result.peak) {
            result.peak = total;
            result.at_peak = now.with(scratch);
        }
    }
    thin(result.over_time);
    return result;
}

StageMemory memory(const StepProgram& step, std::uint32_t role, OverTime over_time) {
    return memory(step, role, block_peaks(step), over_time);
}

}  // namespace orrery::strategies
