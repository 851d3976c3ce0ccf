// A step as it was executed and timed, for reports: what they say of it, they say of a predicted one too.
#pragma once

#include <cstdint>

#include "sim/step.hpp"

namespace orrery::report {

/// wall: as it was, with whatever else the machine did. undisturbed: the device time of every operation (CPU time on a
/// CPU) along the program's longest path, as if no other process took the cores; on a GPU the two are nearly equal.
enum class Clock : std::uint8_t { wall, undisturbed };

/// Medians over the measured steps, with one class for each rank and the unrolled program. Provenance names the machine
/// for the cluster and the clock for the profile. Memory is what the ranks hold: parameters, their gradients and
/// optimizer states, and one peak of activations and scratch.
struct MeasuredStep : sim::Step {
    Clock clock = Clock::wall;
};

}  // namespace orrery::report
