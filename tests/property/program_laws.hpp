// What holds of the step program of every plan that the loader takes, whichever strategies meet in it: random
// combinations are held against these laws, and no time is predicted for them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "strategies/plan.hpp"
#include "strategies/step_program.hpp"
#include "tests/scenarios/random_combination.hpp"

namespace orrery::laws {

/// A random combination and its programs: everything about it follows from the seed.
struct BuiltCombination {
    explicit BuiltCombination(std::uint64_t from_seed);

    std::uint64_t seed;
    std::vector<scenarios::RefusedCombination> refused{};  ///< on the way
    std::string document;
    strategies::Plan plan;  ///< a window of a few steps where its steps have no flush
    strategies::StepProgram step{};
    std::vector<std::uint32_t> micro_batches{};  ///< by program: of all the steps it stands for
};

struct ProgramLaw {
    std::string_view name;
    std::string_view says;
    void (*check)(const BuiltCombination&);  ///< throws Violation, or whatever else goes wrong
};
std::span<const ProgramLaw> program_laws();

/// All of them, of a combination that is built once.
void hold_all(const BuiltCombination& of);

// The laws.
void refusals_say_why(const BuiltCombination& of);
void nothing_deadlocks(const BuiltCombination& of);
void flops_are_conserved(const BuiltCombination& of);
void parameters_are_the_models(const BuiltCombination& of);
void gradients_are_reduced_once(const BuiltCombination& of);
void parameters_are_updated_once(const BuiltCombination& of);
void memory_returns(const BuiltCombination& of);

// What they share.

/// The same model and micro-batches on one rank that does nothing twice; its vocabulary as long as the plan's padded
/// one.
strategies::Plan on_one_rank(const strategies::Plan& plan);

/// A program's own, of one step.
struct Parameters {
    std::uint64_t dense = 0, experts = 0;
    std::uint64_t replicated = 0;  ///< of dense ones: held by every tensor rank
};
Parameters parameters_of(const strategies::Program& program);

/// Ranks among which the update of a parameter is divided, by the plan's keys alone.
struct Sharing {
    double dense = 1, experts = 1;
};
Sharing sharing_of(const strategies::Plan& plan);

}  // namespace orrery::laws
