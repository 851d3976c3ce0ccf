#include "strategies/build.hpp"

#include "strategies/stage.hpp"
#include "strategies/stage_program.hpp"

namespace orrery::strategies {

StepProgram build(const Plan& plan) {
    StepProgram step;
    step.mesh = plan.mesh();
    Intern intern(step);
    const ModelBlocks blocks = add_model_blocks(step, intern, plan);
    for (std::uint32_t p = 0; p < plan.strategy.pipeline; ++p)
        step.programs.push_back(stage_program(plan, blocks, place_layers(blocks, plan, p), intern));
    step.role.resize(step.mesh.ranks());
    for (std::uint32_t rank = 0; rank < step.mesh.ranks(); ++rank)
        step.role[rank] = static_cast<std::uint16_t>(step.mesh.coordinate(rank, Axis::pipeline));
    return step;
}

}  // namespace orrery::strategies
