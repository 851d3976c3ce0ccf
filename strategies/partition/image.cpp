// Operators over images.
#include "strategies/partition/memory_format.hpp"
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
    piece.counts.trained += op.outputs;
}

/// A launch of another kernel than the priced one.
Detail launched_as(const kernels::Kernel& kernel, std::vector<View> operands) {
    Detail detail{std::move(operands), {}};
    detail.launch.kernel = kernel;
    return detail;
}

/// Into the gradient itself, or into memory of its own that a kernel behind it adds.
void form_weight_gradient(LayerStream& stream, const models::Convolution& op, Piece& piece, View x, View dy,
                          View gradient) {
    const std::uint64_t weights = stream.flow.value(gradient.value).elements;
    const bool fused = !adds_apart(stream.plan);
    const View formed = fused ? gradient : View{stream.flow.gradient(stream.sums(), weights)};
    Work wgrad{.name = op.name + " wgrad",
               .what = kernel(stream, op, GemmPass::weight_gradient),
               .of_weights = true,
               .detail = {{x, dy, formed}, stream.into_gradients()}};
    wgrad.detail.launch.settings.accumulate = fused;
    piece.backward.push_back(std::move(wgrad));
    if (!fused)
        piece.backward.push_back({.name = op.name + " accumulate",
                                  .what = Pointwise{PointwiseKind::add, stream.sum_dtype(), 1, weights},
                                  .of_weights = true,
                                  .detail = {{gradient, formed, gradient}}});
}

}  // namespace

void shard_convolution(LayerStream& stream, const models::Convolution& op) {
    Piece piece{.name = op.name};
    auto& flow = stream.flow;
    const std::uint64_t weights = kernel(stream, op, GemmPass::forward).weights();
    const FlowBuilder::Weights weight = stream.parameter(
        {.name = op.name + ".weight", .parts = {op.outputs}, .cols = weights / op.outputs, .replicated = true},
        weights);
    const View x{op.reads_data ? flow.table(Table::images, stream.format(), elements(stream, op.in)) : stream.value};
    const View y{stream.activation(elements(stream, op.out()))}, dy{flow.gradient_of(y.value)};
    piece.forward.push_back(
        {.name = op.name, .what = kernel(stream, op, GemmPass::forward), .detail = {{x, {weight.weight}, y}}});
    if (!op.reads_data)
        piece.backward.push_back({.name = op.name + " dgrad",
                                  .what = kernel(stream, op, GemmPass::data_gradient),
                                  .detail = {{dy, {weight.weight}, {flow.gradient_of(x.value)}}}});
    form_weight_gradient(stream, op, piece, x, dy, {weight.gradient});
    if (op.begins_branch) {  // what goes around the branch has left its gradient before
        ValueId& before = stream.layer.flow.gradient_before;
        before = flow.gradient(stream.format(), elements(stream, op.in));
        const View dx{flow.gradient_of(x.value)};
        piece.backward.push_back({.name = "sum branch gradients",
                                  .what = over(stream, PointwiseKind::add, op.in),
                                  .detail = {{{before}, dx, dx}}});
    }
    if (op.bias) add_bias(stream, op, piece);
    piece.saved_bytes = op.shares_input ? 0 : bytes(stream, op.in);
    piece.working_bytes = bytes(stream, op.in) + bytes(stream, op.out());
    if (stream.plan.training.memory_format == MemoryFormat::channels_first) transpose_around_convolutions(piece);
    piece.counts.trained += weights;
    piece.counts.replicated = piece.counts.trained;
    stream.value = y.value;
    stream.layer.pieces.push_back(std::move(piece));
}

