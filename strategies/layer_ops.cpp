#include "strategies/layer_ops.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "strategies/checkpoint_policy.hpp"
#include "strategies/reruns.hpp"

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

ForwardOps forward_ops(Intern& intern, Builder& builder, const ShardedLayer& layer, std::size_t from, std::size_t to) {
    BlockWriter writer(intern, builder);
    std::vector<std::uint32_t> begins;
    for (std::size_t i = from; i < to; ++i) {
        const Piece& piece = layer.pieces[i];
        begins.push_back(writer.size());
        const BufferId working = writer.scratch(piece.working_bytes);
        writer.piece(piece.forward, Phase::forward, {working}, {working}, i + 1 == to);
    }
    return {std::move(writer).ops(), std::move(begins)};
}

std::vector<BlockOp> ops_run_again(Intern& intern, Builder& builder, const ShardedLayer& layer, Again again,
                                   std::size_t to) {
    BlockWriter writer(intern, builder);
    const RunAgain repeats = run_again(layer, again.keeps, again.stops_early);
    for (std::size_t i = 0; i < to; ++i)
        writer.piece(repeats.works[i], Phase::recompute, {writer.scratch(layer.pieces[i].saved_bytes)}, {},
                     i + 1 == to);
    return std::move(writer).ops();
}

std::vector<BlockOp> backward_ops(Intern& intern, Builder& builder, const ShardedLayer& layer, Again again,
                                  Gradients gradients, std::size_t ran) {
    BlockWriter writer(intern, builder);
    if (gradients == Gradients::of_weights) again = Recompute::none;  // they follow a backward that ran it
    constexpr BufferId kept = ~BufferId{0};
    std::vector<BufferId> brought(layer.pieces.size(), kept);  // what recomputation brings back
    const bool runs_again = again.whole || !again.modules.empty();
    const RunAgain repeats = runs_again ? run_again(layer, again.keeps, again.stops_early) : RunAgain{};
    const auto repeat = [&](std::size_t i, std::vector<BufferId> back) {
        writer.piece(repeats.works[i], Phase::recompute, std::move(back), {}, false);
    };
    std::vector<BufferId> begins;  // of pieces that ran: with the next, since nothing else stands for them here
    if (again.whole) {
        const std::size_t to = again.stops_early ? pieces_needed(layer) : layer.pieces.size();
        for (std::size_t i = to; i < layer.pieces.size(); ++i)  // takes what those before it leave
            begins.push_back(brought[i] = writer.scratch(layer.pieces[i].saved_bytes));
        for (std::size_t i = 0; i < to; ++i) {
            begins.push_back(brought[i] = writer.scratch(layer.pieces[i].saved_bytes));
            if (i >= ran) repeat(i, std::exchange(begins, {}));
        }
    }
    const Reruns modules = reruns(layer, again.modules, again.stops_early);
    const auto stays = [&](std::size_t piece) {  // for a gradient of weights that follows
        return gradients == Gradients::both ? 0 : modules.for_weights[piece];
    };
    auto next = modules.list.begin();
    std::size_t last = 0;
    while (last < layer.pieces.size() && works_of(layer.pieces[last], gradients).empty()) ++last;
    for (std::size_t i = layer.pieces.size(); i-- > 0;) {
        for (; next != modules.list.end() && next->before == i; ++next) {
            std::vector<BufferId> back;
            for (const std::size_t piece : next->brings)
                back.push_back(brought[piece] = writer.scratch(modules.dropped[piece] - stays(piece)));
            for (std::size_t piece = next->first; piece < next->last; ++piece) repeat(piece, std::exchange(back, {}));
        }
        const Piece& piece = layer.pieces[i];
        const std::vector<Work> works = works_of(piece, gradients);
        if (works.empty() && gradients != Gradients::both) continue;
        const BufferId working = writer.scratch(piece.working_bytes);
        std::vector<BufferId> ends{working};
        if (brought[i] != kept) ends.push_back(brought[i]);
        std::vector<BufferId> begun;
        if (!works.empty()) begun.swap(begins);
        begun.push_back(working);
        writer.piece(works, Phase::backward, std::move(begun), ends, i == last);
    }
    return std::move(writer).ops();
}

}  // namespace orrery::strategies
