// The operations of a sharded layer's forward and backward, in order: what its blocks are made of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "strategies/block_writer.hpp"
#include "strategies/partition/tensor.hpp"
#include "strategies/plan.hpp"

namespace orrery::strategies {

/// A backward in one go, or one of the two works that it can be split into.
enum class Gradients : std::uint8_t { both, of_inputs, of_weights };

/// begins: of each piece its first operation.
struct ForwardOps {
    std::vector<BlockOp> ops;
    std::vector<std::uint32_t> begins;
};
/// The layer's pieces [from, to). Buffers are `builder`'s.
ForwardOps forward_ops(Intern& intern, Builder& builder, const ShardedLayer& layer, std::size_t from, std::size_t to);
/// What a backward runs again of pieces [0, to) in a block of its own; what that brings back is counted where the
/// backward goes on.
std::vector<BlockOp> ops_run_again(Intern& intern, Builder& builder, const ShardedLayer& layer, Again again,
                                   std::size_t to);
/// ran: of pieces that run again, how many did so in a block of their own, before the host waited.
std::vector<BlockOp> backward_ops(Intern& intern, Builder& builder, const ShardedLayer& layer, Again again,
                                  Gradients gradients, std::size_t ran);

}  // namespace orrery::strategies
