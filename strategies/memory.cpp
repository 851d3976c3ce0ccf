#include "strategies/memory.hpp"

#include <algorithm>
#include <limits>

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

/// Buffers that come and go as a program is gone through in order: those that do not last the whole step.
class Passing {
public:
    explicit Passing(const Program& program) : program_(program), lives_(uses(program)) {}

    /// born(buffer) for each whose first use is the operation; gone(buffer) for each whose last use it is.
    template <class Born>
    void begin(std::uint32_t op, const Born& born) {
        each(op, [&](BufferId id) {
            if (lives_[id].first != op) return;
            lives_[id].first = told;
            born(program_.buffers[id]);
        });
    }
    template <class Gone>
    void end(std::uint32_t op, const Gone& gone) {
        each(op, [&](BufferId id) {
            if (lives_[id].last != op) return;
            lives_[id].last = told;
            gone(program_.buffers[id]);
        });
    }

private:
    static constexpr std::uint32_t told = std::numeric_limits<std::uint32_t>::max();  // an operation may name it twice

    template <class Use>
    void each(std::uint32_t number, const Use& use) {
        const Op& op = program_.ops[number];
        for (const auto list : {program_.reads(op), program_.writes(op)})
            for (const BufferId id : list)
                if (!lasting(program_.buffers[id])) use(id);
    }

    const Program& program_;
    std::vector<Uses> lives_;
};

std::uint64_t block_peak(const Program& block) {
    Passing buffers(block);
    std::uint64_t now = 0, peak = 0;
    for (std::uint32_t i = 0; i < block.ops.size(); ++i) {
        buffers.begin(i, [&](const Buffer& buffer) { now += bytes_of(buffer); });
        peak = std::max(peak, now);
        buffers.end(i, [&](const Buffer& buffer) { now -= bytes_of(buffer); });
    }
    return peak;
}

/// Bytes of the buffers that are there: by Keep on the device, with their sum, and on the host.
struct InUse {
    std::array<std::uint64_t, keeps> by_keep{};
    std::uint64_t total = 0, host = 0;

    void born(const Buffer& buffer) { change(buffer, bytes_of(buffer)); }
    void gone(const Buffer& buffer) { change(buffer, -bytes_of(buffer)); }
    /// By Keep, and so much scratch more.
    [[nodiscard]] std::array<std::uint64_t, keeps> with(std::uint64_t scratch) const {
        auto sum = by_keep;
        sum[static_cast<std::size_t>(Keep::scratch)] += scratch;
        return sum;
    }

private:
    /// Modulo 2^64: a negative number of bytes takes away.
    void change(const Buffer& buffer, std::uint64_t bytes) {
        if (buffer.where == Where::host) {
            host += bytes;
            return;
        }
        by_keep[static_cast<std::size_t>(buffer.keep)] += bytes;
        total += bytes;
    }
};

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
    InUse now;
    for (const Buffer& buffer : program.buffers)
        if (lasting(buffer)) now.born(buffer);
    Passing buffers(program);
    StageMemory result;
    result.role = role;
    result.over_time.reserve(program.ops.size());
    Phase reached = Phase::forward;
    for (std::uint32_t i = 0; i < program.ops.size(); ++i) {
        buffers.begin(i, [&](const Buffer& buffer) { now.born(buffer); });
        result.host = std::max(result.host, now.host);
        const auto* call = std::get_if<Call>(&program.ops[i].what);
        const std::uint64_t scratch = call != nullptr ? transient[call->block] : 0, total = now.total + scratch;
        if (result.over_time.empty() || result.over_time.back().bytes != total)
            result.over_time.push_back({i, total, now.with(scratch)});
        std::uint64_t& maximum = maximum_of(result, reached, program.ops[i].label.phase);
        maximum = std::max(maximum, total);
        if (total > result.peak) {
            result.peak = total;
            result.at_peak = now.with(scratch);
        }
        buffers.end(i, [&](const Buffer& buffer) { now.gone(buffer); });
    }
    thin(result.over_time);
    return result;
}

}  // namespace orrery::strategies
