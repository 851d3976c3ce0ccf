// Bytes of weights, gradients and optimizer states per parameter.
#pragma once

#include <cstdint>

#include "strategies/plan.hpp"

namespace orrery::strategies {

/// Mixed-precision Adam as in Megatron-LM (docs/distrib_optimizer.md): 16-bit weights with 16-bit gradients need 20
/// bytes a parameter, with fp32 gradients 18; fp32 training 16. The distributed optimizer divides `optimizer` and
/// `gradient_copy` by the data size. Other optimizers keep other moments (optimizers.hpp).
/// weight: in 16 bits or fp32; what is kept of narrow products' weights says narrow_weights.hpp.
/// Without master weights the optimizer works in the weights' format: Adam's two moments are as wide as they, and
/// gradients are not copied (torch/optim/adamw.py: states like the parameter).
struct StateBytes {
    std::uint32_t weight = 0, gradient = 0, optimizer = 0;
    /// Of 16-bit gradients in fp32, which are there while the optimizer runs alone: it forms them (Megatron-LM,
    /// core/optimizer/optimizer.py, _copy_model_grads_to_main_grads), and zero_grad drops them before the next forward.
    std::uint32_t gradient_copy = 0;
};
StateBytes state_bytes(const Training& training);

/// What the optimizer updates, and keeps its moments in: fp32, or the weights' format where there are no masters.
kernels::Dtype updated_format(const Training& training);
/// Bytes a parameter of the optimizer's moments.
std::uint32_t moment_bytes(const Training& training);
/// Of these and of what it updates.
std::uint32_t checkpoint_bytes(const Training& training);

/// Orrery's own runtime takes memory for those copies once and keeps it with the states (run/parameters.hpp).
bool keeps_gradient_copies(const Plan& plan);

}  // namespace orrery::strategies
