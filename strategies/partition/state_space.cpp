// A state-space mixer between its two products, as Megatron-LM trains it (megatron/core/ssm/mamba_mixer.py): one
// rank's heads and groups, all of its sequence. The library's function keeps what the first product left and the
// scan's results, and its backward convolves and forms the states again (mamba_ssm, ssd_combined.py,
// MambaSplitConv1dScanCombinedFn). Priced, not executed.
//
// Context ranks exchange tokens for heads and back (mamba_context_parallel.py): each then scans whole sequences. Where
// a rank has fewer groups than there are context ranks, groups are repeated.
#include <algorithm>
#include <utility>

#include "strategies/partition/sharder.hpp"

namespace orrery::strategies {

namespace {

using kernels::CollectiveKind;
using kernels::PointwiseKind;
using kernels::StateSpace;
using kernels::StateSpaceKind;

class MixerSharder {
public:
    MixerSharder(LayerStream& stream, const models::StateMixer& op)
        : stream_(stream), shape_(op.shape), context_(stream.plan.strategy.context) {
        shape_.heads /= stream.tensor;
        shape_.groups /= stream.tensor;
        scanned_ = shape_;
        scanned_.heads /= context_;
        scanned_.groups = std::max(1U, shape_.groups / context_);
    }

    void shard() && {
        stream_.layer.flow.complete = false;
        scan();
        group_norm();
        stream_.value = stream_.activation(stream_.tokens * shape_.inner());
    }

private:
    using List = std::vector<Work>;

    void scan();
    void group_norm();
    void kernel(List& list, StateSpaceKind kind) const {
        const bool convolves = kind == StateSpaceKind::convolution || kind == StateSpaceKind::convolution_backward;
        const StateSpace of{.kind = kind,
                            .dtype = stream_.element,
                            .batch = stream_.plan.training.micro_batch,
                            .seq = stream_.plan.rank_seq() * context_,
                            .heads = scanned_.heads,
                            .head_dim = scanned_.head_dim,
                            .groups = scanned_.groups,
                            .state = scanned_.state,
                            .chunk = convolves ? shape_.window : shape_.chunk};
        list.push_back({std::string(kernels::name(kind)), of});
    }
    void kernels_of(List& list, std::initializer_list<StateSpaceKind> kinds) const {
        for (const StateSpaceKind kind : kinds) kernel(list, kind);
    }
    /// Megatron-LM has a sequence's tokens before its sequences, the library the other way: a copy, but of one sequence
    /// none. Beside context parallelism the parts of sequences are put in their order as well.
    void reorder(List& list, std::uint64_t width) const {
        const bool one = stream_.plan.training.micro_batch == 1;
        const auto copy = stream_.pointwise(PointwiseKind::transpose, stream_.tokens, width);
        if (!one) list.push_back({"mixer transpose", copy});
        if (context_ > 1) list.push_back({"mixer order", copy});
    }
    void exchange(List& list, std::uint64_t width) const {
        if (context_ == 1) return;
        list.push_back({.name = "mixer exchange",
                        .what = LayerCollective{CollectiveKind::all_to_all, stream_.tokens * width * stream_.bytes,
                                                stream_.plan.context_group()}});
    }
    /// Of what the first product leaves for a token.
    [[nodiscard]] std::uint64_t projected() const { return shape_.inner() + shape_.convolved() + shape_.heads; }

    LayerStream& stream_;
    models::MambaSpec shape_, scanned_;  ///< of a tensor rank, and of a context rank while it scans
    std::uint32_t context_;
};

void MixerSharder::scan() {
    using enum StateSpaceKind;
    Piece piece{.name = "state-space scan"};
    List &there = piece.forward, &back = piece.backward;
    exchange(there, projected());
    reorder(there, projected());
    kernels_of(there, {convolution, decay, chunk_states, state_passing, chunk_product, chunk_scan});
    reorder(there, shape_.inner());
    exchange(there, shape_.inner());

    exchange(back, shape_.inner());
    reorder(back, shape_.inner());
    kernels_of(back, {convolution, decay, chunk_product, chunk_states, state_passing, gate_gradient, state_gradient,
                      state_passing_backward, input_gradient, b_gradient, c_gradient, product_gradient,
                      product_backward, product_backward, decay_gradient, decay_backward, convolution_backward});
    reorder(back, projected());
    exchange(back, projected());

    const std::uint64_t tokens = stream_.tokens, inner = shape_.inner();
    const std::uint64_t chunks = (tokens + shape_.chunk - 1) / shape_.chunk;
    piece.saved_bytes = tokens * (projected() + inner) * stream_.bytes;
    piece.input_bytes = tokens * projected() * stream_.bytes;
    piece.working_bytes = tokens * (shape_.convolved() * stream_.bytes + 4ULL * shape_.chunk * shape_.groups) +
                          chunks * inner * shape_.state * (4 + stream_.bytes);
    piece.counts.trained = shape_.convolved() * (shape_.window + 1ULL) + 3ULL * shape_.heads;
    stream_.layer.pieces.push_back(std::move(piece));
}

/// An RMS norm over each group, whose weights are divided like the groups.
void MixerSharder::group_norm() {
    Piece piece{.name = "group norm"};
    const std::uint64_t rows = stream_.tokens * shape_.groups, width = shape_.inner() / shape_.groups;
    piece.forward.push_back({"group norm", stream_.pointwise(PointwiseKind::rmsnorm, rows, width)});
    piece.backward.push_back({"group norm backward", stream_.pointwise(PointwiseKind::rmsnorm_backward, rows, width)});
    piece.saved_bytes = piece.working_bytes = rows * width * stream_.bytes;
    piece.counts.trained = shape_.inner();
    stream_.layer.pieces.push_back(std::move(piece));
}

}  // namespace

void shard_state_mixer(LayerStream& stream, const models::StateMixer& op) { MixerSharder(stream, op).shard(); }

}  // namespace orrery::strategies
