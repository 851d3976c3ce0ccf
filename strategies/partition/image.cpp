// Operators over images.
#include "strategies/partition/sharder.hpp"

namespace orrery::strategies {

namespace {

using kernels::GemmPass;
using kernels::Pointwise;
using kernels::PointwiseKind;

std::uint32_t narrow(std::uint64_t value) { return static_cast<std::uint32_t>(value); }

/// Elements and bytes of a micro-batch of images.
std::uint64_t elements(const LayerStream& stream, const models::Image& image) {
    return stream.plan.training.micro_batch * image.elements();
}
std::uint64_t bytes(const LayerStream& stream, const models::Image& image) {
    return elements(stream, image) * stream.bytes;
}

Pointwise over(const LayerStream& stream, PointwiseKind kind, const models::Image& image) {
    return stream.pointwise(kind, elements(stream, image) / image.channels, image.channels);
}

kernels::Convolution kernel(const LayerStream& stream, const models::Convolution& op, GemmPass pass) {
    return {.dtype = stream.element,
            .pass = pass,
            .batch = stream.plan.training.micro_batch,
            .channels = narrow(op.in.channels),
            .rows = narrow(op.in.rows),
            .columns = narrow(op.in.columns),
            .outputs = narrow(op.outputs),
            .kernel_rows = narrow(op.kernel),
            .kernel_columns = narrow(op.kernel),
            .stride = narrow(op.stride),
            .padding = narrow(op.padding)};
}

/// Added where the result stands, by a kernel of its own (PyTorch, aten/src/ATen/native/cudnn/ConvShared.cpp,
/// cudnn_convolution's add_), or one with the ReLU behind it.
void add_bias(LayerStream& stream, const models::Convolution& op, Piece& piece) {
    stream.parameter({.name = op.name + ".bias", .parts = {op.outputs}, .initial = Initial::zeros, .replicated = true},
                     op.outputs);
    piece.forward.push_back({op.name + " bias", over(stream, PointwiseKind::scale, op.out())});
    piece.backward.push_back({.name = op.name + " bias gradient",
                              .what = over(stream, PointwiseKind::bias_gradient, op.out()),
                              .of_weights = true});
    piece.parameters += op.outputs;
}

}  // namespace

void shard_convolution(LayerStream& stream, const models::Convolution& op) {
    Piece piece{.name = op.name};
    const std::uint64_t weights = kernel(stream, op, GemmPass::forward).weights();
    stream.parameter(
        {.name = op.name + ".weight", .parts = {op.outputs}, .cols = weights / op.outputs, .replicated = true},
        weights);
    piece.forward.push_back({op.name, kernel(stream, op, GemmPass::forward)});
    if (!op.reads_data) piece.backward.push_back({op.name + " dgrad", kernel(stream, op, GemmPass::data_gradient)});
    piece.backward.push_back(
        {.name = op.name + " wgrad", .what = kernel(stream, op, GemmPass::weight_gradient), .of_weights = true});
    if (!stream.plan.training.gradient_accumulation_fusion)
        piece.backward.push_back({.name = op.name + " accumulate",
                                  .what = Pointwise{PointwiseKind::add, stream.sum_dtype(), 1, weights},
                                  .of_weights = true});
    if (op.begins_branch) piece.backward.push_back({"sum branch gradients", over(stream, PointwiseKind::add, op.in)});
    if (op.bias) add_bias(stream, op, piece);
    piece.saved_bytes = op.shares_input ? 0 : bytes(stream, op.in);
    piece.working_bytes = bytes(stream, op.in) + bytes(stream, op.out());
    piece.parameters += weights;
    piece.replicated_parameters = piece.parameters;
    stream.value = stream.activation(elements(stream, op.out()));
    stream.layer.pieces.push_back(std::move(piece));
}

void shard_batch_norm(LayerStream& stream, const models::BatchNorm& op) {
    Piece piece{.name = op.name};
    const std::uint64_t channels = op.shape.channels;
    stream.parameter({.name = op.name + ".weight", .parts = {channels}, .initial = Initial::ones, .replicated = true},
                     channels);
    stream.parameter({.name = op.name + ".bias", .parts = {channels}, .initial = Initial::zeros, .replicated = true},
                     channels);
    kernels::BatchNorm norm{stream.element, false, elements(stream, op.shape) / channels, channels};
    piece.forward.push_back({op.name, norm});
    norm.backward = true;
    piece.backward.push_back({op.name + " backward", norm});
    piece.saved_bytes = bytes(stream, op.shape) + 2 * sizeof(float) * channels;  // and its statistics
    piece.working_bytes = 2 * bytes(stream, op.shape);
    piece.parameters = piece.replicated_parameters = 2 * channels;
    stream.layer.pieces.push_back(std::move(piece));
}

namespace {

/// cuDNN's fused batch norm (CUDNN_BATCHNORM_OPS_BN_ADD_ACTIVATION): the ReLU behind it costs nothing, forward as it is
/// written and backward as its gradient is read; a residual is read once more forward, and backward its gradient is
/// written.
bool fuses_norms(const LayerStream& stream) { return stream.plan.training.kernel_fusion == KernelFusion::full; }

}  // namespace

void shard_relu(LayerStream& stream, const models::Relu& op) {
    Piece piece{.name = "relu"};
    if (fuses_norms(stream)) {
        stream.layer.pieces.push_back(std::move(piece));
        return;
    }
    piece.forward.push_back({"relu", over(stream, PointwiseKind::relu, op.shape)});
    piece.backward.push_back({"relu backward", over(stream, PointwiseKind::relu_backward, op.shape)});
    piece.working_bytes = bytes(stream, op.shape);
    stream.layer.pieces.push_back(std::move(piece));
}

void shard_pooling(LayerStream& stream, const models::Pooling& op) {
    Piece piece{.name = "pooling"};
    const bool global = op.kernel == 0;
    kernels::Pooling pooling{.kind = global ? kernels::PoolingKind::average : kernels::PoolingKind::maximum,
                             .dtype = stream.element,
                             .backward = false,
                             .batch = stream.plan.training.micro_batch,
                             .channels = narrow(op.in.channels),
                             .rows = narrow(op.in.rows),
                             .columns = narrow(op.in.columns),
                             .window_rows = narrow(global ? op.in.rows : op.kernel),
                             .window_columns = narrow(global ? op.in.columns : op.kernel),
                             .stride = narrow(op.stride),
                             .padding = narrow(op.padding)};
    piece.forward.push_back({"pooling", pooling});
    pooling.backward = true;
    piece.backward.push_back({"pooling backward", pooling});
    piece.saved_bytes = piece.working_bytes = bytes(stream, op.in);
    stream.value = stream.activation(pooling.output_elements());
    stream.layer.pieces.push_back(std::move(piece));
}

/// Its gradient goes both ways as it is, unless the norm before it writes one of its own.
void shard_join(LayerStream& stream, const models::Join& op) {
    Piece piece{.name = "join"};
    if (fuses_norms(stream)) {
        piece.forward.push_back({"read by the norm", over(stream, PointwiseKind::sum_of_squares, op.shape)});
        piece.backward.push_back({"written by the norm", over(stream, PointwiseKind::fill, op.shape)});
        stream.layer.pieces.push_back(std::move(piece));
        return;
    }
    piece.forward.push_back({"join", over(stream, PointwiseKind::add, op.shape)});
    piece.working_bytes = bytes(stream, op.shape);
    stream.layer.pieces.push_back(std::move(piece));
}

}  // namespace orrery::strategies
