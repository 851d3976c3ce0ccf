#include "strategies/layer_blocks.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace orrery::strategies {

namespace {

/// Writes pieces into one block and keeps track of collectives that run beside the compute lane.
class BlockWriter {
public:
    BlockWriter(Intern& intern, std::string name) : intern_(intern), builder_(std::move(name)) {}

    BufferId scratch(std::uint64_t bytes) { return builder_.buffer(bytes, Keep::scratch); }

    /// The works of one piece; writes `begins` with the first and reads `ends` with the last of them. A piece joins
    /// what the piece before left running; the last piece of a block leaves nothing running.
    void piece(const std::vector<Work>& works, Phase phase, std::vector<BufferId> begins, std::vector<BufferId> ends,
               bool last_piece) {
        for (std::size_t i = 0; i < works.size(); ++i) {
            const bool first = i == 0, last = i + 1 == works.size();
            std::vector<BufferId> reads, writes;
            if (first) writes = begins;
            if (last) reads = ends;
            const bool beside = works[i].raises != 0 && !first_op_ && !last && !(last_piece && nobody_waits(works, i));
            const std::uint8_t joins = first ? std::uint8_t{0xFF} : works[i].needs;
            work(works[i], phase, beside, joins, std::move(reads), std::move(writes));
        }
    }

    /// The block of a layer whose tensors are the step's `flow`.
    [[nodiscard]] Program finish(std::uint32_t flow) && {
        Program block = std::move(builder_).finish();
        block.flow = flow;
        block.details = std::move(details_);
        return block;
    }

private:
    static bool nobody_waits(const std::vector<Work>& works, std::size_t i) {
        for (std::size_t j = i + 1; j < works.size(); ++j)
            if ((works[j].needs & works[i].raises) != 0) return false;
        return true;
    }

    void work(const Work& work, Phase phase, bool beside, std::uint8_t joins, std::vector<BufferId> reads,
              std::vector<BufferId> writes) {
        for (auto running = running_.begin(); running != running_.end();) {
            if ((running->first & joins) == 0) {
                ++running;
                continue;
            }
            reads.push_back(running->second);
            running = running_.erase(running);
        }
        const BufferId result = scratch(0);
        writes.push_back(result);
        if (beside) reads.push_back(last_result_);
        What what;
        if (const auto* kernel = std::get_if<kernels::Kernel>(&work.what)) {
            what = intern_.kernel(*kernel);
        } else {
            const auto& collective = std::get<LayerCollective>(work.what);
            what = Collective{collective.kind, collective.group, collective.bytes};
        }
        Label label = intern_.label(work.name, phase);
        label.routed = work.routed;
        builder_.emit(beside ? Lane::tensor : Lane::compute, label, what, reads, writes);
        details_.push_back(work.detail);
        if (beside)
            running_[work.raises] = result;
        else
            last_result_ = result;
        first_op_ = false;
    }

