#include "strategies/layer_ops.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace orrery::strategies {

namespace {

std::vector<Work> works_of(const Piece& piece, Gradients gradients) {
    if (gradients == Gradients::both) return piece.backward;
    std::vector<Work> works;
    std::ranges::copy_if(piece.backward, std::back_inserter(works),
                         [&](const Work& work) { return work.of_weights == (gradients == Gradients::of_weights); });
    return works;
}

}  // namespace

std::vector<BlockOp> forward_ops(Intern& intern, Builder& builder, const ShardedLayer& layer, std::size_t from,
                                 std::size_t to) {
    BlockWriter writer(intern, builder);
    for (std::size_t i = from; i < to; ++i) {
        const Piece& piece = layer.pieces[i];
        const BufferId working = writer.scratch(piece.working_bytes);
        writer.piece(piece.forward, Phase::forward, {working}, {working}, i + 1 == to);
    }
    return std::move(writer).ops();
}

std::vector<BlockOp> ops_run_again(Intern& intern, Builder& builder, const ShardedLayer& layer, std::size_t to) {
    BlockWriter writer(intern, builder);
    for (std::size_t i = 0; i < to; ++i)
        writer.piece(layer.pieces[i].forward, Phase::recompute, {writer.scratch(layer.pieces[i].saved_bytes)}, {},
                     i + 1 == to);
    return std::move(writer).ops();
}

std::vector<BlockOp> backward_ops(Intern& intern, Builder& builder, const ShardedLayer& layer, Recompute recompute,
                                  Gradients gradients, std::size_t ran) {
    BlockWriter writer(intern, builder);
    if (gradients == Gradients::of_weights) recompute = Recompute::none;  // they follow a backward that ran it
    std::vector<BufferId> again(layer.pieces.size());                     // what recomputation brings back
    const auto kept_again = [&](std::size_t i) {
        const Piece& piece = layer.pieces[i];
        return again[i] =
                   writer.scratch(piece.saved_bytes - (recompute == Recompute::selective ? piece.input_bytes : 0));
    };
    const auto run_again = [&](std::size_t i, std::vector<BufferId> begins) {
        begins.push_back(kept_again(i));
        writer.piece(layer.pieces[i].forward, Phase::recompute, std::move(begins), {}, false);
    };
    if (recompute == Recompute::full) {
        std::vector<BufferId> before;  // with the first piece, since nothing else stands for them here
        for (std::size_t i = 0; i < ran; ++i) before.push_back(kept_again(i));
        for (std::size_t i = ran; i < layer.pieces.size(); ++i) run_again(i, std::exchange(before, {}));
    }
    std::size_t last = 0;
    while (last < layer.pieces.size() && works_of(layer.pieces[last], gradients).empty()) ++last;
    for (std::size_t i = layer.pieces.size(); i-- > 0;) {
        const Piece& piece = layer.pieces[i];
        const bool selective = recompute == Recompute::selective && piece.attention_core;
        if (selective) run_again(i, {});
        const std::vector<Work> works = works_of(piece, gradients);
        if (works.empty() && gradients != Gradients::both) continue;
        const BufferId working = writer.scratch(piece.working_bytes);
        std::vector<BufferId> ends{working};
        if (selective || recompute == Recompute::full) ends.push_back(again[i]);
        writer.piece(works, Phase::backward, {working}, ends, i == last);
    }
    return std::move(writer).ops();
}

}  // namespace orrery::strategies
