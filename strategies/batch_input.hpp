// What a micro-batch begins with where each rank of a tensor group asks for its data.
//
// Megatron-LM until November 2023 (commit 8127d2a9d9, "Building on TP rank 0 and broadcasting the datasets to other TP
// ranks") and Megatron-DeepSpeed: pretrain_gpt.py, get_batch, calls core/tensor_parallel/data.py, broadcast_data, which
// broadcasts the sizes of what comes and reads them on the host. The host therefore waits once a micro-batch until its
// device has nothing left to do, and all that it then does until the first kernel is exposed: the copy of the tokens
// to the device and their broadcast, the copies that shift them into inputs and labels, and the masks
// (megatron/utils.py, get_ltor_masks_and_position_ids). Python's loader of data is not counted.
#pragma once

#include "strategies/intern.hpp"
#include "strategies/plan.hpp"

namespace orrery::strategies {

/// Appends what a micro-batch begins with to a stage's program, ahead of a forward of micro-batch `micro_batch`. Every
/// stage does it, whether it needs tokens or not. Does nothing in a plan without broadcast_data.
void emit_batch_input(const Plan& plan, std::uint32_t micro_batch, Builder& builder, Intern& intern);

/// Appends what the same scripts do with a micro-batch's losses behind the last layer (pretrain_gpt.py, loss_func): the
/// mean over the loss mask, which is then averaged over the replicas for the log, and its share of the step's. Likewise
/// nothing in a plan without broadcast_data.
void emit_batch_loss(const Plan& plan, std::uint32_t micro_batch, Builder& builder, Intern& intern);

}  // namespace orrery::strategies
