// The attention core on one tensor rank: fused, or as batched products with a softmax over seq x seq. Heads are split
// over the tensor axis; nothing is communicated.
#include "strategies/partition/attention.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "strategies/compiled.hpp"

namespace orrery::strategies {

namespace {

using Shape = AttentionShape;
using kernels::Dtype;
using kernels::PointwiseKind;

AttentionHeads heads_of(const Shape& s, const LayerStream& stream) {
    if (!stream.apart.empty()) return {{View{stream.apart[0]}, View{stream.apart[1]}, View{stream.apart[2]}}, 0};
    const ValueId packed = stream.value;
    return {{View{packed}, View{packed, std::uint64_t{s.heads} * s.head_dim},
             View{packed, std::uint64_t{s.heads + s.kv_heads} * s.head_dim}},
            s.row()};
}

/// A stack's biases of pairs of positions, as many as scores of a sequence, and the sum of their gradients over its
/// layers.
struct PositionBiases {
    View distances, values, gradients;
};

PositionBiases position_biases(LayerStream& stream, std::uint64_t heads) {
    const bool decodes = stream.sequence == models::Sequence::decoded;
    const std::uint64_t pairs = std::uint64_t{stream.seq()} * stream.seq();
    const auto table = [&](Table encoded, Table decoded, kernels::Format format, std::uint64_t elements) {
        return View{stream.flow.table(decodes ? decoded : encoded, format, elements)};
    };
    return {table(Table::encoded_distances, Table::decoded_distances, kernels::Format::int32, pairs),
            table(Table::encoded_biases, Table::decoded_biases, stream.format(), pairs * heads),
            table(Table::encoded_bias_gradients, Table::decoded_bias_gradients, stream.format(), pairs * heads)};
}

/// Kernels are priced with heads of one width, and launched with those that there are.
Launch launch_of(LayerStream& stream, const Shape& s, kernels::Attention kernel, std::uint64_t row_stride,
                 const Launch& dropout) {
    Launch launch = dropout;
    launch.settings.row_stride = row_stride;
    if (s.biased) {
        const PositionBiases biases = position_biases(stream, s.heads);
        launch.position_bias = biases.values;
        if (kernel.backward) launch.position_gradient = biases.gradients;
    }
    if (s.value_dim == s.head_dim) return launch;
    kernel.head_dim = s.head_dim;
    launch.kernel = kernel;
    launch.settings.value_dim = s.value_dim;
    return launch;
}

void fused(LayerStream& stream, const Shape& s, Piece& piece) {
    kernels::Attention forward{s.dtype, false, s.causal, s.batch, s.seq, s.heads, s.kv_heads, s.kernel_dim()};
    forward.window = s.window_in(s.seq);
    if (s.keys != s.seq) forward.key_seq = s.keys;
    forward.dropout = s.dropout;
    kernels::Attention backward = forward;
    backward.backward = true;
    auto& flow = stream.flow;
    const std::uint64_t rows = s.tokens() * s.heads;
    const View o{stream.activation(rows * s.value_dim)}, lse{flow.activation(kernels::Format::fp32, rows)};
    const AttentionHeads heads = heads_of(s, stream);
    const auto [q, k, v] = heads.views;
    const Launch dropout = s.dropout ? stream.next_dropout(DropoutSite::Of::scores) : Launch{};
    const auto gradient = [&](const View& view) { return View{flow.gradient_of(view.value), view.offset}; };
    piece.forward.push_back({.name = "attention",
                             .what = forward,
                             .detail = {{q, k, v, o, lse}, launch_of(stream, s, forward, heads.row_stride, dropout)}});
    piece.backward.push_back({.name = "attention backward",
                              .what = backward,
                              .detail = {{q, k, v, o, lse, gradient(o), gradient(q), gradient(k), gradient(v)},
                                         launch_of(stream, s, backward, heads.row_stride, dropout)}});
    stream.value = o.value;
    piece.saved_bytes = s.qkv_bytes() + s.tokens() * s.heads * 4;  // Q, K, V and the row's log-sum-exp in fp32
    piece.working_bytes = s.qkv_bytes();
}

/// Queries, keys and values are cast before it, and the gradient of its results before the backward.
void cast_operands(const LayerStream& stream, const Shape& s, Piece& piece) {
    add_quantisation(stream.plan, piece.forward, s.tokens(), s.row());
    add_quantisation(stream.plan, piece.backward, s.tokens(), s.result_row());
}

/// Its operands, and results that it keeps beside the projection's, are kept in fp8: so many bytes less. Where it runs
/// again, what it begins with is kept in 16 bits.
std::uint64_t halved(const Plan& plan, const Shape& s) {
    return (s.qkv_bytes() + (attention_keeps_results(plan) ? s.result_bytes() : 0)) / 2;
}

/// Whether heads of keys and values are copied to as many as there are of queries.
bool copies_keys(const Plan& plan, const Shape& s) {
    const bool whole = plan.strategy.context == 1 || plan.templated_ring();
    return !plan.training.enable_gqa && s.kv_heads < s.heads && whole;
}

/// Of keys and of values, [tokens, columns] of so many shared heads each and of as many as queries have: what a kernel
/// that copies them reads and writes, and one that sums the copies' gradients, as one that reads as much as it writes.
/// torch.compile writes keys at once where they are rotated.
void add_key_copies(LayerStream& stream, const Shape& s, Piece& piece) {
    const auto half = [&](std::uint32_t heads, std::uint32_t dim) {
        return stream.pointwise(PointwiseKind::scale, s.key_tokens(), std::uint64_t{heads} * dim / 2);
    };
    const bool joined = is_compiled(stream.plan.training) && stream.plan.model.position == models::PositionKind::rope;
    const auto keys = half(joined ? s.heads - s.kv_heads : s.heads + s.kv_heads, s.head_dim);
    const auto values = half(s.heads + s.kv_heads, s.value_dim);
    piece.forward.insert(piece.forward.begin(),
                         {{.name = "copy keys", .what = keys}, {.name = "copy values", .what = values}});
    for (const auto& [name, what] : {std::pair{"sum key gradients", keys}, {"sum value gradients", values}})
        piece.backward.push_back({.name = name, .what = what});
}

}  // namespace

AttentionShape attention_shape(const models::AttentionCore& op, const LayerStream& stream) {
    const Plan& plan = stream.plan;
    const auto tensor = stream.tensor;
    const Dtype dtype = activation_dtype(plan);
    const std::uint32_t documents = plan.training.documents();
    return {dtype,
            plan.training.micro_batch / stream.grid.token_parts() * documents,
            static_cast<std::uint32_t>(stream.seq()) / documents,
            plan.rank_seq(op.cross ? stream.second_sequence : stream.sequence) / documents,
            static_cast<std::uint32_t>(op.heads / tensor),
            static_cast<std::uint32_t>(std::max<std::uint64_t>(1, op.kv_heads / tensor)),
            static_cast<std::uint32_t>(op.head_dim),
            static_cast<std::uint32_t>(op.values()),
            static_cast<std::uint32_t>(op.window),
            kernels::size_of(dtype),
            op.causal,
            op.dropout,
            plan.model.relative_buckets > 0 && !op.cross,
            op.cross,
            static_cast<std::uint32_t>(std::max<std::uint64_t>(1, op.kv_heads / tensor))};
}

void shard_attention(LayerStream& stream, const models::AttentionCore& op) {
    Piece piece{.name = "attention core", .part_of = Module::core_attn};
    const Shape shared = attention_shape(op, stream);
    Shape shape = shared;
    const bool copies = copies_keys(stream.plan, shared);
    if (copies) shape.kv_heads = shape.heads;
    const bool narrow = stream.plan.training.fp8_attention && is_narrow(stream.plan.training.precision.compute);
    if (narrow) cast_operands(stream, shape, piece);
    if (stream.plan.strategy.context > 1) {
        if (!stream.apart.empty()) stream.layer.flow.complete = false;  // heads are exchanged out of packed rows
        shard_over_context(stream, shape, piece);
    } else if (stream.plan.training.fused_attention) {
        fused(stream, shape, piece);
        piece.results.attention_bytes = shape.result_bytes() + shape.tokens() * shape.heads * 4;  // its log-sum-exp
    } else {
        shard_unfused_attention(stream, shape, heads_of(shape, stream), piece);
    }
    if (attention_keeps_results(stream.plan)) piece.saved_bytes += shape.result_bytes();
    if (copies) add_key_copies(stream, shared, piece);
    piece.input_bytes = shared.qkv_bytes();
    if (narrow && !runs_attention_again(stream.plan)) {
        piece.saved_bytes -= halved(stream.plan, shape);
        piece.input_bytes /= 2;
    }
    stream.apart.clear();
    stream.layer.pieces.push_back(std::move(piece));
}

/// A stack's biases of all pairs of positions, looked up by their distance once a micro-batch; fused attention reads
/// them beside its operands, which is left out: they are one sequence's scores, read for all of a micro-batch's. A rank
/// holds its heads' columns of the table, where Megatron-LM holds all of it (relative_pos_embedding.py) and takes
/// these. What the stack's layers have added up begins as zeros again once the table's gradient has taken it.
void shard_relative_positions(LayerStream& stream, const models::RelativePositions& op) {
    const std::uint64_t pairs = std::uint64_t{stream.seq()} * stream.seq(), heads = op.heads / stream.tensor;
    const PositionBiases biases = position_biases(stream, heads);
    const FlowBuilder::Weights table = stream.parameter(
        {.name = stream.sequence == models::Sequence::decoded ? "decoder.position_biases" : "encoder.position_biases",
         .parts = {op.buckets},
         .cols = op.heads,
         .split = Parameter::Split::cols},
        op.buckets * heads);
    Piece piece{.name = "position biases"};
    Work lookup{.name = "position biases",
                .what = stream.pointwise(PointwiseKind::embedding, pairs, heads),
                .detail = {{biases.distances, {table.weight}, biases.values}}};
    Work scatter{.name = "position biases backward",
                 .what = stream.pointwise(PointwiseKind::embedding_backward, pairs, heads),
                 .detail = {{biases.distances, biases.gradients, {table.gradient}}, stream.into_gradients()}};
    for (Work* work : {&lookup, &scatter}) work->detail.launch.settings.table_rows = op.buckets;
    Detail zeros{{biases.gradients}, {}};
    zeros.launch.kernel = stream.pointwise(PointwiseKind::fill, pairs, heads);
    scatter.detail.also.push_back(std::move(zeros));
    piece.forward.push_back(std::move(lookup));
    piece.backward.push_back(std::move(scatter));
    piece.saved_bytes = piece.working_bytes = pairs * heads * stream.bytes;
    piece.counts.trained = op.buckets * heads;
    stream.layer.pieces.push_back(std::move(piece));
}

}  // namespace orrery::strategies
