// The attention core's shape on one rank, for the files that shard it.
#pragma once

#include <cstdint>

#include "strategies/partition/sharder.hpp"

namespace orrery::strategies {

struct AttentionShape {
    kernels::Dtype dtype;
    std::uint32_t batch;
    std::uint32_t seq;  ///< tokens of a sequence that this rank holds
    std::uint32_t heads, kv_heads, head_dim;
    std::uint64_t element_bytes;
    bool causal, dropout;

    [[nodiscard]] std::uint64_t tokens() const { return std::uint64_t{batch} * seq; }
    [[nodiscard]] std::uint64_t scores() const { return std::uint64_t{batch} * heads * seq * seq; }
    /// Elements of one token's queries, keys and values.
    [[nodiscard]] std::uint64_t row() const { return std::uint64_t{heads + 2 * kv_heads} * head_dim; }
    [[nodiscard]] std::uint64_t qkv_bytes() const { return tokens() * row() * element_bytes; }
    /// Of all tokens, queries (or results), and keys and values.
    [[nodiscard]] std::uint64_t q_bytes() const { return tokens() * heads * head_dim * element_bytes; }
    [[nodiscard]] std::uint64_t kv_bytes() const { return 2 * tokens() * kv_heads * head_dim * element_bytes; }
};

AttentionShape attention_shape(const models::AttentionCore& op, const Plan& plan);

/// Fused attention over sequences that context ranks share, as the plan's context_exchange says.
void shard_over_context(LayerStream& stream, const AttentionShape& shape, Piece& piece);

}  // namespace orrery::strategies
