#include "strategies/memory.hpp"

#include <algorithm>
#include <limits>

namespace orrery::strategies {

namespace {

constexpr std::size_t most_samples = 2000;

struct Lifetime {
    std::uint32_t first = std::numeric_limits<std::uint32_t>::max(), last = 0;
};

bool lasting(Keep keep) { return keep == Keep::weight || keep == Keep::gradient || keep == Keep::optimizer; }

std::vector<Lifetime> lifetimes(const Program& program) {
    std::vector<Lifetime> lives(program.buffers.size());
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

/// Which buffers begin and end at each operation, as lists sorted by operation.
struct Events {
    std::vector<std::pair<std::uint32_t, BufferId>> births, deaths;
};

Events events(const Program& program) {
    Events result;
    const auto lives = lifetimes(program);
    for (BufferId id = 0; id < lives.size(); ++id) {
        if (lasting(program.buffers[id].keep) || lives[id].first > lives[id].last) continue;
        result.births.emplace_back(lives[id].first, id);
        result.deaths.emplace_back(lives[id].last, id);
    }
    std::sort(result.births.begin(), result.births.end());
    std::sort(result.deaths.begin(), result.deaths.end());
    return result;
}

std::uint64_t block_peak(const Program& block) {
    const Events changes = events(block);
    std::uint64_t now = 0, peak = 0;
    std::size_t born = 0, died = 0;
    for (std::uint32_t i = 0; i < block.ops.size(); ++i) {
        for (; born < changes.births.size() && changes.births[born].first == i; ++born)
            now += block.buffers[changes.births[born].second].bytes;
        peak = std::max(peak, now);
        for (; died < changes.deaths.size() && changes.deaths[died].first == i; ++died)
            now -= block.buffers[changes.deaths[died].second].bytes;
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
    for (const Buffer& buffer : program.buffers)
        if (lasting(buffer.keep)) now[static_cast<std::size_t>(buffer.keep)] += buffer.bytes;
    const Events changes = events(program);
    std::size_t born = 0, died = 0;
    StageMemory result;
    Phase reached = Phase::forward;
    for (std::uint32_t i = 0; i < program.ops.size(); ++i) {
        for (; born < changes.births.size() && changes.births[born].first == i; ++born) {
            const Buffer& buffer = program.buffers[changes.births[born].second];
            now[static_cast<std::size_t>(buffer.keep)] += buffer.bytes;
        }
        const auto* call = std::get_if<Call>(&program.ops[i].what);
        auto during = now;
        if (call != nullptr) during[static_cast<std::size_t>(Keep::scratch)] += transient[call->block];
        std::uint64_t total = 0;
        for (const std::uint64_t bytes : during) total += bytes;
        if (result.over_time.empty() || result.over_time.back().bytes != total) result.over_time.push_back({i, total});
        std::uint64_t& maximum = maximum_of(result, reached, program.ops[i].label.phase);
        maximum = std::max(maximum, total);
        if (total > result.peak) {
            result.peak = total;
            result.at_peak = during;
        }
        for (; died < changes.deaths.size() && changes.deaths[died].first == i; ++died) {
            const Buffer& buffer = program.buffers[changes.deaths[died].second];
            now[static_cast<std::size_t>(buffer.keep)] -= buffer.bytes;
        }
    }
    thin(result.over_time);
    return result;
}

}  // namespace orrery::strategies
