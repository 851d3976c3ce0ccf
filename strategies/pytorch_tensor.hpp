// What a plan of torch.distributed.tensor.parallel says beyond how layers are split: who exchanges the input of
// products that a model's code keeps apart (queries, keys, values; a gate and its neighbour), and who has the logits.
#pragma once

#include "strategies/plan.hpp"

namespace orrery::strategies {

/// Each of those products gathers its input, and reduces the gradient of it, for itself: ColwiseParallel layers with
/// input layouts of their own, and no PrepareModuleInput of the module around them.
bool exchanges_inputs_apart(const Plan& plan);

/// Each tensor rank gathers the logits of all words, and forms the loss over them.
bool gathers_logits(const Plan& plan);

/// Throws Error (pointer "/strategy/tp_prepare_module_input" or "/strategy/loss_parallel") where one is false and means
/// nothing, or stands beside what it cannot. A single tensor rank exchanges nothing, and is none of these.
void check_pytorch_tensor(const Plan& plan);

}  // namespace orrery::strategies
