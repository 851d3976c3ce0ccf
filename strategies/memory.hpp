// Memory of one rank over a step, from the liveness of its program's buffers.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "strategies/step_program.hpp"

namespace orrery::strategies {

/// Bytes of one stage, by Keep, at its peak; and the three maxima.
struct StageMemory {
    std::array<std::uint64_t, keeps> at_peak{};
    std::uint64_t peak = 0;
    std::uint64_t before_backward = 0;  ///< maximum until the first backward operation
    std::uint64_t after_backward = 0;   ///< maximum from there until the first optimizer operation
    std::uint64_t after_optimizer = 0;  ///< maximum from there to the end
    std::uint64_t host = 0;             ///< maximum of host memory, which the others leave out
    struct Sample {
        std::uint32_t op;
        std::uint64_t bytes;
        std::array<std::uint64_t, keeps> by_keep;  ///< of these
    };
    std::vector<Sample> over_time;  ///< where asked for: at every change, in program order; thinned to 2,000 at most
    std::uint32_t role = 0;         ///< whose program it is
};

/// Whether StageMemory::over_time is wanted: its samples take longer than all the rest.
enum class OverTime : std::uint8_t { left_out, sampled };

/// Buffers are there as their lifetimes say, in all their versions; what they hold decides under which Keep they count.
/// A call adds the peak of its block's own buffers while it runs.
StageMemory memory(const StepProgram& step, std::uint32_t role, OverTime over_time = OverTime::left_out);

/// By block: the peak of its own buffers, for memory() of several roles.
std::vector<std::uint64_t> block_peaks(const StepProgram& step);
StageMemory memory(const StepProgram& step, std::uint32_t role, std::span<const std::uint64_t> of_blocks,
                   OverTime over_time = OverTime::left_out);

}  // namespace orrery::strategies
