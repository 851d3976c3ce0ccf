#include "strategies/memory.hpp"

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

#include "strategies/liveness.hpp"

namespace orrery::strategies {

namespace {

constexpr std::size_t most_samples = 2000;

/// change(buffer, operation, bytes) for each that does not last the whole step and is used: how many more of its bytes
/// are there from that operation on, modulo 2^64. They come with its first use and go behind its last.
template <class Change>
void pass(const Program& program, const std::vector<Uses>& lives, const Change& change) {
    for (BufferId id = 0; id < lives.size(); ++id) {
        const Buffer& buffer = program.buffers[id];
        if (lasting(buffer) || !lives[id].any()) continue;
        change(buffer, lives[id].first, bytes_of(buffer));
        change(buffer, lives[id].last + 1, -bytes_of(buffer));
    }
}

/// The same beside those that last, which are there from the first operation on.
template <class Change>
void pass_all(const Program& program, const std::vector<Uses>& lives, const Change& change) {
    for (const Buffer& buffer : program.buffers)
        if (lasting(buffer)) change(buffer, 0, bytes_of(buffer));
    pass(program, lives, change);
}

std::uint64_t block_peak(const Program& block) {
    std::vector<std::uint64_t> more(block.ops.size() + 1);  // than at the operation before, modulo 2^64
    pass(block, uses(block),
         [&](const Buffer& /*buffer*/, std::uint32_t op, std::uint64_t bytes) { more[op] += bytes; });
    std::uint64_t now = 0, peak = 0;
    for (const std::uint64_t change : more) peak = std::max(peak, now += change);
    return peak;
}

/// Bytes of the buffers that are there, or how many more there are, modulo 2^64: a negative number takes away.
struct Bytes {
    std::uint64_t device = 0, host = 0;

    std::uint64_t& of(Where where) { return where == Where::host ? host : device; }
};

/// What an operation finds there more than the one before it; the first, than nothing.
std::vector<Bytes> changes(const Program& program, const std::vector<Uses>& lives) {
    std::vector<Bytes> more(program.ops.size() + 1);
    pass_all(program, lives,
             [&](const Buffer& buffer, std::uint32_t op, std::uint64_t bytes) { more[op].of(buffer.where) += bytes; });
    return more;
}

using ByKeep = std::array<std::uint64_t, keeps>;

/// Of the device's buffers that are there at an operation, and so much scratch more.
ByKeep by_keep_at(const Program& program, const std::vector<Uses>& lives, std::uint32_t op, std::uint64_t scratch) {
    ByKeep sum{};
    sum[static_cast<std::size_t>(Keep::scratch)] = scratch;
    for (BufferId id = 0; id < lives.size(); ++id) {
        const Buffer& buffer = program.buffers[id];
        if (buffer.where == Where::device && (lasting(buffer) || (lives[id].first <= op && op <= lives[id].last)))
            sum[static_cast<std::size_t>(buffer.keep)] += bytes_of(buffer);
    }
    return sum;
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

/// A call's block adds its peak.
std::uint64_t scratch_of(const Op& op, std::span<const std::uint64_t> of_blocks) {
    const auto* call = std::get_if<Call>(&op.what);
    return call != nullptr ? of_blocks[call->block] : 0;
}

std::vector<StageMemory::Sample> samples(const Program& program, const std::vector<Uses>& lives,
                                         std::span<const std::uint64_t> of_blocks) {
    std::vector<ByKeep> more(program.ops.size() + 1);  // as changes(), of the device
    pass_all(program, lives, [&](const Buffer& buffer, std::uint32_t op, std::uint64_t bytes) {
        if (buffer.where == Where::device) more[op][static_cast<std::size_t>(buffer.keep)] += bytes;
    });
    std::vector<StageMemory::Sample> list;
    ByKeep now{};
    for (std::uint32_t i = 0; i < program.ops.size(); ++i) {
        for (std::size_t keep = 0; keep < keeps; ++keep) now[keep] += more[i][keep];
        ByKeep all = now;
        all[static_cast<std::size_t>(Keep::scratch)] += scratch_of(program.ops[i], of_blocks);
        const std::uint64_t total = std::accumulate(all.begin(), all.end(), std::uint64_t{0});
        if (list.empty() || list.back().bytes != total) list.push_back({i, total, all});
    }
    thin(list);
    return list;
}

/// The part of a step that an operation belongs to: of the three maxima its own, or the one that was reached before.
std::uint64_t* maximum_of(StageMemory& memory, std::uint64_t* reached, Phase phase) {
    if (phase == Phase::optimizer) return &memory.after_optimizer;
    const bool first = reached == &memory.before_backward && (phase == Phase::backward || phase == Phase::gradient);
    return first ? &memory.after_backward : reached;
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
    const std::vector<Uses> lives = uses(program);
    const std::vector<Bytes> more = changes(program, lives);
    StageMemory result;
    result.role = role;
    Bytes now;
    std::uint64_t* maximum = &result.before_backward;
    std::uint32_t fullest = 0;
    for (std::uint32_t i = 0; i < program.ops.size(); ++i) {
        now.device += more[i].device;
        now.host += more[i].host;
        result.host = std::max(result.host, now.host);
        const std::uint64_t total = now.device + scratch_of(program.ops[i], of_blocks);
        maximum = maximum_of(result, maximum, program.ops[i].label.phase);
        *maximum = std::max(*maximum, total);
        if (total <= result.peak) continue;
        result.peak = total;
        fullest = i;
    }
    if (result.peak > 0)
        result.at_peak = by_keep_at(program, lives, fullest, scratch_of(program.ops[fullest], of_blocks));
    if (over_time == OverTime::sampled) result.over_time = samples(program, lives, of_blocks);
    return result;
}

StageMemory memory(const StepProgram& step, std::uint32_t role, OverTime over_time) {
    return memory(step, role, block_peaks(step), over_time);
}

}  // namespace orrery::strategies
