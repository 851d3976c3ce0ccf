// Operations of a stage's program on its parameters as a whole: gradients, their norm, the optimizer, new weights.
#pragma once

#include <vector>

#include "run/bound_program.hpp"

namespace orrery::run {

/// Binds them as the program writes them: every operand (strategies/stage_state.hpp) becomes the stretches of memory in
/// which the rank's layout has it. What it refers to must outlive it, and the actions.
class StageOperations {
public:
    StageOperations(const strategies::StepProgram& step, const strategies::Program& program, const StageModel& model,
                    Bind& bind)
        : step_(step), program_(program), model_(model), bind_(bind) {}

    /// Throws Error for an operation without operands.
    Action bind(const strategies::Op& op);

private:
    [[nodiscard]] std::vector<Stretch> memory(const strategies::Op& op, const strategies::StateView& view);
    [[nodiscard]] void* of_weight(const strategies::StateView& view);
    Action bind_weight_cast(const kernels::Kernel& kernel, const strategies::StateDetail& detail);
    Action bind_kernel(const strategies::Op& op, const kernels::Pointwise& kernel,
                       const strategies::StateDetail& detail);
    Action bind_unscaling(const strategies::Op& op, const strategies::StateDetail& detail);
    Action bind_scatter(const strategies::Collective& what, strategies::Lane lane, const std::vector<Stretch>& formed,
                        const std::vector<Stretch>& sums);
    Action bind_collective(const strategies::Op& op, const strategies::StateDetail& detail);
    Action bind_copy(const strategies::Op& op, const strategies::StateDetail& detail);
    Action bind_host(const strategies::Op& op, const kernels::Pointwise& adam, const strategies::StateDetail& detail);
    Action bind_packed(const strategies::Collective& what, strategies::Lane lane, const std::vector<Stretch>& pieces);

    const strategies::StepProgram& step_;
    const strategies::Program& program_;
    const StageModel& model_;
    Bind& bind_;
    Tensor norm_, overflow_, received_words_, largest_;  ///< taken when they are first asked for, and kept
    int updates_ = 0;                                    ///< bound so far: of each step one
};

}  // namespace orrery::run
