#include "tests/property/program_laws.hpp"

#include <fmt/format.h>

#include <array>
#include <random>

#include "scenarios/scenario.hpp"
#include "strategies/build.hpp"
#include "strategies/refusal_sources.hpp"
#include "strategies/replica_batches.hpp"
#include "tests/property/laws.hpp"

namespace orrery::laws {

namespace {

using strategies::Plan;
using strategies::Program;
using strategies::StepProgram;

constexpr std::array program_table{
    ProgramLaw{"refusals", "a refusal says where, what, who says so and what to do", refusals_say_why},
    ProgramLaw{"progress", "programs are well formed and end, and those of one replica alone", nothing_deadlocks},
    ProgramLaw{"flops", "all ranks together compute what one would", flops_are_conserved},
    ProgramLaw{"parameters", "all ranks together hold the model", parameters_are_the_models},
    ProgramLaw{"gradients", "every gradient is summed over its replicas once", gradients_are_reduced_once},
    ProgramLaw{"updates", "every parameter is updated once", parameters_are_updated_once},
    ProgramLaw{"memory", "memory comes back to where it began", memory_returns},
};

/// Which each program takes: where data ranks take unequal numbers of them a stage has a program for each.
std::vector<std::uint32_t> micro_batches_by_program(const Plan& plan, const StepProgram& step) {
    const strategies::ReplicaCounts counts = strategies::replica_counts(plan);
    std::vector<std::uint32_t> list;
    for (std::size_t p = 0; p < step.programs.size(); ++p)
        list.push_back(step.steps * counts.distinct.at(p % counts.distinct.size()));
    return list;
}

/// Whether strategies do not go together, with each other or with a model: not that they do not fit the cluster, whose
/// GPUs are too few, lack a format or have no rank.
bool is_of_strategies(const Error& why) {
    const auto says = [&](const char* what) { return why.message().find(what) != std::string::npos; };
    if (why.pointer() == "/strategy/placement") return false;
    if (says(" GPUs") || says(" tensor cores") || says(" matrix cores") || says(" data sheet") || says(" datasheet"))
        return false;
    return why.pointer().starts_with("/strategy/") || why.pointer().starts_with("/training/");
}

}  // namespace

std::span<const ProgramLaw> program_laws() { return program_table; }

void hold_all(const BuiltCombination& of) {
    for (const ProgramLaw& law : program_table) {
        try {
            law.check(of);
        } catch (const std::exception& fault) {
            throw Violation(fmt::format("{} ({}): {}\n  {}", law.name, law.says, fault.what(), of.document));
        }
    }
}

BuiltCombination::BuiltCombination(std::uint64_t from_seed) : seed(from_seed) {
    std::mt19937_64 random(seed);
    const nlohmann::json drawn = scenarios::random_combination(random, &refused);
    document = drawn.dump();
    plan = scenarios::from_json(drawn, "combination.json").plan;
    constexpr std::uint32_t steps = 3;
    plan.window_steps = steps;
    step = strategies::build(plan);
    micro_batches = micro_batches_by_program(plan, step);
}

void refusals_say_why(const BuiltCombination& of) {
    for (const scenarios::RefusedCombination& refused : of.refused) {
        const Error& why = refused.why;
        require(why.pointer().starts_with('/') && !why.message().empty() && !why.hint().empty(),
                fmt::format("\"{}\" at \"{}\" with hint \"{}\" of {}", why.message(), why.pointer(), why.hint(),
                            refused.document.dump()));
        require(!is_of_strategies(why) || strategies::names_source(why.message()),
                fmt::format("\"{}\" at \"{}\" names no source", why.message(), why.pointer()));
    }
}

namespace {

void require_progress(const StepProgram& step) {
    const std::vector<std::string> problems = verify(step);
    require(problems.empty(), problems.empty() ? "" : problems.front());
}

}  // namespace

/// A scale factor is held against one replica.
void nothing_deadlocks(const BuiltCombination& of) {
    require_progress(of.step);
    if (of.plan.strategy.data == of.plan.expert_extent()) return;
    require_progress(strategies::build(strategies::replica_alone(of.plan, 0)));
}

Parameters parameters_of(const Program& program) {
    Parameters sum;
    for (const strategies::BucketState& bucket : program.state.buckets)
        (bucket.experts ? sum.experts : sum.dense) += bucket.parameters;
    sum.replicated = program.state.replicated;
    return sum;
}

}  // namespace orrery::laws
