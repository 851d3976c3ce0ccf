// Names and kernels of a step program, each stored once.
#pragma once

#include <map>
#include <string>

#include "strategies/step_program.hpp"

namespace orrery::strategies {

/// Hands out indices into StepProgram::names and StepProgram::kernels, in order of first use.
class Intern {
public:
    explicit Intern(StepProgram& step) : step_(step) {}
    std::uint32_t name(const std::string& text);
    Compute kernel(const kernels::Kernel& kernel);
    Label label(const std::string& text, Phase phase, std::int32_t micro_batch = -1, std::int32_t layer = -1) {
        return {.name = name(text), .micro_batch = micro_batch, .layer = layer, .phase = phase};
    }

private:
    StepProgram& step_;
    std::map<std::string, std::uint32_t> names_, kernels_;
};

}  // namespace orrery::strategies
