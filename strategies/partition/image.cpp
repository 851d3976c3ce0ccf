#include "strategies/partition/image.hpp"

namespace orrery::strategies {

namespace {

using kernels::Dtype;
using kernels::GemmPass;
using kernels::Pointwise;
using kernels::PointwiseKind;

std::uint32_t narrow(std::uint64_t value) { return static_cast<std::uint32_t>(value); }

/// Pixels of a micro-batch.
std::uint64_t pixels(const models::Image& image, const Plan& plan) {
    return plan.training.micro_batch * image.rows * image.columns;
}

Pointwise over(PointwiseKind kind, const models::Image& image, const Plan& plan) {
    return {kind, activation_dtype(plan), pixels(image, plan), image.channels};
}

kernels::Convolution kernel(const models::Convolution& op, GemmPass pass, const Plan& plan) {
    return {.dtype = activation_dtype(plan),
            .pass = pass,
            .batch = plan.training.micro_batch,
            .channels = narrow(op.in.channels),
            .rows = narrow(op.in.rows),
            .columns = narrow(op.in.columns),
            .outputs = narrow(op.outputs),
            .kernel_rows = narrow(op.kernel),
            .kernel_columns = narrow(op.kernel),
            .stride = narrow(op.stride),
            .padding = narrow(op.padding)};
}

}  // namespace

std::uint64_t images_bytes(const models::Image& image, const Plan& plan) {
    return plan.training.micro_batch * image.elements() * kernels::size_of(activation_dtype(plan));
}

Piece convolution_piece(const models::Convolution& op, const Plan& plan) {
    Piece piece{.name = op.name};
    piece.forward.push_back({op.name, kernel(op, GemmPass::forward, plan)});
    piece.parameters = kernel(op, GemmPass::forward, plan).weights();
    if (!op.reads_data) piece.backward.push_back({op.name + " dgrad", kernel(op, GemmPass::data_gradient, plan)});
    piece.backward.push_back({op.name + " wgrad", kernel(op, GemmPass::weight_gradient, plan)});
    if (!plan.training.gradient_accumulation_fusion)
        piece.backward.push_back(
            {op.name + " accumulate",
             Pointwise{PointwiseKind::add, plan.training.precision.grad_reduce, 1, piece.parameters}});
    if (op.begins_branch) piece.backward.push_back({"sum branch gradients", over(PointwiseKind::add, op.in, plan)});
    piece.saved_bytes = op.shares_input ? 0 : images_bytes(op.in, plan);
    piece.working_bytes = images_bytes(op.in, plan) + images_bytes(op.out(), plan);
    return piece;
}

Piece batch_norm_piece(const models::BatchNorm& op, const Plan& plan) {
    Piece piece{.name = op.name};
    kernels::BatchNorm norm{activation_dtype(plan), false, pixels(op.shape, plan), op.shape.channels};
    piece.forward.push_back({op.name, norm});
    norm.backward = true;
    piece.backward.push_back({op.name + " backward", norm});
    piece.saved_bytes = images_bytes(op.shape, plan) + 2 * sizeof(float) * op.shape.channels;  // and its statistics
    piece.working_bytes = 2 * images_bytes(op.shape, plan);
    piece.parameters = 2 * op.shape.channels;
    return piece;
}

Piece relu_piece(const models::Relu& op, const Plan& plan) {
    Piece piece{.name = "relu"};
    piece.forward.push_back({"relu", over(PointwiseKind::relu, op.shape, plan)});
    piece.backward.push_back({"relu backward", over(PointwiseKind::relu_backward, op.shape, plan)});
    piece.working_bytes = images_bytes(op.shape, plan);
    return piece;
}

Piece pooling_piece(const models::Pooling& op, const Plan& plan) {
    Piece piece{.name = "pooling"};
    const bool global = op.kernel == 0;
    kernels::Pooling pooling{.kind = global ? kernels::PoolingKind::average : kernels::PoolingKind::maximum,
                             .dtype = activation_dtype(plan),
                             .backward = false,
                             .batch = plan.training.micro_batch,
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
    piece.saved_bytes = images_bytes(op.in, plan);
    piece.working_bytes = images_bytes(op.in, plan);
    return piece;
}

Piece join_piece(const models::Join& op, const Plan& plan) {
    Piece piece{.name = "join"};
    piece.forward.push_back(
        {"join", over(PointwiseKind::add, op.shape, plan)});  // its gradient goes both ways as it is
    piece.working_bytes = images_bytes(op.shape, plan);
    return piece;
}

}  // namespace orrery::strategies
