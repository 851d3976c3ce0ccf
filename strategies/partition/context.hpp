// What the ways to share sequences among context ranks have in common: for the files that write them.
#pragma once

#include <cstdint>
#include <vector>

#include "strategies/partition/attention.hpp"

namespace orrery::strategies {

/// Attention that `ranks` of a group share: its shape on one of them, the rows of queries, keys and values that it
/// takes, and of results that it leaves.
struct SharedCore {
    AttentionShape shape;
    std::uint32_t ranks;
    AxisSet group;
    ValueId packed, result;
};

class ContextSharder {
protected:
    ContextSharder(LayerStream& stream, const SharedCore& core, Piece& piece)
        : stream_(stream),
          s_(core.shape),
          piece_(piece),
          ranks_(core.ranks),
          group_(core.group),
          packed_(core.packed),
          result_(core.result) {}

    using List = std::vector<Work>;

    [[nodiscard]] kernels::Attention kernel(bool backward, std::uint32_t queries, std::uint32_t keys,
                                            bool causal) const {
        kernels::Attention a{s_.dtype, backward, causal, s_.batch, queries, s_.heads, s_.kv_heads, s_.kernel_dim()};
        a.key_seq = keys;
        if (causal) a.window = s_.window_in(keys);
        return a;
    }
    /// Over so many rows of all of a rank's heads.
    void pass(List& list, const char* name, kernels::PointwiseKind kind, std::uint64_t rows, std::uint64_t cols) const {
        list.push_back({name, stream_.pointwise(kind, rows, cols)});
    }
    void exchange(List& list, const char* name, kernels::CollectiveKind kind, std::uint64_t bytes,
                  std::uint8_t raises = 0) const {
        list.push_back({.name = name, .what = LayerCollective{kind, bytes, group_}, .raises = raises});
    }
    [[nodiscard]] std::uint32_t window() const { return s_.window_in(std::uint64_t{s_.seq} * ranks_); }
    /// Whether kernels can be given it: keys and values are as wide as each other.
    [[nodiscard]] bool executable() const { return s_.head_dim == s_.value_dim; }
    /// Of a token's keys, or values.
    [[nodiscard]] std::uint64_t keys_width() const { return std::uint64_t{s_.kv_heads} * s_.head_dim; }
    [[nodiscard]] ValueId log_sum_exps() const {
        return stream_.flow.activation(kernels::Format::fp32, s_.tokens() * s_.heads);
    }
    /// Of the queries in their packed rows, and of keys in rows of so many elements (0: the same).
    [[nodiscard]] Launch shared(SharedSequences::Step step, std::uint32_t number, std::uint64_t key_stride) const {
        Launch launch;
        launch.settings.row_stride = s_.row();
        launch.settings.key_stride = key_stride;
        launch.settings.lse_stride = s_.seq;
        launch.shared = {.step = step,
                         .number = number,
                         .causal = s_.causal,
                         .ranks = ranks_,
                         .batch = s_.batch,
                         .seq = s_.seq,
                         .window = window()};
        return launch;
    }

    LayerStream& stream_;
    AttentionShape s_;
    Piece& piece_;
    std::uint32_t ranks_;
    AxisSet group_;
    ValueId packed_, result_;  ///< what the piece takes, and what it leaves
};

/// Keys and values passed around a ring.
void shard_as_ring(LayerStream& stream, const SharedCore& core, Piece& piece);

/// A ring of PyTorch's operators; gathers: keys and values come all at once. Priced, not executed.
void shard_as_templated_ring(LayerStream& stream, const SharedCore& core, Piece& piece, bool gathers);

}  // namespace orrery::strategies
