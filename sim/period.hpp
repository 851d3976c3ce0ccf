// The period of a step that repeats itself, found in the replay of its shortened program.
#pragma once

#include <optional>

#include "sim/kind_costs.hpp"
#include "sim/replay.hpp"
#include "sim/tape.hpp"

namespace orrery::sim {

/// What all ranks do in the last `seconds` before the moment `at` they do again behind it, and again, for as long as
/// their programs go on in rounds.
struct Period {
    double seconds = 0;
    double at = 0;  ///< seconds from the step's beginning
};

/// Compares the states of the whole step at two moments a round apart (engine.md): how far every lane of every class
/// has come, when what is under way began, when hosts last waited, and whatever had a part in how far transfers under
/// way are. Nothing unless all of it is the same but for the time; then so is all that follows. classes: replayed as
/// planned and by themselves, with spans; of a program whose rounds are written (Program::rounds).
std::optional<Period> find_period(const strategies::StepProgram& step, const KindCosts& costs, const Tapes& tapes,
                                  const std::vector<RankClass>& classes);

/// Puts the rounds that were left out where the period was seen: ends move, and each class knows what stands for more
/// than it is (RankClass::repeated).
void repeat(const strategies::StepProgram& step, const Period& period, Replayed& replayed);

}  // namespace orrery::sim
