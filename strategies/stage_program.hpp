// The program of one pipeline stage: micro-batches in schedule order, boundary exchanges, gradients, optimizer.
#pragma once

#include "strategies/intern.hpp"
#include "strategies/stage.hpp"

namespace orrery::strategies {

Program stage_program(const Plan& plan, const ModelBlocks& blocks, const Stage& stage, Intern& intern);

}  // namespace orrery::strategies
