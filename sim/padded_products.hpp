// Products whose sizes are no multiples of what tensor cores take, as torch.compile runs them.
#pragma once

#include <optional>
#include <vector>

#include "kernels/kernel.hpp"
#include "strategies/training.hpp"

namespace orrery::sim {

/// A product of aligned sizes in another's place, and the kernels that copy operands to them.
struct PaddedProduct {
    kernels::Gemm product;
    std::vector<kernels::Pointwise> copies;
};

/// torch.compile tries products in 16 bits so whose sizes are no multiples of 8, and keeps what is quicker
/// (torch/_inductor/fx_passes/pad_mm.py, should_pad_bench); each operand with such a size is copied, the result is cut
/// where it is read. None for other kernels and software.
std::optional<PaddedProduct> padded(const kernels::Kernel& kernel, const strategies::Training& training);

}  // namespace orrery::sim
