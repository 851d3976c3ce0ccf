#include "strategies/partition/grid.hpp"

#include <utility>

#include "base/overloaded.hpp"
#include "strategies/stage_split.hpp"

namespace orrery::strategies {

bool shard_in_grid(LayerStream& stream, const models::Operator& op) {
    if (!stream.grid.divides()) return false;
    return std::visit(Overloaded{[&](const models::Linear& linear) {
                                     stream.grid.cube() ? shard_cube_linear(stream, linear)
                                                        : shard_summa(stream, linear);
                                     return true;
                                 },
                                 [&](const models::Norm& norm) {
                                     shard_grid_norm(stream, norm);
                                     return true;
                                 },
                                 [&](const models::Embedding& embedding) {
                                     shard_grid_embedding(stream, embedding);
                                     return true;
                                 },
                                 [](const auto&) { return false; }},
                      op);
}

void add_among(std::vector<Work>& list, const LayerStream& stream, std::string name, const LayerCollective& collective,
               WorkFlags flags) {
    if (stream.plan.mesh().group_size(collective.group) == 1) return;
    list.push_back({.name = std::move(name),
                    .what = collective,
                    .raises = stream.plan.strategy.async_tensor_allreduce ? flags.raises : std::uint8_t{0},
                    .needs = flags.needs,
                    .of_weights = flags.of_weights});
}

kernels::Gemm block_product(const LayerStream& stream, std::uint64_t m, std::uint64_t n, std::uint64_t k,
                            kernels::GemmPass pass) {
    const auto size = [](std::uint64_t of) { return static_cast<std::uint32_t>(of); };
    return {stream.plan.training.precision.compute, 1, size(m), size(n), size(k), pass};
}

Block columns_of(const LayerStream& stream, const models::Linear& op) {
    const std::uint64_t out = op.out == models::Dim::vocab ? stream.plan.padded_vocab() : op.out_features;
    return {op.in_features / stream.tensor, out / stream.tensor};
}

void declare_linear(LayerStream& stream, const models::Linear& op, Block weight, std::uint64_t bias, Piece& piece) {
    const bool words = op.shares_embedding && ends_meet(stream.plan), elsewhere = words || op.again;
    stream.parameter({.name = op.shares_embedding ? word_embedding : op.name + ".weight",
                      .parts = {weight.rows},
                      .cols = weight.columns,
                      .shared_words = op.shares_embedding,
                      .held = !elsewhere},
                     weight.elements());
    if (op.bias) stream.parameter({.name = op.name + ".bias", .parts = {bias}, .initial = Initial::zeros}, bias);
    piece.borrows_words = words;
    piece.counts.trained = (elsewhere ? 0 : weight.elements()) + (op.bias && !op.again ? bias : 0);
}

void leave_output(LayerStream& stream, const models::Linear& op) {
    stream.value = stream.activation(stream.tokens * columns_of(stream, op).columns);
    stream.width_split = op.out != models::Dim::hidden;
    stream.late_bias = {};
    stream.apart.clear();
}

void add_accumulation(std::vector<Work>& list, const LayerStream& stream, const models::Linear& op, Block weight,
                      std::uint8_t needs) {
    list.push_back({.name = op.name + " accumulate",
                    .what = kernels::Pointwise{kernels::PointwiseKind::add, stream.plan.training.precision.grad_reduce,
                                               weight.rows, weight.columns},
                    .needs = needs,
                    .of_weights = true});
}

}  // namespace orrery::strategies
