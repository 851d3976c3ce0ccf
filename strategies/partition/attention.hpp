// The attention core's shape on one rank, for the files that shard it.
#pragma once

#include <array>
#include <cstdint>

#include "strategies/partition/sharder.hpp"

namespace orrery::strategies {

struct AttentionShape {
    kernels::Dtype dtype;
    std::uint32_t batch;  ///< sequences; or, of each, its documents, which lie one behind the other as sequences do
    std::uint32_t seq;    ///< tokens of a sequence that this rank holds, or of a document
    std::uint32_t keys;   ///< of the sequence that queries see: another one's in cross attention
    std::uint32_t heads, kv_heads;
    std::uint32_t head_dim;   ///< of queries and keys
    std::uint32_t value_dim;  ///< of values and results
    std::uint32_t window;     ///< tokens that a query sees; 0: all
    std::uint64_t element_bytes;
    bool causal, dropout;
    bool biased;                 ///< a bias for each head and distance is added to the scores
    bool cross;                  ///< keys and values are of another sequence, and of a layer of their own
    std::uint32_t own_kv_heads;  ///< of keys and values as their layer left them; kv_heads may be copies of these

    [[nodiscard]] std::uint64_t tokens() const { return std::uint64_t{batch} * seq; }
    [[nodiscard]] std::uint64_t key_tokens() const { return std::uint64_t{batch} * keys; }
    [[nodiscard]] std::uint64_t scores() const { return std::uint64_t{batch} * heads * seq * keys; }
    /// Elements of one token's keys and values; of its queries too.
    [[nodiscard]] std::uint64_t kv_row() const { return kv_heads * (std::uint64_t{head_dim} + value_dim); }
    [[nodiscard]] std::uint64_t query_row() const { return std::uint64_t{heads} * head_dim; }
    [[nodiscard]] std::uint64_t row() const { return query_row() + kv_row(); }
    /// Kernels have heads of one width. Where values have another than keys it is the mean: as many products, and as
    /// many bytes.
    [[nodiscard]] std::uint32_t kernel_dim() const { return (head_dim + value_dim) / 2; }
    /// Of one token's results.
    [[nodiscard]] std::uint64_t result_row() const { return std::uint64_t{heads} * value_dim; }
    /// A window that holds whole sequences of `length` tokens is none.
    [[nodiscard]] std::uint32_t window_in(std::uint64_t length) const { return window < length ? window : 0; }
    [[nodiscard]] std::uint64_t qkv_bytes() const {
        return (tokens() * query_row() + key_tokens() * kv_row()) * element_bytes;
    }
    /// Of all tokens, results, and keys and values.
    [[nodiscard]] std::uint64_t result_bytes() const { return tokens() * result_row() * element_bytes; }
    [[nodiscard]] std::uint64_t kv_bytes() const { return tokens() * kv_row() * element_bytes; }
    /// The softmax's log-sum-exp, in fp32.
    [[nodiscard]] std::uint64_t lse_bytes() const { return tokens() * heads * 4; }
};

/// Queries, keys and values of a token are one packed row, or lie apart.
struct AttentionHeads {
    std::array<View, 3> views;
    std::uint64_t row_stride;  ///< elements from one token to the next; 0: they lie apart, each contiguous
};

/// Attention by products, softmax and dropout of their own; leaves the stream its result.
void shard_unfused_attention(LayerStream& stream, const AttentionShape& shape, const AttentionHeads& heads,
                             Piece& piece);

/// Of a layer's tokens; cross attention sees those of its second input.
AttentionShape attention_shape(const models::AttentionCore& op, const LayerStream& stream);

/// Fused attention over sequences that context ranks share, as the plan's context_exchange says.
void shard_over_context(LayerStream& stream, const AttentionShape& shape, Piece& piece);

}  // namespace orrery::strategies
