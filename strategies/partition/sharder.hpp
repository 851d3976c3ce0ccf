// The state in which a layer's operators are sharded one after the other: each adds one piece (experts add several) and
// leaves a tensor to the next. For the files of partition/ alone.
#pragma once

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "strategies/dataflow.hpp"
#include "strategies/layout.hpp"
#include "strategies/partition/tensor.hpp"
#include "strategies/shard_copies.hpp"

namespace orrery::strategies {

/// What the operators of one layer have in common, and what they hand on.
struct LayerStream {
    /// Of a layer whose tokens are of one sequence; `second`: those of its second input.
    LayerStream(const Plan& plan, ShardedLayer& layer, models::Sequence sequence, models::Sequence second);

    const Plan& plan;
    ShardedLayer& layer;
    FlowBuilder flow;
    std::uint64_t tokens = 0;           ///< of a micro-batch
    std::uint64_t residual_tokens = 0;  ///< of these, those that this rank holds of the residual stream
    models::Sequence sequence, second_sequence;
    TensorGrid grid;
    std::uint32_t tensor;             ///< parts of widths: tensor ranks, or those of a row of their grid
    Placement residual;               ///< of the residual stream over the tensor axis
    kernels::Dtype element;           ///< of activations
    std::uint64_t bytes;              ///< of one
    kernels::Dtype residual_element;  ///< of the residual stream
    kernels::Dtype function_element;  ///< of what activation functions take and leave

    ValueId value = no_value;   ///< what the last operator left
    ValueId branch = no_value;  ///< the input of the open branch
    /// The piece that began it, a norm or a linear layer: its backward ends in the sum of both ways' gradients.
    std::size_t branch_begin = 0;
    std::size_t norm = 0;  ///< the piece of the last norm, and what it left
    ValueId normed = no_value;
    const models::Operator* next = nullptr;  ///< behind the operator at hand; null: none
    bool width_split = false;                ///< the last linear layer's output is split over the tensor axis
    View late_bias{};  ///< of the linear layer before, when the activation behind it adds the bias
    /// What the last linear layer left of each part of its outputs, where a product of its own leaves each; else empty.
    std::vector<ValueId> apart;
    /// Of a parallel residual: what the attention's projection left, to which the MLP's last product is added, and the
    /// sum that the residual stream takes. Behind two norms: the piece of the second, and the gradient of its input.
    ValueId partial = no_value, partial_sum = no_value;
    std::size_t second_norm = 0;
    ValueId second_gradient = no_value;
    /// Of latent attention: queries; normed, what queries and what keys and values are made of; the keys' part that is
    /// rotated, and the others', and values.
    struct Latent {
        ValueId queries = no_value, of_queries = no_value, of_keys = no_value, turned = no_value, plain = no_value,
                values = no_value;
    } latent;
    bool in_body = false;        ///< of a layer of the body: residual connections
    std::uint32_t dropouts = 0;  ///< of the layer so far

