// 1-bit Adam: data ranks exchange signs of their momentum, with error feedback (Tang et al. 2021, arXiv:2102.02888).
//
// A warm-up of ordinary Adam leaves the second moments as they then are. Behind it no gradient is reduced: each rank
// adds its own to its momentum, what earlier compressions lost to that, and sends of the sum one bit a number and one
// scale, the root of its mean square. Each rank is the server of a part: it averages what came of it, compresses the
// average likewise, with an error of its own, and all gather these parts. What runs is DeepSpeed's
// (runtime/fp16/onebit/adam.py and runtime/comm/nccl.py, 2025; fp16's optimizer has one flat group): a kernel for each
// operation of PyTorch or CuPy, all of it behind the last backward. Every rank clips by the norm of its own gradients.
// One group of parameters, a weight decay and no mask of the momentum are taken for granted.
#pragma once

#include <cstdint>

#include "strategies/intern.hpp"
#include "strategies/plan.hpp"

namespace orrery::strategies {

/// Throws Error where compressed momentum does not go with the rest of the plan.
void check_compression(const Plan& plan);

/// Bytes of what compressions have lost so far, fp32: of a rank's `parameters`, and of the part that it is server of.
std::uint64_t compression_error_bytes(const Plan& plan, std::uint64_t parameters);

/// Momentum, its compressed exchange among data ranks, and the update of a rank's `parameters`.
void emit_compressed_update(const Plan& plan, std::uint64_t parameters, Builder& builder, Intern& intern);

}  // namespace orrery::strategies
