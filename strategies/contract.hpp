// Which tensors of its layer an operation reads and writes, and what its kernel's contract demands of them.
#pragma once

#include <vector>

#include "strategies/step_program.hpp"

namespace orrery::strategies {

/// The kernel that is launched for an operation: the one that is priced unless its launch names another; one of its
/// equal parts where it is launched in parts.
kernels::Kernel launched(const kernels::Kernel& priced, const Launch& launch);

/// All that a step launches, each once and in order: of operations that are priced alone what they are priced as.
std::vector<kernels::Kernel> launched_kernels(const StepProgram& step);

/// The operands of a launch, in order: kernels::operands() with what the launch's settings change of their extents.
/// Throws Error as kernels::operands() does.
std::vector<kernels::Operand> contract(const kernels::Kernel& launched, const Launch& launch);

/// A tensor that an operation touches.
struct Touched {
    View view;
    bool reads = false, writes = false;
};

/// Of an operation of a block, operands first, in order. A sum of weights' gradients that is added to counts as
/// written. Empty for an operation without operands.
std::vector<Touched> touched(const StepProgram& step, const Op& op, const Detail& detail);

/// What must lie there when a block begins: activations and gradients that it reads before it writes them, ascending.
/// Of a backward block it is what the layer keeps from its forward, and the gradient of its output. Empty where the
/// layer's flow is not complete.
std::vector<ValueId> carried(const StepProgram& step, const Program& block);

}  // namespace orrery::strategies
