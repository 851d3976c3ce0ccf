#include "strategies/layer_blocks.hpp"

#include <numeric>
#include <utility>
#include <vector>

#include "strategies/checkpoint_policy.hpp"
#include "strategies/layer_ops.hpp"
#include "strategies/reruns.hpp"

namespace orrery::strategies {

namespace {

/// The block of a layer whose tensors are the step's `flow`.
Program block_of(Builder&& builder, std::vector<BlockOp> ops, std::uint32_t flow) {
    std::vector<Detail> details;
    for (BlockOp& op : ops) {
        builder.emit(op.lane, op.label, op.what, op.reads, op.writes);
        details.push_back(std::move(op.detail));
    }
    Program block = std::move(builder).finish();
    block.flow = flow;
    block.details = std::move(details);
    return block;
}

/// Of a layer that runs again: its input, and the results that its policy keeps.
std::vector<KeptTensor> kept_of_whole(const ShardedLayer& layer, Again again, std::size_t from,
                                      const std::vector<std::uint32_t>& begins) {
    std::vector<KeptTensor> tensors;
    if (from == 0) tensors.push_back({.bytes = layer.input_bytes});
    const RunAgain repeats = run_again(layer, again.keeps, again.stops_early);
    for (std::size_t i = 0; i < begins.size(); ++i)
        if (const std::uint64_t bytes = repeats.kept_bytes[from + i]; bytes > 0)
            tensors.push_back({bytes, begins[i], false});
    return tensors;
}

/// What pieces from `from` on keep between their forward, in operations that begin with `begins`, and their backward.
std::vector<KeptTensor> kept(const ShardedLayer& layer, Again again, bool split, std::size_t from,
                             const std::vector<std::uint32_t>& begins) {
    if (again.whole) return kept_of_whole(layer, again, from, begins);
    const Reruns runs = reruns(layer, again.modules);
    std::vector<KeptTensor> tensors;
    for (std::size_t i = 0; i < begins.size(); ++i) {
        const Piece& piece = layer.pieces[from + i];
        const std::uint64_t weights = split ? piece.weight_saved_bytes - runs.for_weights[from + i] : 0;
        const std::uint64_t stays = piece.saved_bytes - runs.dropped[from + i];
        if (stays > weights) tensors.push_back({stays - weights, begins[i], false});
        if (weights > 0) tensors.push_back({weights, begins[i], true});
    }
    return tensors;
}

std::uint64_t sum(const std::vector<std::uint64_t>& bytes) {
    return std::accumulate(bytes.begin(), bytes.end(), std::uint64_t{0});
}

/// Of a layer that runs again: its input, the results that its policy keeps, and what of them is not sent to the host.
LayerBlocks sizes_of_whole(const ShardedLayer& layer, Again again) {
    LayerBlocks blocks;
    blocks.saved_bytes = layer.input_bytes + run_again(layer, again.keeps, again.stops_early).all_kept_bytes();
    if (again.keeps.offloaded.empty()) return blocks;
    KeptResults away = again.keeps;
    away.names = again.keeps.offloaded;
    const bool input = away.names.has(CheckpointName::decoder_layer_input);
    blocks.stays_bytes = blocks.saved_bytes - run_again(layer, away, again.stops_early).all_kept_bytes() -
                         (input ? layer.input_bytes : 0);
    return blocks;
}

/// What a layer keeps, and leaves: split, for gradients of weights behind that of its input.
LayerBlocks sizes(const ShardedLayer& layer, Again again, bool split) {
    if (again.whole) return sizes_of_whole(layer, again);
    LayerBlocks blocks;
    const Reruns runs = reruns(layer, again.modules);
    blocks.saved_bytes = layer.saved_bytes() - sum(runs.dropped);
    if (!split) return blocks;
    const std::uint64_t brought = sum(runs.for_weights);
    blocks.weight_saved_bytes = layer.weight_saved_bytes() - brought;
    blocks.left_for_weights = layer.output_gradient_bytes() + brought;
    return blocks;
}

}  // namespace

LayerBlocks add_blocks(StepProgram& step, Intern& intern, const ShardedLayer& layer, Again again, Backwards backwards) {
    const bool split = backwards != Backwards::whole;
    LayerBlocks blocks = sizes(layer, again, split);
    blocks.counts = layer.counts();
    blocks.borrows_words = layer.borrows_words();
    for (const Piece& piece : layer.pieces)
        if (piece.counts.frozen > 0 && piece.counts.trained > 0) blocks.tensors += 2;  // an adapter's
    for (const Parameter& parameter : layer.flow.parameters)
        if (parameter.held && parameter.trained) ++(parameter.experts > 0 ? blocks.expert_tensors : blocks.tensors);
    const auto flow = static_cast<std::uint32_t>(step.flows.size());
    step.flows.push_back(layer.flow);
    if (again.whole && again.keeps.policy != CheckpointPolicy::nothing) step.flows.back().complete = false;
    const auto add = [&](const char* suffix, const auto& ops_of) {
        Builder builder(layer.name + suffix);
        std::vector<BlockOp> ops = ops_of(builder);
        if (ops.empty()) return LayerBlocks::none;
        step.blocks.push_back(block_of(std::move(builder), std::move(ops), flow));
        return static_cast<std::uint32_t>(step.blocks.size() - 1);
    };
    const std::size_t all = layer.pieces.size(), wait = layer.host_waits_before();
    const bool waits = wait < all;
    const auto forward = [&](const char* suffix, std::size_t from, std::size_t to) {
        std::vector<std::uint32_t> begins;
        const std::uint32_t block = add(suffix, [&](Builder& builder) {
            ForwardOps written = forward_ops(intern, builder, layer, from, to);
            begins = std::move(written.begins);
            return std::move(written.ops);
        });
        if (block != LayerBlocks::none) step.blocks[block].kept = kept(layer, again, split, from, begins);
        return block;
    };
    const auto backward = [&](const char* suffix, Gradients gradients, std::size_t ran) {
        return add(suffix,
                   [&](Builder& builder) { return backward_ops(intern, builder, layer, again, gradients, ran); });
    };
    if (waits) blocks.forward_to_wait = forward(" forward to wait", 0, wait);
    blocks.forward = forward(" forward", waits ? wait : 0, all);
    if (split) {
        blocks.input_gradient = backward(" input gradient", Gradients::of_inputs, 0);
        blocks.weight_gradient = backward(" weight gradient", Gradients::of_weights, 0);
    }
    if (backwards == Backwards::split) return blocks;
    const bool waits_again = waits && again.whole;
    if (waits_again)
        blocks.backward_to_wait = add(
            " backward to wait", [&](Builder& builder) { return ops_run_again(intern, builder, layer, again, wait); });
    blocks.backward = backward(" backward", Gradients::both, waits_again ? wait : 0);
    if (split && blocks.backward != LayerBlocks::none) step.blocks[blocks.backward].instead = true;
    return blocks;
}

}  // namespace orrery::strategies
