// From a plan to the step program of every rank.
#pragma once

#include <cstdint>
#include <optional>

#include "strategies/plan.hpp"
#include "strategies/step_program.hpp"

namespace orrery::strategies {

/// The plan must have passed validate(). One role per pipeline stage; where data ranks take unequal numbers of
/// micro-batches one per stage and number, those of a stage next to each other. Under a schedule without flushes a
/// window of steps (StepProgram::steps).
StepProgram build(const Plan& plan);

/// The same with the steady pipeline's rounds written `micro_batches` micro-batches long: what leads in, some rounds,
/// what leads out (Program::rounds). Nothing where that would leave no round out, or where some stage has no two rounds
/// that are alike: with few micro-batches, and under schedules without such rounds (Schedule::round); nor where data
/// ranks take unequal numbers of micro-batches. Under a schedule without flushes rounds are steps, and those left out
/// make the window so long that its ends do not count.
std::optional<StepProgram> build_shortened(const Plan& plan, std::uint32_t micro_batches);

}  // namespace orrery::strategies
