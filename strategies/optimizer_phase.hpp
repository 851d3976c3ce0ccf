// What follows the last backward: gradient communication that is still due, the norm, Adam.
#pragma once

#include <span>

#include "strategies/gradient_buckets.hpp"
#include "strategies/intern.hpp"
#include "strategies/optimizer_offload.hpp"
#include "strategies/plan.hpp"
#include "strategies/stage.hpp"

namespace orrery::strategies {

/// Sums the word embedding's gradient over the first and last stage, which both hold it when logits are tied; returns
/// the token that later work reads, or the input when there is nothing to do.
BufferId exchange_embedding_gradients(const Plan& plan, const ModelBlocks& blocks, const Stage& stage, Builder& builder,
                                      Intern& intern, BufferId gradients);

/// Of a stage's parameters on one rank, those that it updates.
std::uint64_t owned_parameters(const Plan& plan, const Stage& stage);

/// How much the rank holds of the stage's parameters, gradients and states.
StageState stage_state(const Plan& plan, const ModelBlocks& blocks, const Stage& stage, const GradientBuckets& buckets);

/// Gradient copy to fp32, overflow check (fp16), norm and clipping, Adam over this rank's share of the parameters (our
/// own scales and clips what it reads, other software in passes before), and with a distributed optimizer the
/// all-gather of the new weights unless it overlaps with the next forward. host: what takes of it the part that is
/// offloaded; null: only the rest is written. update: how many there are with this one.
void emit_optimizer(const Plan& plan, const Stage& stage, Builder& builder, Intern& intern,
                    std::span<const BufferId> gradients, OptimizerOffload* host = nullptr, std::uint32_t update = 1);

}  // namespace orrery::strategies