/// Its weights and statistics are fp32: beside 16-bit weights it is not executed.
void shard_batch_norm(LayerStream& stream, const models::BatchNorm& op) {
    Piece piece{.name = op.name};
    auto& flow = stream.flow;
    const std::uint64_t channels = op.shape.channels;
    const auto parameter = [&](const char* name, Initial initial) {
        return stream.parameter({.name = op.name + name, .parts = {channels}, .initial = initial, .replicated = true},
                                channels);
    };
    const FlowBuilder::Weights gamma = parameter(".weight", Initial::ones), beta = parameter(".bias", Initial::zeros);
    const View x{stream.value}, y{stream.activation(elements(stream, op.shape))},
        mean{flow.activation(kernels::Format::fp32, channels)}, rstd{flow.activation(kernels::Format::fp32, channels)};
    kernels::BatchNorm norm{stream.element, false, elements(stream, op.shape) / channels, channels};
    piece.forward.push_back(
        {.name = op.name, .what = norm, .detail = {{x, {gamma.weight}, {beta.weight}, y, mean, rstd}}});
    norm.backward = true;
    piece.backward.push_back({.name = op.name + " backward",
                              .what = norm,
                              .detail = {{x,
                                          {gamma.weight},
                                          {flow.gradient_of(y.value)},
                                          mean,
                                          rstd,
                                          {flow.gradient_of(x.value)},
                                          {gamma.gradient},
                                          {beta.gradient}},
                                         stream.into_gradients()}});
    if (stream.bytes == 2) stream.layer.flow.complete = false;
    stream.value = y.value;
    piece.saved_bytes = bytes(stream, op.shape) + 2 * sizeof(float) * channels;  // and its statistics
    piece.working_bytes = 2 * bytes(stream, op.shape);
    piece.counts.trained = piece.counts.replicated = 2 * channels;
    stream.layer.pieces.push_back(std::move(piece));
}

namespace {

/// cuDNN's fused batch norm (CUDNN_BATCHNORM_OPS_BN_ADD_ACTIVATION): the ReLU behind it costs nothing, forward as it is
/// written and backward as its gradient is read; a residual is read once more forward, and backward its gradient is
/// written.
bool fuses_norms(const LayerStream& stream) { return stream.plan.training.kernel_fusion == KernelFusion::full; }

/// Launched with the norm or the sum that it costs nothing behind: behind its result, and before its gradient.
void launch_within(Piece& piece, Detail relu, Detail backward) {
    piece.forward.back().detail.also.push_back(std::move(relu));
    Detail& own = piece.backward.front().detail;
    if (!own.operands.empty()) backward.also.push_back(std::move(own));
    own = std::move(backward);
}

}  // namespace

/// Where it stands: what it leaves is kept by what takes it.
void shard_relu(LayerStream& stream, const models::Relu& op) {
    Piece piece{.name = "relu"};
    const View y{stream.value}, dy{stream.flow.gradient_of(stream.value)};
    const Pointwise forward = over(stream, PointwiseKind::relu, op.shape),
                    backward = over(stream, PointwiseKind::relu_backward, op.shape);
    if (fuses_norms(stream)) {
        launch_within(stream.layer.pieces.back(), launched_as(forward, {y, y}), launched_as(backward, {y, dy, dy}));
        stream.layer.pieces.push_back(std::move(piece));
        return;
    }
    piece.forward.push_back({.name = "relu", .what = forward, .detail = {{y, y}}});
    piece.backward.push_back({.name = "relu backward", .what = backward, .detail = {{y, dy, dy}}});
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
    const View x{stream.value}, y{stream.activation(pooling.output_elements())};
    const View dx{stream.flow.gradient_of(x.value)}, dy{stream.flow.gradient_of(y.value)};
    piece.forward.push_back({.name = "pooling", .what = pooling, .detail = {{x, y}}});
    pooling.backward = true;
    piece.backward.push_back({.name = "pooling backward",
                              .what = pooling,
                              .detail = {global ? std::vector<View>{dy, dx} : std::vector<View>{x, dy, dx}}});
    piece.saved_bytes = piece.working_bytes = bytes(stream, op.in);
    stream.value = y.value;
    stream.layer.pieces.push_back(std::move(piece));
}

/// Its gradient goes both ways as it is, unless the norm before it writes one of its own.
void shard_join(LayerStream& stream, const models::Join& op) {
    Piece piece{.name = "join"};
    const LayerFlow& flow = stream.layer.flow;
    const View sum{stream.activation(elements(stream, op.shape))};
    const Pointwise add = over(stream, PointwiseKind::add, op.shape);
    const std::vector<View> operands{{flow.input}, {flow.second_input}, sum};
    for (const ValueId input : {flow.input, flow.second_input})
        stream.flow.set_gradient(input, stream.flow.gradient_of(sum.value));
    stream.value = sum.value;
    if (fuses_norms(stream)) {
        piece.forward.push_back({.name = "read by the norm",
                                 .what = over(stream, PointwiseKind::sum_of_squares, op.shape),
                                 .detail = launched_as(add, operands)});
        piece.backward.push_back({"written by the norm", over(stream, PointwiseKind::fill, op.shape)});
        stream.layer.pieces.push_back(std::move(piece));
        return;
    }
    piece.forward.push_back({.name = "join", .what = add, .detail = {operands}});
    piece.working_bytes = bytes(stream, op.shape);
    stream.layer.pieces.push_back(std::move(piece));
}

}  // namespace orrery::strategies
