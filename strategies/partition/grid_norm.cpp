// A norm over columns that the ranks of a row hold: each sums its own, the ranks add their sums (Xu et al. 2021,
// arXiv:2104.05343, section 3.2.2; Colossal-AI, LayerNorm2D and LayerNorm3D). On squares a rank keeps a part of the
// gain and bias, which those of a column gather; on a cube all that hold the same columns keep them, and add up
// gradients.
#include "strategies/partition/grid.hpp"

namespace orrery::strategies {

namespace {

using kernels::CollectiveKind;
using kernels::PointwiseKind;

class GridNorm {
public:
    GridNorm(LayerStream& stream, const models::Norm& op)
        : stream_(stream),
          op_(op),
          columns_(stream.residual_columns(op.width)),
          numbers_(op.kind == models::NormKind::layernorm ? 2 : 1) {}

    void shard() && {
        declare();
        forward();
        backward();
        piece_.saved_bytes = piece_.input_bytes = stream_.residual_bytes(op_.width);
        piece_.working_bytes = 2 * stream_.residual_bytes(op_.width);
        begin_branch();
        stream_.layer.pieces.push_back(std::move(piece_));
    }

private:
    [[nodiscard]] bool centred() const { return op_.kind == models::NormKind::layernorm; }
    void declare();
    void forward();
    void backward();
    void begin_branch();
    /// Sums of a token's columns, and of their squares: one pass and one fp32 number a token each. LayerNorm3D sends
    /// both at once.
    void sums(std::vector<Work>& list, const char* what) {
        const std::uint64_t at_once = stream_.grid.cube() ? numbers_ : 1;
        for (std::uint32_t i = 0; i < numbers_; ++i)
            list.push_back(
                {.name = op_.name + what, .what = stream_.on_residual(PointwiseKind::sum_of_squares, op_.width)});
        for (std::uint32_t i = 0; i < numbers_ / at_once; ++i)
            add_among(
                list, stream_, op_.name + what + " over the row",
                {CollectiveKind::all_reduce, stream_.tokens * sizeof(float) * at_once, AxisSet{Axis::tensor_row}});
    }
    /// Of the gain, and of the bias where there is one.
    void each_weight(std::vector<Work>& list, const char* what, CollectiveKind kind, AxisSet axes, bool of_weights) {
        for (std::uint32_t i = 0; i < numbers_; ++i)
            add_among(list, stream_, op_.name + what, {kind, columns_ * stream_.bytes, axes},
                      {.of_weights = of_weights});
    }

    LayerStream& stream_;
    const models::Norm& op_;
    std::uint64_t columns_;  ///< on this rank
    std::uint32_t numbers_;  ///< that a token's columns are summed to; of weights likewise
    Piece piece_{.name = op_.name};
};

void GridNorm::declare() {
    const bool whole = stream_.grid.cube();
    const std::uint64_t own = whole ? columns_ : columns_ / stream_.grid.column;
    stream_.parameter({.name = op_.name + ".weight", .parts = {own}, .initial = Initial::ones}, own);
    if (centred()) stream_.parameter({.name = op_.name + ".bias", .parts = {own}, .initial = Initial::zeros}, own);
    piece_.counts.trained = own * numbers_;
    if (whole) piece_.counts.replicated = piece_.counts.trained;
}

void GridNorm::forward() {
    auto& list = piece_.forward;
    sums(list, " sums");
    if (!stream_.grid.cube())
        each_weight(list, " gather weights", CollectiveKind::all_gather, {Axis::tensor_column}, false);
    list.push_back(
        {.name = op_.name,
         .what = stream_.on_residual(centred() ? PointwiseKind::layernorm : PointwiseKind::rmsnorm, op_.width)});
}

void GridNorm::backward() {
    auto& list = piece_.backward;
    sums(list, " gradient sums");
    list.push_back({.name = op_.name + " backward",
                    .what = stream_.on_residual(
                        centred() ? PointwiseKind::layernorm_backward : PointwiseKind::rmsnorm_backward, op_.width)});
    if (stream_.grid.cube())
        each_weight(list, " sum weight gradients", CollectiveKind::all_reduce,
                    {Axis::tensor_column, Axis::tensor_depth}, true);
    else
        each_weight(list, " scatter weight gradients", CollectiveKind::reduce_scatter, {Axis::tensor_column}, true);
}

/// The gradients of the two branches meet where the branch began.
void GridNorm::begin_branch() {
    const ValueId x = stream_.value;
    stream_.norm = stream_.layer.pieces.size();
    stream_.normed = stream_.value = stream_.activation(stream_.tokens * columns_);
    if (!op_.begins_branch) return;
    stream_.branch = x;
    stream_.branch_begin = stream_.norm;
    piece_.backward.push_back(
        {.name = "sum branch gradients", .what = stream_.on_residual(PointwiseKind::add, op_.width)});
}

}  // namespace

void shard_grid_norm(LayerStream& stream, const models::Norm& op) { GridNorm(stream, op).shard(); }

}  // namespace orrery::strategies
