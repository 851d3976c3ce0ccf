// The tensors that an optimizer makes with its first update, not with the model.
#pragma once

#include <cstdint>
#include <vector>

#include "strategies/plan.hpp"
#include "strategies/step_program.hpp"

namespace orrery::strategies {

/// Bytes of each on one rank of a role, on the device, in the order in which they are made: PyTorch's optimizers form
/// the moments of a parameter when step() first comes to it (torch/optim/adam.py, _init_group; Transformer Engine's
/// FusedAdam likewise). Under zero1 and zero2 the first rank's part of all parameters, which lie end to end from the
/// last layer on (Megatron-LM, core/distributed/param_and_grad_buffer.py); under zero3 each parameter's part (FSDP).
/// Two tensors a parameter, one where only four bytes of it are kept.
std::vector<std::uint64_t> optimizer_moments(const Plan& plan, const StepProgram& step, std::uint32_t role);

}  // namespace orrery::strategies
