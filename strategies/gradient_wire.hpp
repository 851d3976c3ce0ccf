// Gradients that leave otherwise than they are summed: in another format, halves of fp32 sums (Horovod's
// Compression.fp16, PyTorch's fp16_compress_hook and bf16_compress_hook, Whale's half-precision communication) or fp32
// of sums in 16 bits (DeepSpeed's communication_data_type); or compressed by a ratio, at the cost of passes over them
// (what QSGD, top-k and their like have in common). Errors that a compression keeps for the next step are not counted.
#pragma once

#include <cstdint>
#include <span>

#include "strategies/intern.hpp"
#include "strategies/ownership.hpp"
#include "strategies/plan.hpp"

namespace orrery::strategies {

/// Throws Error where they do not go with the rest of the plan.
void check_gradient_wire(const Plan& plan);

/// So many numbers from one format to another, either way: a cast moves 16 bits and 32; between two formats of as many
/// bits it moves as much as any pass.
kernels::Pointwise cast_between(kernels::Dtype from, kernels::Dtype to, std::uint64_t numbers);

/// Whether kernels run before what ranks exchange of gradients, and behind.
bool changes_gradients(const Plan& plan);

/// Of so many numbers that leave.
std::uint64_t bytes_on_the_wire(const Plan& plan, std::uint64_t numbers);

/// Where a move of gradients runs: sums over groups that share each micro-batch's shards go on beside gathers and
/// scatters (PyTorch, _fsdp_param_group.py, FSDPCommContext: all_reduce_stream; Megatron-FSDP's
/// outer_fsdp_group_grad_reduce_stream), others in line with them.
Lane lane_of(const Plan& plan, const Move& move);

/// What makes a move of so many bytes: a scatter as the plan's software brings it about.
Collective collective_of(const Plan& plan, const Move& move, std::uint64_t bytes);

/// The kernels over so many numbers, from sums to what leaves or back, in line with it beside the layers. from: the
/// first is what is worked on, the others stay until the first kernel has run. kept: bytes that they make and that no
/// other buffer has. Returns what the last makes.
BufferId change_gradients(const Plan& plan, Builder& builder, Intern& intern, std::uint64_t numbers,
                          std::span<const BufferId> from, std::uint64_t kept);

}  // namespace orrery::strategies
