// Every operation of every rank with its times, for programs that join a prediction with a measurement.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "sim/step.hpp"

namespace orrery::report {

/// Takes text piece by piece.
using Sink = std::function<void(std::string_view)>;

/// The most that a report with all operations may take: what `compare` still reads into memory.
inline constexpr std::uint64_t most_operations_bytes = std::uint64_t{1} << 30U;

/// About how many bytes operations() writes of this step, calls unrolled: computed without simulating it.
std::uint64_t operations_bytes(const strategies::StepProgram& step);

/// "operations" of prediction.schema.json, written as it goes: one rank at a time is in memory as text. Needs
/// Step::program without calls and Step::trace with one class for each rank; throws std::invalid_argument
/// otherwise, and std::runtime_error for a time that is not finite.
void operations(const sim::Step& step, const Sink& write);

}  // namespace orrery::report
