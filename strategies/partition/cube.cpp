// A linear layer on a cube of ranks (Bian et al. 2021, arXiv:2105.14450; Colossal-AI, parallel_3d/_operation.py,
// _Linear3D): its input is gathered along one direction and its weight along another, one product leaves a term of the
// output, which is summed and scattered along the third. The next layer has the first and the third changed about,
// since its input's columns lie where this one's output left them. What was gathered is kept for the backward, as that
// code does: of activations and weights 1 / l^2, not 1 / l^3.
#include "strategies/partition/grid.hpp"

namespace orrery::strategies {

namespace {

using kernels::CollectiveKind;
using kernels::GemmPass;
using kernels::PointwiseKind;

constexpr std::uint8_t input_flag = 1, weight_flag = 2;

class CubeLinear {
public:
    CubeLinear(LayerStream& stream, const models::Linear& op)
        : stream_(stream),
          op_(op),
          opens_(op.out != models::Dim::hidden),
          in_(columns_of(stream, op).rows),
          out_(columns_of(stream, op).columns),
          rows_(stream.tokens * stream.grid.row) {}

    void shard() && {
        const std::uint64_t side = stream_.grid.row;
        declare_linear(stream_, op_, {out_, in_ / side}, out_, piece_);
        if (op_.bias) piece_.counts.replicated = op_.again ? 0 : out_;
        forward();
        backward();
        account();
        leave_output(stream_, op_);
        stream_.layer.pieces.push_back(std::move(piece_));
    }

private:
    /// Of a branch's first product inputs lie in columns along rows of the grid, and outputs along its columns.
    [[nodiscard]] Axis input_axis() const { return opens_ ? Axis::tensor_column : Axis::tensor_row; }
    [[nodiscard]] Axis output_axis() const { return opens_ ? Axis::tensor_row : Axis::tensor_column; }
    void move(std::vector<Work>& list, const char* what, CollectiveKind kind, std::uint64_t elements, Axis axis,
              WorkFlags flags = {}) {
        add_among(list, stream_, op_.name + what, {kind, elements * stream_.bytes, AxisSet{axis}}, flags);
    }
    void forward();
    void backward();
    void account();

    LayerStream& stream_;
    const models::Linear& op_;
    bool opens_;              ///< it is its branch's first product, or the logits'
    std::uint64_t in_, out_;  ///< columns on this rank
    std::uint64_t rows_;      ///< tokens of the ranks along one direction
    Piece piece_{.name = op_.name};
};

void CubeLinear::forward() {
    auto& list = piece_.forward;
    move(list, " gather", CollectiveKind::all_gather, rows_ * in_, input_axis());
    move(list, " gather weight", CollectiveKind::all_gather, in_ * out_, Axis::tensor_depth);
    list.push_back({.name = op_.name, .what = block_product(stream_, rows_, out_, in_, GemmPass::forward)});
    move(list, " reduce", CollectiveKind::reduce_scatter, rows_ * out_, output_axis());
}

void CubeLinear::backward() {
    auto& list = piece_.backward;
    if (op_.bias) {
        list.push_back({.name = op_.name + " bias gradient",
                        .what = stream_.pointwise(PointwiseKind::bias_gradient, stream_.tokens, out_),
                        .of_weights = true});
        add_among(list, stream_, op_.name + " bias sum",
                  {CollectiveKind::all_reduce, out_ * stream_.bytes, {output_axis(), Axis::tensor_depth}},
                  {.of_weights = true});
    }
    move(list, " gather gradient", CollectiveKind::all_gather, rows_ * out_, output_axis());
    list.push_back(
        {.name = op_.name + " dgrad", .what = block_product(stream_, rows_, in_, out_, GemmPass::data_gradient)});
    move(list, " scatter input gradient", CollectiveKind::reduce_scatter, rows_ * in_, input_axis(),
         {.raises = input_flag});
    list.push_back({.name = op_.name + " wgrad",
                    .what = block_product(stream_, in_, out_, rows_, GemmPass::weight_gradient),
                    .of_weights = true});
    move(list, " scatter weight gradient", CollectiveKind::reduce_scatter, in_ * out_, Axis::tensor_depth,
         {.raises = weight_flag, .of_weights = true});
    add_accumulation(list, stream_, op_, {out_, in_ / stream_.grid.row}, weight_flag);
}

void CubeLinear::account() {
    const std::uint64_t x = rows_ * in_ * stream_.bytes, y = rows_ * out_ * stream_.bytes,
                        weight = in_ * out_ * stream_.bytes;
    piece_.saved_bytes = piece_.weight_saved_bytes = x + weight;
    piece_.input_bytes = stream_.tokens * in_ * stream_.bytes;
    piece_.output_gradient_bytes = y;
    piece_.working_bytes = x + weight + y;
}

}  // namespace

void shard_cube_linear(LayerStream& stream, const models::Linear& op) { CubeLinear(stream, op).shard(); }

}  // namespace orrery::strategies
