// Gradients that travel in another format than they are summed in: halves of fp32 sums (Horovod's Compression.fp16,
// PyTorch's fp16_compress_hook and bf16_compress_hook, Whale's half-precision communication), or fp32 of sums in 16
// bits (DeepSpeed's communication_data_type).
#pragma once

#include <cstdint>

#include "strategies/intern.hpp"
#include "strategies/plan.hpp"

namespace orrery::strategies {

/// Throws Error where they do not go with the rest of the plan.
void check_gradient_wire(const Plan& plan);

/// Whether what ranks exchange of gradients is cast before and behind.
bool casts_gradients(const Plan& plan);

/// One kernel over so many numbers, from the format of sums to that of the wire or back, beside the layers. kept: bytes
/// that it makes and that no other buffer has. Returns what it makes.
BufferId cast_gradients(const Plan& plan, Builder& builder, Intern& intern, std::uint64_t numbers, BufferId from,
                        std::uint64_t kept);

}  // namespace orrery::strategies