    Intern& intern_;
    Builder builder_;
    std::vector<Detail> details_;
    std::map<std::uint8_t, BufferId> running_;  // flag -> what its collective writes
    BufferId last_result_ = 0;
    bool first_op_ = true;
};

/// Of a layer's pieces, from one to before another.
struct Part {
    std::size_t from = 0, to = 0;
    std::string_view suffix = "";  ///< of the block's name
};

Program forward_block(Intern& intern, const ShardedLayer& layer, const Part& part, std::uint32_t flow) {
    BlockWriter writer(intern, layer.name + " forward" + std::string(part.suffix));
    for (std::size_t i = part.from; i < part.to; ++i) {
        const Piece& piece = layer.pieces[i];
        const BufferId working = writer.scratch(piece.working_bytes);
        writer.piece(piece.forward, Phase::forward, {working}, {working}, i + 1 == part.to);
    }
    return std::move(writer).finish(flow);
}

/// What a backward runs again before the host waits; what that brings back is counted where the backward goes on.
Program block_run_again(Intern& intern, const ShardedLayer& layer, const Part& part, std::uint32_t flow) {
    BlockWriter writer(intern, layer.name + " backward" + std::string(part.suffix));
    for (std::size_t i = part.from; i < part.to; ++i)
        writer.piece(layer.pieces[i].forward, Phase::recompute, {writer.scratch(layer.pieces[i].saved_bytes)}, {},
                     i + 1 == part.to);
    return std::move(writer).finish(flow);
}

/// A backward in one go, or one of the two works that it can be split into.
enum class Gradients : std::uint8_t { both, of_inputs, of_weights };

std::vector<Work> works_of(const Piece& piece, Gradients gradients) {
    if (gradients == Gradients::both) return piece.backward;
    std::vector<Work> works;
    std::ranges::copy_if(piece.backward, std::back_inserter(works),
                         [&](const Work& work) { return work.of_weights == (gradients == Gradients::of_weights); });
    return works;
}

std::string_view suffix(Gradients gradients) {
    switch (gradients) {
        case Gradients::both: return " backward";
        case Gradients::of_inputs: return " input gradient";
        case Gradients::of_weights: return " weight gradient";
    }
    throw std::logic_error("gradients without a name");
}

/// ran: of pieces that run again, how many did so in a block of their own, before the host waited.
Program backward_block(Intern& intern, const ShardedLayer& layer, Recompute recompute, Gradients gradients,
                       std::size_t ran, std::uint32_t flow) {
    BlockWriter writer(intern, layer.name + std::string(suffix(gradients)));
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
    return std::move(writer).finish(flow);
}

std::uint64_t saved_bytes(const ShardedLayer& layer, Recompute recompute) {
    if (recompute == Recompute::full) return layer.input_bytes;
    std::uint64_t bytes = layer.saved_bytes();
    if (recompute == Recompute::selective)
        for (const Piece& piece : layer.pieces)
            if (piece.attention_core) bytes -= piece.saved_bytes - piece.input_bytes;
    return bytes;
}

}  // namespace

LayerBlocks add_blocks(StepProgram& step, Intern& intern, const ShardedLayer& layer, Recompute recompute, bool split) {
    LayerBlocks blocks{.saved_bytes = saved_bytes(layer, recompute),
                       .weight_saved_bytes = split ? layer.weight_saved_bytes() : 0,
                       .output_gradient_bytes = split ? layer.output_gradient_bytes() : 0,
                       .parameters = layer.parameters(),
                       .replicated_parameters = layer.replicated_parameters(),
                       .expert_parameters = layer.expert_parameters(),
                       .frozen_parameters = layer.frozen_parameters(),
                       .borrows_words = layer.borrows_words()};
    for (const Parameter& parameter : layer.flow.parameters)
        if (parameter.held) ++(parameter.experts > 0 ? blocks.expert_tensors : blocks.tensors);
    const auto add = [&](Program block) {
        if (block.ops.empty()) return LayerBlocks::none;
        step.blocks.push_back(std::move(block));
        return static_cast<std::uint32_t>(step.blocks.size() - 1);
    };
    const auto flow = static_cast<std::uint32_t>(step.flows.size());
    step.flows.push_back(layer.flow);
    const std::size_t all = layer.pieces.size(), wait = layer.host_waits_before();
    const Part before{0, wait, " to wait"};
    const bool waits = wait < all;
    if (waits) blocks.forward_to_wait = add(forward_block(intern, layer, before, flow));
    blocks.forward = add(forward_block(intern, layer, {waits ? wait : 0, all}, flow));
    if (split) {
        blocks.input_gradient = add(backward_block(intern, layer, recompute, Gradients::of_inputs, 0, flow));
        blocks.weight_gradient = add(backward_block(intern, layer, recompute, Gradients::of_weights, 0, flow));
    } else {
        const bool again = waits && recompute == Recompute::full;
        if (again) blocks.backward_to_wait = add(block_run_again(intern, layer, before, flow));
        blocks.backward = add(backward_block(intern, layer, recompute, Gradients::both, again ? wait : 0, flow));
    }
    return blocks;
}

}  // namespace orrery::strategies
