// Activation functions, alone or with what a framework runs that does not fuse them.
#include <fmt/format.h>

#include <stdexcept>
#include <string_view>

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

/// Kernels of a framework that does not join them, over the activation's result.
class Separate {
public:
    Separate(const LayerStream& stream, Piece& piece, std::uint64_t rows, std::uint64_t width, bool routed)
        : stream_(stream), piece_(piece), cells_{stream.function_element, rows, width}, routed_(routed) {}

    void activation(const models::Activation& op, bool biased);
    void gate(bool biased);

private:
    void forward(PointwiseKind kind, const char* what = "") { put(piece_.forward, what, kind); }
    void backward(PointwiseKind kind, const char* what = "") {
        put(piece_.backward, fmt::format("{} backward", what), kind);
    }
    void put(std::vector<Work>& list, std::string_view what, PointwiseKind kind) {
        list.push_back({.name = fmt::format("{}{}", piece_.name, what), .what = cells_.by(kind), .routed = routed_});
    }

    const LayerStream& stream_;
    Piece& piece_;
    Cells cells_;
    bool routed_;
};

/// TensorFlow's GELU is x * 0.5 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))): eight operations, and their
/// gradients (BERT, modeling.py, gelu). PyTorch's pow(relu(x), 2) is two; its gradient is a power, which of 2 is a
/// copy, twice it, that times what came, and the ReLU's (FunctionsManual.cpp, pow_backward).
void Separate::activation(const models::Activation& op, bool biased) {
    using enum PointwiseKind;
    const bool primitives = stream_.plan.training.kernel_fusion == KernelFusion::primitives;
    add_casts(stream_, piece_, cells_);
    if (biased) piece_.forward.push_back({.name = "bias", .what = cells_.by(scale), .routed = routed_});
    if (primitives && op.kind == models::ActivationKind::gelu) {
        add_passes(piece_.forward, piece_.name, cells_, 6, 2);
        add_passes(piece_.backward, piece_.name + " backward", cells_, 5, 5);
    } else if (op.kind == models::ActivationKind::squared_relu) {
        for (const char* what : {" below 0", ""}) forward(scale, what);
        for (const char* what : {" power", " twice"}) backward(scale, what);
        backward(add);
        backward(relu_backward, " below 0");
    } else {
        const auto [there, back] = kernels_of(op);
        forward(there);
        backward(back);
    }
    add_casts(stream_, piece_, cells_);
}

/// A gated activation of PyTorch's operators, silu(a) * b: the function and a product forward, a product for each
/// factor and the function's gradient backward. What the function left is kept for them.
void Separate::gate(bool biased) {
    using enum PointwiseKind;
    const Cells inputs{cells_.element, cells_.rows, 2 * cells_.cols};
    if (biased) piece_.forward.push_back({.name = "bias", .what = inputs.by(scale), .routed = routed_});
    forward(scale);
    forward(add, " gate");
    for (int factor = 0; factor < 2; ++factor) backward(add, " gate");
    backward(add);
    piece_.saved_bytes += cells_.rows * cells_.cols * kernels::size_of(cells_.element);
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
    const bool given = bias.given();
    if (!given && !relu) bias = {stream.flow.table(Table::zeros, stream.format(), op.width)};
    stream.late_bias = {};
    stream.value = y.value;
    const bool operators = stream.plan.training.kernel_fusion != KernelFusion::full;
    if (operators || !stream.plan.training.bias_activation_fusion) {
        Separate separate(stream, piece, rows, op.width, routed);
        return op.gated ? separate.gate(given) : separate.activation(op, operators || given);
    }
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
