// The program of one pipeline stage: micro-batches in schedule order, boundary exchanges, gradients, optimizer.
#pragma once

#include "strategies/intern.hpp"
#include "strategies/stage.hpp"

namespace orrery::strategies {

/// left_out: rounds of the steady pipeline that the step has and the plan has not (Program::rounds).
Program stage_program(const Plan& plan, const ModelBlocks& blocks, const Stage& stage, Intern& intern,
                      std::uint32_t left_out = 0);

}  // namespace orrery::strategies
