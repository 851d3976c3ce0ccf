// The optimizers of the field: what each keeps of a parameter, and the kernels that update it.
#pragma once

#include <cstdint>
#include <span>

#include "strategies/plan.hpp"

namespace orrery::strategies {

/// One kernel of an update. streams: numbers of the updated format (state_bytes.hpp) that it reads and writes of each
/// parameter, and bytes of others; none: it works on single numbers, such as a ratio of norms.
struct UpdateKernel {
    const char* name;
    double streams;
    double bytes = 0;
};

struct OptimizerRow {
    Optimizer optimizer;
    const char* title;
    /// Bytes a parameter of what is kept beside the master weight, in fp32 unless narrow_moments. Sums by row and by
    /// column (Adafactor) and scales of blocks (8-bit Adam) are below a hundredth of a byte and left out.
    std::uint32_t moments;
    /// Kernels over all parameters, multi-tensor or joined by a compiler; none: it is written parameter by parameter.
    std::span<const UpdateKernel> fused;
    /// Of one parameter, as PyTorch code launches them.
    std::span<const UpdateKernel> by_parameter;
    bool clips;  ///< gradients are clipped inside the update
    bool norms;  ///< asks for norms of whole parameters, also where ranks hold parts of them
    bool narrow_moments = false;
    bool joined = false;  ///< `fused` are a compiler's: PyTorch has none such
};
const OptimizerRow& row_of(Optimizer optimizer);

/// Whether a training's optimizer has kernels over all parameters: 8-bit Adam has none, Adafactor where a compiler
/// joins its operators, Muon has Adam's for its vectors.
bool updates_many_at_once(const Training& training);

/// Whether torch.optim has it, each of whose operations may run over all parameters at once (foreach).
bool has_foreach(Optimizer optimizer);

/// The one update that is executed, and that a host's processor runs as well.
inline bool is_fused_adam(const Training& training) {
    return training.optimizer == Optimizer::adam && training.fused_optimizer && training.master_weights;
}

/// Throws Error at the key that an optimizer does not go with.
void check_optimizer(const Plan& plan);

}  // namespace orrery::strategies
