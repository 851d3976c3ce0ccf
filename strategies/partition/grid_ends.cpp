// The embedding on a grid of tensor ranks (Colossal-AI, VocabParallelEmbedding2D and 3D): ranks of a column hold rows
// of the words' table, those of a row its columns. All of a column look up the same tokens, each finds its own words,
// and what they find is summed and scattered along the column. A cube's ranks gather the table along its depth first.
#include "strategies/partition/grid.hpp"
#include "strategies/stage_split.hpp"

namespace orrery::strategies {

namespace {

using kernels::CollectiveKind;
using kernels::PointwiseKind;

class GridEmbedding {
public:
    GridEmbedding(LayerStream& stream, const models::Embedding& op)
        : stream_(stream),
          op_(op),
          columns_(stream.residual_columns(op.hidden)),
          words_(stream.plan.padded_vocab() / stream.tensor),
          tokens_(stream.tokens * stream.grid.column),
          elsewhere_(op.shared && !(op.copied && !stream.plan.model.tied_embeddings && !ends_meet(stream.plan))) {}

    void shard() && {
        declare();
        forward();
        backward();
        piece_.saved_bytes = tokens_ * 8 + (op_.dropout ? stream_.tokens * columns_ : 0);  // ids, mask
        piece_.working_bytes = tokens_ * columns_ * stream_.bytes + stream_.residual_bytes(op_.hidden);
        if (cube()) piece_.working_bytes += words_ * columns_ * stream_.bytes;
        piece_.borrows_words = elsewhere_ && ends_meet(stream_.plan);
        stream_.value = stream_.activation(stream_.tokens * columns_);
        stream_.layer.pieces.push_back(std::move(piece_));
    }

private:
    [[nodiscard]] bool cube() const { return stream_.grid.cube(); }
    void declare();
    void forward();
    void backward();
    void column(std::vector<Work>& list, const char* what, CollectiveKind kind, std::uint64_t elements) {
        add_among(list, stream_, what, {kind, elements * stream_.bytes, AxisSet{Axis::tensor_column}});
    }
    void depth(std::vector<Work>& list, const char* what, CollectiveKind kind) {
        if (cube())
            add_among(list, stream_, what, {kind, words_ * columns_ * stream_.bytes, AxisSet{Axis::tensor_depth}});
    }

    LayerStream& stream_;
    const models::Embedding& op_;
    std::uint64_t columns_;  ///< of the residual stream on this rank
    std::uint64_t words_;    ///< that a rank looks up
    std::uint64_t tokens_;   ///< of a column's ranks
    bool elsewhere_;         ///< another layer holds the tables
    Piece piece_{.name = "embedding"};
};

/// A square's ranks keep a part of the columns of the positions' table each (Embedding2D), a cube's all of theirs.
void GridEmbedding::declare() {
    const std::uint64_t rows = cube() ? words_ / stream_.grid.depth : words_,
                        of_positions = cube() ? columns_ : columns_ / stream_.grid.column;
    stream_.parameter({.name = word_embedding, .parts = {rows}, .cols = columns_, .held = !elsewhere_},
                      rows * columns_);
    if (op_.positions > 0)
        stream_.parameter(
            {.name = "embedding.positions", .parts = {op_.positions}, .cols = of_positions, .held = !elsewhere_},
            op_.positions * of_positions);
    if (elsewhere_) return;
    piece_.counts.trained = rows * columns_ + op_.positions * of_positions;
    if (cube()) piece_.counts.replicated = op_.positions * of_positions;
}

void GridEmbedding::forward() {
    auto& list = piece_.forward;
    depth(list, "gather words", CollectiveKind::all_gather);
    list.push_back({.name = "word embedding", .what = stream_.pointwise(PointwiseKind::embedding, tokens_, columns_)});
    column(list, "embedding reduce", CollectiveKind::reduce_scatter, tokens_ * columns_);
    if (op_.positions > 0) {
        if (!cube()) column(list, "gather positions", CollectiveKind::all_gather, op_.positions * columns_);
        list.push_back({.name = "add positions", .what = stream_.on_residual(PointwiseKind::add, op_.hidden)});
    }
    if (op_.dropout) list.push_back({"dropout", stream_.on_residual(PointwiseKind::dropout, op_.hidden)});
}

void GridEmbedding::backward() {
    auto& list = piece_.backward;
    if (op_.dropout)
        list.push_back({"dropout backward", stream_.on_residual(PointwiseKind::dropout_backward, op_.hidden)});
    if (op_.positions > 0) {
        list.push_back({.name = "position gradient", .what = stream_.on_residual(PointwiseKind::add, op_.hidden)});
        const std::uint64_t table = op_.positions * columns_;
        if (cube())
            add_among(list, stream_, "sum position gradients",
                      {CollectiveKind::all_reduce, table * stream_.bytes, {Axis::tensor_column, Axis::tensor_depth}});
        else
            column(list, "scatter position gradients", CollectiveKind::reduce_scatter, table);
    }
    column(list, "embedding gather gradient", CollectiveKind::all_gather, tokens_ * columns_);
    list.push_back({.name = "embedding backward",
                    .what = stream_.pointwise(PointwiseKind::embedding_backward, tokens_, columns_)});
    depth(list, "scatter word gradients", CollectiveKind::reduce_scatter);
}

}  // namespace

void shard_grid_embedding(LayerStream& stream, const models::Embedding& op) { GridEmbedding(stream, op).shard(); }

}  // namespace orrery::strategies
