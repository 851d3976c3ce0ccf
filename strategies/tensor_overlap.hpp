// Overlap of tensor-parallel collectives with the products around them, as Transformer Engine's userbuffers do it
// (transformer_engine/pytorch/module/base.py, initialize_ub; Megatron-LM's --tp-comm-overlap), with its default
// methods: before a column-parallel product and before the input gradient of a row-parallel one, tensor ranks pass
// their parts of the tokens on in a ring, each beside the product of the part that is there; behind a row-parallel
// product its outputs are scattered in four parts, each beside the next part's product.
//
// PyTorch does so in what torch.compile makes (torch/_inductor/fx_passes/micro_pipeline_tp.py and
// torch/distributed/_symmetric_memory): ranks pull each other's parts, on two streams that take turns.
#pragma once

#include <cstdint>

#include "strategies/plan.hpp"

namespace orrery::strategies {

/// Parts in which the outputs of a row-parallel product are scattered: initialize_ub's num_splits.
inline constexpr std::uint32_t scattered_parts = 4;

/// Multiprocessors that products beside whole collectives, and those whose outputs are scattered in parts, leave to
/// them from begin to end: initialize_ub's num_sm and set_sm_margin of "bulk" and "pipeline". Rings take copy engines.
inline constexpr std::uint32_t spared_multiprocessors = 16;

/// Whether ranks pull parts from each other's memory, as PyTorch does.
bool pulls_parts(const Plan& plan);

/// Whether a micro-batch's tokens are so many that every tensor rank has the same of each part.
bool tensor_overlap_divides(const Plan& plan);

/// Bytes of an element that is gathered: one where products take fp8 (initialize_ub, fp8_buf), else an activation's.
std::uint64_t gathered_bytes(const Precision& precision);

/// Of the buffers that a rank registers for the whole training, each for all tokens of a micro-batch: six to gather in,
/// four to scatter from (initialize_ub's names); where parts are pulled, two parts of what is scattered
/// (get_symm_mem_workspace). 0 where the plan overlaps nothing.
std::uint64_t tensor_overlap_buffers(const Plan& plan);

/// Throws Error (pointer under "/strategy") where the plan overlaps what it cannot.
void check_tensor_overlap(const Plan& plan);

}  // namespace orrery::strategies
