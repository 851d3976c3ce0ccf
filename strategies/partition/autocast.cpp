#include "strategies/partition/autocast.hpp"

#include <algorithm>
#include <utility>

#include "strategies/compiled.hpp"

namespace orrery::strategies {

namespace {

using kernels::PointwiseKind;

/// Of a layer's input.
std::size_t input_casts(const LayerStream& stream, const CastLayer& layer) {
    return layer.op.in == models::Dim::hidden && casts_activations(stream) ? layer.products : 0;
}

}  // namespace

bool casts_activations(const LayerStream& stream) {
    return stream.plan.training.autocast && !is_compiled(stream.plan.training);
}

std::size_t kept_inputs(const LayerStream& stream, const CastLayer& layer) {
    return std::max<std::size_t>(1, input_casts(stream, layer));
}

void add_cast(const LayerStream& stream, std::vector<Work>& list, std::string name, std::uint64_t rows,
              std::uint64_t cols, bool of_weights) {
    if (!stream.plan.training.autocast) return;
    list.push_back(
        {.name = std::move(name), .what = stream.pointwise(PointwiseKind::cast, rows, cols), .of_weights = of_weights});
}

void cast_operands(const LayerStream& stream, const CastLayer& layer, Piece& piece) {
    auto& list = piece.forward;
    for (std::size_t i = 0; i < input_casts(stream, layer); ++i)
        add_cast(stream, list, piece.name + " input to 16 bits", layer.rows, layer.inputs);
    add_cast(stream, list, piece.name + " weight to 16 bits", layer.outputs, layer.inputs);
    if (layer.op.bias) add_cast(stream, list, piece.name + " bias to 16 bits", 1, layer.outputs);
}

void cast_weight_gradients(const LayerStream& stream, const CastLayer& layer, Piece& piece) {
    auto& list = piece.backward;
    add_cast(stream, list, piece.name + " weight gradient to fp32", layer.outputs, layer.inputs, true);
    if (layer.op.bias) add_cast(stream, list, piece.name + " bias gradient to fp32", 1, layer.outputs, true);
}

void cast_input_gradient(const LayerStream& stream, const CastLayer& layer, Piece& piece, std::uint8_t needs) {
    for (std::size_t i = 0; i < input_casts(stream, layer); ++i)
        piece.backward.push_back({.name = piece.name + " input gradient to fp32",
                                  .what = stream.pointwise(PointwiseKind::cast, layer.rows, layer.inputs),
                                  .needs = needs});
}

void cast_branch_gradient(const LayerStream& stream, std::uint64_t width, Piece& piece) {
    if (!casts_activations(stream)) return;
    piece.backward.push_back({.name = piece.name + " gradient to 16 bits",
                              .what = stream.pointwise(PointwiseKind::cast, stream.residual_tokens, width)});
}

}  // namespace orrery::strategies
