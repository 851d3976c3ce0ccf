// Whether torch.compile made the kernels of a step.
#pragma once

#include "strategies/training.hpp"

namespace orrery::strategies {

/// PyTorch's own modules whose operators are joined into kernels.
constexpr bool is_compiled(const Training& training) {
    return training.software == hardware::Software::pytorch && training.kernel_fusion == KernelFusion::full;
}

}  // namespace orrery::strategies
