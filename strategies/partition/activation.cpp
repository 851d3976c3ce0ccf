// Activation functions, alone or with what a framework runs that does not fuse them.
#include <stdexcept>

#include "strategies/partition/sharder.hpp"

namespace orrery::strategies {

using kernels::PointwiseKind;

std::string name_of(const models::Activation& op) {
    switch (op.kind) {
        case models::ActivationKind::gelu: return op.gated ? "geglu" : "gelu";
        case models::ActivationKind::silu: return op.gated ? "swiglu" : "silu";
        case models::ActivationKind::relu: return op.gated ? "reglu" : "relu";
        case models::ActivationKind::squared_relu: return "squared relu";
    }
    throw std::logic_error("no such activation");
}

namespace {

struct ActivationKernels {
    PointwiseKind forward, backward;
};

/// Of the same traffic: a gated one reads two halves and writes one, a SiLU or a squared ReLU reads and writes what a
/// GELU does.
ActivationKernels kernels_of(const models::Activation& op) {
    if (op.gated) return {PointwiseKind::swiglu, PointwiseKind::swiglu_backward};
    if (op.kind == models::ActivationKind::relu) return {PointwiseKind::relu, PointwiseKind::relu_backward};
    return {PointwiseKind::gelu, PointwiseKind::gelu_backward};
}

/// What those kernels are told to apply.
kernels::Function function_of(const models::Activation& op) {
    using kernels::Function;
    switch (op.kind) {
        case models::ActivationKind::gelu: return op.gated ? Function::gelu : Function::own;
        case models::ActivationKind::silu: return op.gated ? Function::own : Function::silu;
        case models::ActivationKind::relu: return op.gated ? Function::relu : Function::own;
        case models::ActivationKind::squared_relu: return Function::squared_relu;
    }
    throw std::logic_error("no such activation");
}

/// What a framework runs that does not fuse a bias with the activation behind it. TensorFlow's GELU is
/// x * 0.5 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))): eight operations, and their gradients (BERT, modeling.py,
/// gelu).
void separate_activation(const LayerStream& stream, Piece& piece, const models::Activation& op, std::uint64_t rows) {
    const auto [forward, backward] = kernels_of(op);
    const Cells cells{stream.function_element, rows, op.width};
    add_casts(stream, piece, cells);
    add_passes(piece.forward, "bias", cells, 1, 0);
    if (stream.plan.training.kernel_fusion == KernelFusion::primitives && op.kind == models::ActivationKind::gelu) {
        add_passes(piece.forward, piece.name, cells, 6, 2);
        add_passes(piece.backward, piece.name + " backward", cells, 5, 5);
    } else {
        piece.forward.push_back({piece.name, cells.by(forward)});
        piece.backward.push_back({piece.name + " backward", cells.by(backward)});
    }
    add_casts(stream, piece, cells);
}

/// A gated activation of PyTorch's operators, silu(a) * b: the function and a product forward, a product for each
/// factor and the function's gradient backward. What the function left is kept for them.
void separate_gate(const LayerStream& stream, Piece& piece, const models::Activation& op, std::uint64_t rows,
                   bool routed) {
    const Cells cells{stream.function_element, rows, op.width};
    const auto add = [&](std::vector<Work>& list, const std::string& name, PointwiseKind kind) {
        list.push_back({.name = name, .what = cells.by(kind), .routed = routed});
    };
    add(piece.forward, piece.name, PointwiseKind::scale);
    add(piece.forward, piece.name + " gate", PointwiseKind::add);
    add(piece.backward, piece.name + " gate backward", PointwiseKind::add);
    add(piece.backward, piece.name + " gate backward", PointwiseKind::add);
    add(piece.backward, piece.name + " backward", PointwiseKind::add);
    piece.saved_bytes += rows * op.width * kernels::size_of(stream.function_element);
}

/// The input of a SwiGLU is kept in fp8 (SwiGLUFunction, fp8_input_store): three bytes an element to it, and back
/// before the backward.
void add_casts_of_input(const LayerStream& stream, Piece& piece, std::uint64_t rows, std::uint64_t width, bool routed) {
    const std::uint64_t inputs = 2 * width, as_wide = inputs * 3 / 4;  // a kernel of 16 bits moves four
    const auto cast = stream.pointwise(PointwiseKind::scale, rows, as_wide);
    piece.forward.push_back({.name = piece.name + " input to fp8", .what = cast, .routed = routed});
    piece.backward.push_back({.name = piece.name + " input from fp8", .what = cast, .routed = routed});
}

}  // namespace

std::uint64_t kept_function_bytes(const LayerStream& stream) {
    return stream.plan.training.fp8_function_input ? 1 : kernels::size_of(stream.function_element);
}

std::uint64_t wide_input_bytes(const LayerStream& stream, std::uint64_t width) {
    return stream.plan.training.fp8_function_input ? 2 * width * stream.bytes : 0;
}

void add_activation(LayerStream& stream, Piece& piece, const models::Activation& op, std::uint64_t rows, bool routed) {
    const bool relu = op.kind == models::ActivationKind::relu && !op.gated;
    const View x{stream.value}, y{stream.activation(rows * op.width)};
    const View dy{stream.flow.gradient_of(y.value)}, dx{stream.flow.gradient_of(x.value)};
    Launch launch;
    launch.settings.function = function_of(op);
    View bias = stream.late_bias;
    if (!bias.given() && !relu) bias = {stream.flow.table(Table::zeros, stream.format(), op.width)};
    stream.late_bias = {};
    stream.value = y.value;
    if (stream.plan.training.kernel_fusion != KernelFusion::full)
        return op.gated ? separate_gate(stream, piece, op, rows, routed) : separate_activation(stream, piece, op, rows);
    const auto [forward, backward] = kernels_of(op);
    const Cells cells{stream.function_element, rows, op.width};
    Work there{.name = piece.name, .what = cells.by(forward), .routed = routed};
    Work back{.name = piece.name + " backward", .what = cells.by(backward), .routed = routed};
    there.detail = {op.gated || relu ? std::vector<View>{x, y} : std::vector<View>{x, bias, y}, launch};
    back.detail = {relu       ? std::vector<View>{y, dy, dx}
                   : op.gated ? std::vector<View>{x, dy, dx}
                              : std::vector<View>{x, bias, dy, dx},
                   launch};
    piece.forward.push_back(std::move(there));
    if (stream.plan.training.fp8_function_input) add_casts_of_input(stream, piece, rows, op.width, routed);
    piece.backward.push_back(std::move(back));
}

void shard_activation(LayerStream& stream, const models::Activation& op) {
    // Inside the MLP the width is split; in BERT's head it is the residual stream's.
    const bool split = stream.width_split;
    const std::uint64_t rows = split ? stream.tokens : stream.residual_tokens,
                        width = op.width / (split ? stream.tensor : 1);
    Piece piece{.name = name_of(op)};
    add_activation(stream, piece, {.gated = op.gated, .width = width, .kind = op.kind}, rows);
    // Its input; a ReLU needs its output, which the layer behind it keeps.
    const bool kept = op.gated || op.kind != models::ActivationKind::relu;
    const std::uint64_t bytes = kernels::size_of(stream.function_element);
    piece.input_bytes = kept ? rows * width * kept_function_bytes(stream) * (op.gated ? 2 : 1) : 0;
    piece.saved_bytes += piece.input_bytes;
    piece.working_bytes = rows * (width * bytes + wide_input_bytes(stream, width));
    stream.layer.pieces.push_back(std::move(piece));
}

}  // namespace orrery::strategies
