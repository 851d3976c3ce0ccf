// What ends a branch: the sum with the residual stream, and what a dropout leaves of the branch before it.
#include <utility>

#include "strategies/partition/autocast.hpp"
#include "strategies/partition/sharder.hpp"

namespace orrery::strategies {

namespace {

using kernels::PointwiseKind;

/// A dropout, its backward, and the sum of the residual connection, each by itself: TensorFlow draws numbers, compares,
/// scales and multiplies (tf.nn.dropout); others have one kernel (dropout). Under autocast a branch is in 16 bits up to
/// the sum.
void separate_dropout_add(const LayerStream& stream, Piece& piece, std::uint64_t cols, bool biased) {
    const Cells cells{stream.residual_element, stream.residual_tokens, cols};
    const Cells dropped{stream.plan.training.autocast ? stream.element : cells.element, cells.rows, cells.cols};
    add_casts(stream, piece, cells);
    if (biased) add_passes(piece.forward, "bias", dropped, 1, 0);
    add_dropout(stream, piece, "dropout", dropped);
    add_passes(piece.forward, "residual", cells, 0, 1);
}

/// The sum with what a dropout has left of the branch, whose bias the kernel adds: the product before it has not.
void bias_dropout_add(LayerStream& stream, const models::ResidualAdd& op, Piece& piece) {
    const std::uint64_t columns = stream.residual_columns(op.width), elements = stream.residual_tokens * columns;
    const View x{stream.value}, y{stream.activation(elements)},
        mask{stream.flow.activation(kernels::Format::mask, elements)};
    View bias = std::exchange(stream.late_bias, {});
    if (!bias.given()) bias = {stream.flow.table(Table::zeros, stream.format(), columns)};
    const Launch launch = stream.next_dropout(DropoutSite::Of::residual);
    piece.forward.push_back({.name = "bias dropout add",
                             .what = stream.on_residual(PointwiseKind::bias_dropout_add, op.width),
                             .detail = {{x, bias, {stream.branch}, mask, y}, launch}});
    piece.backward.push_back(
        {.name = "bias dropout add backward",
         .what = stream.on_residual(PointwiseKind::bias_dropout_add_backward, op.width),
         .detail = {{{stream.flow.gradient_of(y.value)}, mask, {stream.flow.gradient_of(x.value)}}, launch}});
    stream.value = y.value;
}

}  // namespace

/// The sum takes the place of what the branch left, and so has its gradient; where something is dropped of that, the
/// branch has a gradient of its own.
void shard_residual(LayerStream& stream, const models::ResidualAdd& op) {
    Piece piece{.name = "residual add"};
    const auto add = stream.on_residual(PointwiseKind::add, op.width);
    cast_branch_gradient(stream, stream.residual_columns(op.width), piece);
    if (op.dropout && stream.plan.training.kernel_fusion != KernelFusion::full) {
        separate_dropout_add(stream, piece, stream.residual_columns(op.width), op.bias);
    } else if (op.dropout) {
        bias_dropout_add(stream, op, piece);
    } else {
        const View sum{stream.value};
        piece.forward.push_back({.name = "residual add", .what = add, .detail = {{sum, {stream.branch}, sum}}});
    }
    if (stream.branch != no_value) {
        const View dx{stream.flow.gradient_of(stream.branch)}, second{stream.second_gradient};
        View other{stream.flow.gradient_of(stream.value)};
        const auto sum_of = [&](std::size_t index) -> auto& {
            return stream.layer.pieces[index].backward.back().detail.operands;
        };
        if (second.given()) {
            sum_of(stream.second_norm) = {second, other, second};
            other = second;
        }
        sum_of(stream.branch_begin) = {dx, other, dx};
    } else {  // it begins with experts, which no norm stands before
        piece.backward.push_back({"sum branch gradients", add});
    }
    if (stream.partial != no_value) stream.layer.flow.complete = false;  // whose results are not added to it
    stream.branch = stream.second_gradient = no_value;
    piece.saved_bytes = op.dropout ? stream.residual_tokens * stream.residual_columns(op.width) : 0;  // the mask
    piece.working_bytes = stream.residual_bytes(op.width);
    stream.layer.pieces.push_back(std::move(piece));
}

}  // namespace orrery::strategies
