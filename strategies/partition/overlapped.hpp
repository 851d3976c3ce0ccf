// Products of tensor ranks in parts, beside what the ranks exchange (tensor_overlap.hpp). For the files of partition/
// alone. Priced, not executed: works without operands. What is no operator of the framework, but a call of the engine
// within one, is marked as looped.
#pragma once

#include <string>
#include <vector>

#include "strategies/partition/sharder.hpp"

namespace orrery::strategies {

/// Whether the plan overlaps a linear layer's collectives: Megatron-LM gives qkv, proj, fc1 and fc2 their buffers, not
/// the logits, nor what latent attention projects (extensions/transformer_engine.py, tp_comm_buffer_name).
bool overlaps_collectives(const LayerStream& stream, const models::Linear& op);

/// A product over all tokens of a micro-batch.
struct Product {
    const LayerStream& stream;
    std::string name;
    kernels::Gemm all;
};

/// "ring_exchange": a part of the tokens for each tensor rank, its own first. The others come one after the other from
/// the rank before, beside products, and none waits for more than its own part. Where ranks pull, from all others'
/// copies of their parts, each behind the product before the last (_pipelined_multi_all_gather_and_consume). width: of
/// a token that is passed on.
void add_ring_product(std::vector<Work>& list, const Product& product, std::uint64_t width);

/// "pipeline": each part's outputs are scattered beside the next part's product, the last part's behind all. width: of
/// an output token.
void add_scattered_product(std::vector<Work>& list, const Product& product, std::uint64_t width);

/// The same where ranks pull parts (tensor_overlap.hpp, pulls_parts; _pipelined_produce_and_all2all): one for each
/// rank, which that rank takes behind its product, and a kernel behind all that sums what came.
void add_pulled_sums(std::vector<Work>& list, const Product& product, std::uint64_t width);

/// What nothing has written there goes into its buffer: a rank's tokens of `width` numbers, as products take them
/// (copy_input_to_ubuf).
void add_copy_to_buffer(std::vector<Work>& list, const LayerStream& stream, std::uint64_t width);

/// Of an fp8 operand that came through a buffer, the copy in the other order that a weight's gradient needs; mxfp8
/// sends both. needs: flags that it waits for.
void add_turned(std::vector<Work>& list, const LayerStream& stream, std::uint64_t rows, std::uint64_t cols,
                std::uint8_t needs = 0);

}  // namespace orrery::strategies
