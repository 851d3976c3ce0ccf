// What frameworks copy beside the collectives of zero3: between the flat buffers that these move, and parameters and
// gradients as layers have them (Strategy::full_sharding, FsdpImplementation).
#pragma once

#include <cstdint>
#include <vector>

#include "strategies/intern.hpp"
#include "strategies/plan.hpp"

namespace orrery::strategies {

/// Where copies of gathered weights run: behind their collective and in line with it (DeepSpeed), or on the layers'
/// stream when their turn comes (FSDP2).
enum class CopiesOut : std::uint8_t { none, beside, in_turn };
CopiesOut copies_out(const Plan& plan);

/// What was gathered as layers read it, with room for so many bytes of casts behind it.
BufferId copy_out_of_gather(const Plan& plan, Builder& builder, Intern& intern, const Label& label, std::uint64_t room,
                            BufferId gathered);

/// Whether gradients of weights are what a backward's products write, in the weights' format: each micro-batch's leave
/// whole, so that nothing is added to sums.
bool forms_apart(const Plan& plan);

/// Whether a product's result is added to sums by a kernel of its own, or by the product: not where the gradient was
/// not there before (Plan::gradients_come_and_go), unless several products of a micro-batch form it.
bool adds_apart(const Plan& plan, bool several = false);
bool adds_inside(const Plan& plan);

/// Bytes of so many gradients of one micro-batch.
std::uint64_t formed_bytes(const Plan& plan, std::uint64_t numbers);

/// So many gradients as a reduce_scatter takes them, from those that one micro-batch formed or from sums; the first is
/// what the scatter waits for, the others stay until it has run.
std::vector<BufferId> copy_into_scatter(const Plan& plan, Builder& builder, Intern& intern, std::uint64_t numbers,
                                        BufferId from, bool summed);

}  // namespace orrery::strategies