    /// How activations, weights and gradients of these lie in memory; and the sums of weights' gradients.
    [[nodiscard]] kernels::Format format() const { return kernels::format_of(in_memory(element)); }
    [[nodiscard]] kernels::Format sums() const { return kernels::format_of(sum_dtype()); }
    [[nodiscard]] kernels::Dtype sum_dtype() const { return in_memory(plan.training.precision.grad_reduce); }
    ValueId activation(std::uint64_t elements) { return flow.activation(format(), elements); }
    FlowBuilder::Weights parameter(Parameter parameter, std::uint64_t elements) {
        return flow.parameter(std::move(parameter), elements, format(), sums());
    }
    [[nodiscard]] kernels::Pointwise pointwise(kernels::PointwiseKind kind, std::uint64_t rows,
                                               std::uint64_t cols) const {
        return {kind, element, rows, cols};
    }
    /// Columns that this rank holds of a residual stream of so many: all, but in a grid of tensor ranks.
    [[nodiscard]] std::uint64_t residual_columns(std::uint64_t width) const { return width / grid.width_parts(); }
    /// Over what this rank holds of the residual stream.
    [[nodiscard]] kernels::Pointwise on_residual(kernels::PointwiseKind kind, std::uint64_t cols) const {
        return {kind, residual_element, residual_tokens, residual_columns(cols)};
    }
    /// Of the layer's next dropout: what its forward and its backward are told.
    Launch next_dropout(DropoutSite::Of of);
    /// Goes over to the tokens of a sequence.
    void take(models::Sequence of);
    /// Tokens of one of that sequence which this rank holds.
    [[nodiscard]] std::uint32_t seq() const { return plan.rank_seq(sequence); }
    [[nodiscard]] std::uint64_t residual_bytes(std::uint64_t width) const {
        return residual_tokens * residual_columns(width) * kernels::size_of(residual_element);
    }
    /// What a kernel is told that adds to gradients of weights.
    [[nodiscard]] Launch into_gradients() const;
    /// A collective that brings `tensor`, [tokens, width] in all, from one placement to another. Returns where it then
    /// is: the same tensor where nothing moves or a sum is formed in place, else `to`, or a new one of the same role.
    ValueId convert(std::vector<Work>& list, const std::string& name, Placement from, Placement into,
                    std::uint64_t width, ValueId tensor, ValueId to = no_value, std::uint8_t raises = 0,
                    bool of_weights = false);
};

/// The gradient of a weight that lies as [outputs, inputs] is formed as the transpose of what is priced: dW^T = dy^T x
/// for a priced product of (inputs, outputs, tokens).
kernels::Gemm transposed(const kernels::Gemm& weight_gradient);

/// dy, x and what the product forms: the gradient itself, or `separate`, which a kernel behind it adds where the plan
/// does not fuse the two.
struct WeightGradient {
    ValueId dy, x, sum, separate = no_value;
};
Work weight_gradient(const LayerStream& stream, std::string name, const kernels::Gemm& priced,
                     const WeightGradient& of);

/// Kernels over so many cells of a framework that does not fuse them: so many with one operand, and with two.
struct Cells {
    kernels::Dtype element;
    std::uint64_t rows, cols;
    [[nodiscard]] kernels::Pointwise by(kernels::PointwiseKind kind) const { return {kind, element, rows, cols}; }
};
void add_passes(std::vector<Work>& list, const std::string& name, const Cells& over, int unary, int binary);

/// A 16-bit operand of fp8 products, cast in both orientations: reads 2 bytes, writes 1 + 1, the traffic of a 16-bit
/// transpose; behind its maximum, where the recipe needs that first (TransformerEngine, FP8 current scaling: "two
/// tensor reads per quantization").
void add_quantisation(const Plan& plan, std::vector<Work>& list, std::uint64_t rows, std::uint64_t cols,
                      bool routed = false);

/// A weight's other order, where no copy of it is kept (narrow_weights.hpp).
void add_transposed_weight(std::vector<Work>& list, const Plan& plan, std::uint64_t rows, std::uint64_t cols);

/// So many elements of fp8, or of fp4 with a scale of a byte for each 16 (NVFP4), as they are moved.
std::uint64_t narrow_bytes(kernels::Dtype format, std::uint64_t elements);

/// Whether a narrow product's input is kept for the gradient of its weights as it was cast (Transformer Engine,
/// module/linear.py, inputmat, and our own runtime); other software keeps 16 bits and casts again (torchao,
/// Float8Linear).
bool keeps_casts(const Plan& plan);
/// Bytes of so many elements of a product's input as they are kept: 16 bits, or one order of their cast. results: of
/// attention's.
std::uint64_t kept_input_bytes(const Plan& plan, std::uint64_t elements, bool results = false);
/// Whether attention's results are kept as a cast for the projection behind it: with scales that were known before. Of
/// other recipes Megatron-LM has it keep them in 16 bits (attention.py, set_save_original_input); our own runtime keeps
/// both.
bool keeps_casts_of_results(const Plan& plan);
/// Whether fused attention's results are kept for its own backward in memory of its own, beside that cast. Else the
/// projection keeps the same tensor; where heads are exchanged, what left attention is counted with the exchange.
bool attention_keeps_results(const Plan& plan);
/// Whether ranks that share sequences exchange heads.
bool exchanges_heads(const Plan& plan);
/// Whether the backward forms attention's results again, and nothing else of its layer.
bool runs_attention_again(const Plan& plan);

/// Where each operation is a kernel, what is fp32 between 16-bit products is cast there and its gradient back.
void add_casts(const LayerStream& stream, Piece& piece, const Cells& cells);

/// A dropout that nothing is fused with, and its backward.
void add_dropout(const LayerStream& stream, Piece& piece, const std::string& name, const Cells& over);

/// An activation of `rows` x op.width outputs. Gated ones move the same whatever they are of. routed: of experts.
void add_activation(LayerStream& stream, Piece& piece, const models::Activation& op, std::uint64_t rows,
                    bool routed = false);
/// Bytes of an element of its input as it is kept.
std::uint64_t kept_function_bytes(const LayerStream& stream);
/// Of a row of a SwiGLU's input that was kept in fp8: what the backward brings it back to.
std::uint64_t wide_input_bytes(const LayerStream& stream, std::uint64_t width);
/// "gelu", "relu", "swiglu", ...
std::string name_of(const models::Activation& op);

/// Names the pieces from `from` on, which `op` of a layer has left.
void name_modules(const models::Layer& layer, const models::Operator& op, std::size_t from, LayerStream& stream);

// One function an operator; each appends its pieces to stream.layer.
void shard_linear(LayerStream& stream, const models::Linear& op);
void shard_activation(LayerStream& stream, const models::Activation& op);
void shard_embedding(LayerStream& stream, const models::Embedding& op);
void shard_loss(LayerStream& stream, const models::Loss& op);
/// Whether the layer's results are fp32 logits that a loss keeps, whose gradient takes their place.
bool keeps_logits(const LayerStream& stream, const models::Linear& op);
/// Of a classifier whose classes data ranks divide (class_split.cpp): all their examples, which each has logits of, and
/// how many of so many classes are a rank's.
bool divides_classes(const Plan& plan);
std::uint64_t examples(const LayerStream& stream);
std::uint64_t own_classes(const LayerStream& stream, std::uint64_t classes);
void shard_split_classifier(LayerStream& stream, const models::Linear& op);
void shard_attention(LayerStream& stream, const models::AttentionCore& op);
void shard_rope(LayerStream& stream, const models::Rope& op);
void shard_residual(LayerStream& stream, const models::ResidualAdd& op);
void shard_relative_positions(LayerStream& stream, const models::RelativePositions& op);
void shard_state_mixer(LayerStream& stream, const models::StateMixer& op);
/// Router, dispatch, first product, activation, second product, combination, as Megatron-LM's all-to-all dispatcher
/// runs them. The products of a rank's experts are one grouped GEMM, written as a batched one of equal parts.
void shard_experts(LayerStream& stream, const models::Experts& op);

/// What the stream was, behind its norm, beside the embedding behind its own (further tokens). Priced, not executed.
void shard_concatenation(LayerStream& stream, const models::Concatenation& op);

// Operators over images: a rank holds whole images and all weights (the plan's tensor axis is 1). What a backward needs
// is kept once: a convolution, a batch norm and a pooling keep their inputs, as PyTorch's do, and a ReLU works where it
// stands and needs what the next one keeps. Beside 16-bit weights batch norms are priced and not executed.
void shard_convolution(LayerStream& stream, const models::Convolution& op);
void shard_batch_norm(LayerStream& stream, const models::BatchNorm& op);
void shard_relu(LayerStream& stream, const models::Relu& op);
void shard_pooling(LayerStream& stream, const models::Pooling& op);
void shard_join(LayerStream& stream, const models::Join& op);

// Of Transformers over patches of images: what they begin with, the token that they end with, and what CLIP compares.
// Every tensor rank does the same (Megatron-LM, clip_vit_model.py, vit_backbone.py). Priced, not executed.
void shard_patch_embedding(LayerStream& stream, const models::PatchEmbedding& op);
void shard_picked_token(LayerStream& stream, const models::PickToken& op);
/// Vectors of all data ranks are gathered, and each rank compares its own with them (OpenCLIP's local_loss with
/// gather_with_grad).
void shard_contrast(LayerStream& stream, const models::ContrastiveLoss& op);

// Transformer-XL's, as NVIDIA's code in PyTorch runs them, operator by operator; on data ranks alone (the plan's tensor
// axis is 1). Priced, not executed.
void shard_dropout(LayerStream& stream, const models::Dropout& op);
void shard_recurrent_attention(LayerStream& stream, const models::RecurrentAttention& op);
void shard_adaptive_embedding(LayerStream& stream, const models::AdaptiveEmbedding& op);
void shard_adaptive_loss(LayerStream& stream, const models::AdaptiveLoss& op);

}  // namespace orrery::strategies
