// A classifier whose classes are divided among data ranks (Whale's `split` beside a backbone that is replicated, Jia et
// al., USENIX ATC'22, section 3.4; InsightFace's Partial FC, An et al. 2021). Each rank has a part of the classes: it
// gathers the features of all ranks' examples, forms its classes' logits of all of them, agrees with the others on each
// example's loss, and scatters the features' gradients. Nobody sums gradients of its weights.
#include "strategies/partition/sharder.hpp"

namespace orrery::strategies {

namespace {

using kernels::CollectiveKind;
using kernels::Gemm;
using kernels::GemmPass;
using kernels::PointwiseKind;

Work among(const LayerStream& stream, std::string name, CollectiveKind kind, std::uint64_t bytes) {
    return {.name = std::move(name), .what = LayerCollective{kind, bytes, stream.plan.expert_group()}};
}

void gather_features(LayerStream& stream, std::uint64_t width) {
    Piece piece{.name = "gather features"};
    const std::uint64_t bytes = examples(stream) * width * stream.bytes;
    piece.forward.push_back(among(stream, "gather features", CollectiveKind::all_gather, bytes));
    piece.forward.push_back(
        among(stream, "gather targets", CollectiveKind::all_gather, examples(stream) * sizeof(std::int32_t)));
    piece.backward.push_back(among(stream, "scatter feature gradients", CollectiveKind::reduce_scatter, bytes));
    piece.working_bytes = bytes;
    stream.layer.pieces.push_back(std::move(piece));
}

}  // namespace

bool divides_classes(const Plan& plan) { return plan.strategy.split_classes > 1; }

std::uint64_t examples(const LayerStream& stream) { return stream.tokens * stream.plan.strategy.split_classes; }

std::uint64_t own_classes(const LayerStream& stream, std::uint64_t classes) {
    const std::uint64_t ranks = stream.plan.strategy.split_classes;
    return (classes + ranks - 1) / ranks;
}

void shard_split_classifier(LayerStream& stream, const models::Linear& op) {
    gather_features(stream, op.in_features);
    Piece piece{.name = op.name};
    const auto rows = static_cast<std::uint32_t>(examples(stream)), in = static_cast<std::uint32_t>(op.in_features);
    const auto out = static_cast<std::uint32_t>(own_classes(stream, op.out_features));
    const std::uint32_t ranks = stream.plan.strategy.split_classes;
    stream.parameter({.name = op.name + ".weight", .parts = {out}, .cols = in, .experts = ranks},
                     std::uint64_t{out} * in);
    if (op.bias) stream.parameter({.name = op.name + ".bias", .parts = {out}, .experts = ranks}, out);
    piece.forward.push_back({op.name, Gemm{stream.element, 1, rows, out, in, GemmPass::forward}});
    piece.backward.push_back({op.name + " dgrad", Gemm{stream.element, 1, rows, in, out, GemmPass::data_gradient}});
    piece.backward.push_back({.name = op.name + " wgrad",
                              .what = Gemm{stream.element, 1, in, out, rows, GemmPass::weight_gradient},
                              .of_weights = true});
    if (op.bias)
        piece.backward.push_back({.name = op.name + " bias gradient",
                                  .what = stream.pointwise(PointwiseKind::bias_gradient, rows, out),
                                  .of_weights = true});
    if (adds_apart(stream.plan))
        piece.backward.push_back({.name = op.name + " accumulate",
                                  .what = kernels::Pointwise{PointwiseKind::add, stream.sum_dtype(), in, out},
                                  .of_weights = true});
    piece.saved_bytes = std::uint64_t{rows} * in * stream.bytes;
    piece.working_bytes = std::uint64_t{rows} * (std::uint64_t{in} + out) * stream.bytes;
    piece.counts.trained = piece.counts.experts = out * (std::uint64_t{in} + (op.bias ? 1 : 0));
    stream.layer.flow.complete = false;
    stream.value = stream.activation(std::uint64_t{rows} * out);
    stream.layer.pieces.push_back(std::move(piece));
}

}  // namespace orrery::strategies
