// What Transformers over images begin and end with: patches as tokens, and the token that stands for all of them.
#include "strategies/partition/autocast.hpp"
#include "strategies/partition/sharder.hpp"

namespace orrery::strategies {

namespace {

using kernels::Gemm;
using kernels::GemmPass;
using kernels::Pointwise;
using kernels::PointwiseKind;

std::uint32_t narrow(std::uint64_t value) { return static_cast<std::uint32_t>(value); }

/// Patches are rows of their pixels, which one product brings to the hidden width (Megatron-LM, vit_backbone.py:
/// rearrange and linear_encoder; a convolution whose windows do not overlap is the same product). The first token and
/// the patches are put together by a copy, and positions are added to all. Nobody takes the image's gradient.
class PatchSharder {
public:
    PatchSharder(LayerStream& stream, const models::PatchEmbedding& op)
        : stream_(stream), op_(op), rows_(stream.plan.training.micro_batch * op.patches()) {}

    void shard() && {
        parameters();
        forward();
        backward();
        const std::uint64_t mask = op_.dropout ? stream_.tokens * op_.hidden : 0;
        piece_.saved_bytes = rows_ * op_.pixels() * stream_.bytes + mask;
        piece_.working_bytes = 2 * stream_.residual_bytes(op_.hidden);
        stream_.layer.flow.complete = false;
        stream_.value = stream_.activation(stream_.tokens * op_.hidden);
        stream_.layer.pieces.push_back(std::move(piece_));
    }

private:
    void parameters();
    void forward();
    void backward();
    [[nodiscard]] Gemm product(GemmPass pass) const {
        const auto rows = narrow(rows_), pixels = narrow(op_.pixels()), hidden = narrow(op_.hidden);
        if (pass == GemmPass::weight_gradient) return {stream_.element, 1, pixels, hidden, rows, pass};
        return {stream_.element, 1, rows, hidden, pixels, pass};
    }
    /// Over all tokens, and over those of patches alone.
    [[nodiscard]] Pointwise over_tokens(PointwiseKind kind) const { return stream_.on_residual(kind, op_.hidden); }
    [[nodiscard]] Pointwise over_patches(PointwiseKind kind) const {
        return stream_.pointwise(kind, rows_, op_.hidden);
    }

    LayerStream& stream_;
    const models::PatchEmbedding& op_;
    std::uint64_t rows_;  ///< patches of a micro-batch
    Piece piece_{.name = "patches"};
};

void PatchSharder::parameters() {
    const std::uint64_t weight = op_.pixels() * op_.hidden;
    const auto add = [&](const char* name, std::uint64_t rows, std::uint64_t cols, Initial initial) {
        stream_.parameter({.name = name, .parts = {rows}, .cols = cols, .initial = initial, .replicated = true},
                          rows * cols);
        piece_.counts.trained += rows * cols;
    };
    const Initial usual = Parameter{}.initial;
    add("patches.weight", op_.hidden, weight / op_.hidden, usual);
    if (op_.bias) add("patches.bias", op_.hidden, 1, Initial::zeros);
    add("patches.token", 1, op_.hidden, usual);
    add("patches.positions", op_.patches() + 1, op_.hidden, usual);
    piece_.counts.replicated = piece_.counts.trained;
}

void PatchSharder::forward() {
    auto& list = piece_.forward;
    list.push_back({"images to patches", stream_.pointwise(PointwiseKind::transpose, rows_, op_.pixels())});
    add_cast(stream_, list, "patches input to 16 bits", rows_, op_.pixels());
    add_cast(stream_, list, "patches weight to 16 bits", op_.hidden, op_.pixels());
    list.push_back({"patches", product(GemmPass::forward)});
    list.push_back({"join class token", over_tokens(PointwiseKind::scale)});
    list.push_back({"add positions", over_tokens(PointwiseKind::add)});
    if (op_.dropout) add_dropout(stream_, piece_, "dropout", {stream_.element, stream_.tokens, op_.hidden});
}

void PatchSharder::backward() {
    auto& list = piece_.backward;  // begun by a dropout
    const auto add = [&](const char* name, const kernels::Kernel& kernel) {
        list.push_back({.name = name, .what = kernel});  // at once, as an embedding's: nothing else is left to do
    };
    add("position gradient", over_tokens(PointwiseKind::add));
    add("class token gradient",
        stream_.pointwise(PointwiseKind::bias_gradient, stream_.plan.training.micro_batch, op_.hidden));
    add("part from class token", over_patches(PointwiseKind::scale));
    add("patches wgrad", product(GemmPass::weight_gradient));
    add_cast(stream_, list, "patches weight gradient to fp32", op_.hidden, op_.pixels());
    if (op_.bias) add("patches bias gradient", over_patches(PointwiseKind::bias_gradient));
    if (adds_apart(stream_.plan))
        add("patches accumulate", Pointwise{PointwiseKind::add, stream_.sum_dtype(), op_.pixels(), op_.hidden});
}

}  // namespace

void shard_patch_embedding(LayerStream& stream, const models::PatchEmbedding& op) { PatchSharder(stream, op).shard(); }

/// Its gradient is written into zeros as large as what it was taken of, as autograd does.
void shard_picked_token(LayerStream& stream, const models::PickToken& op) {
    Piece piece{.name = "token"};
    const std::uint64_t all = stream.residual_tokens, examples = stream.plan.training.micro_batch;
    const auto copy = stream.pointwise(PointwiseKind::scale, examples, op.width);
    piece.forward.push_back({"pick token", copy});
    piece.backward.push_back({"zeros", stream.pointwise(PointwiseKind::fill, all, op.width)});
    piece.backward.push_back({"picked token's gradient", copy});
    piece.working_bytes = examples * op.width * stream.bytes;
    stream.layer.flow.complete = false;
    stream.value = stream.activation(examples * op.width);
    stream.layer.pieces.push_back(std::move(piece));
}

}  // namespace orrery::strategies
