// Which operations of which ranks are one transfer, and when it begins.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "sim/step.hpp"

namespace orrery::report {

/// All (rank, operation) of one transfer: the k-th collective of a group on a lane, or the k-th message of a pair.
using Meeting = std::vector<std::pair<std::uint32_t, std::size_t>>;

/// Of an unrolled program. Throws Error when sends and receives do not match, which verify() would have said.
std::vector<Meeting> meetings(const strategies::StepProgram& step);

/// [rank][operation]
using Seconds = std::vector<std::vector<double>>;

/// A transfer begins when the last of its parties is there; others keep their begins.
void begin_together(const std::vector<Meeting>& meetings, Seconds& begins);

/// Longest path: every operation as early as its lane, the host and what it waits for allow, and for so long; a
/// transfer takes what its quickest party took. Spans by rank. The host issues at no cost.
std::vector<std::vector<sim::Span>> earliest(const strategies::StepProgram& step, const Seconds& durations);

}  // namespace orrery::report
