#include "strategies/partition/expert_dispatch.hpp"

#include <utility>

namespace orrery::strategies {

namespace {

using kernels::CollectiveKind;
using kernels::Pointwise;
using kernels::PointwiseKind;

/// The works of both directions; what one does to tokens the other's backward does to gradients.
class Dispatch {
public:
    Dispatch(LayerStream& stream, const models::Experts& op, const ExpertShapes& shapes)
        : stream_(stream), op_(op), shapes_(shapes), flex_(stream.plan.strategy.dispatcher == Dispatcher::flex) {
        stream.layer.flow.complete = false;
    }

    void to_experts();
    void from_experts();

private:
    using List = std::vector<Work>;

    [[nodiscard]] Pointwise over_rows(PointwiseKind kind) const {
        return stream_.pointwise(kind, shapes_.rows, op_.width());
    }
    void kernel(List& list, const char* name, PointwiseKind kind) const {
        list.push_back({.name = name, .what = over_rows(kind), .routed = true});
    }
    /// A row for each of a rank's experts that a token is sent to, and their results added.
    void copy(List& list, const char* name) const {
        kernel(list, name, fused() ? PointwiseKind::permute : PointwiseKind::embedding);
    }
    void sum(List& list, const char* name) const {
        kernel(list, name, fused() ? PointwiseKind::unpermute : PointwiseKind::embedding_backward);
    }
    /// Megatron-LM's allgather dispatcher indexes tokens with PyTorch in any case.
    [[nodiscard]] bool fused() const { return flex_ && stream_.plan.training.permute_fusion; }

    /// Tokens to where their experts are: allgather brings all of them, flex those that a rank has experts of.
    void there(List& list, const char* name) const { over_group(list, name, CollectiveKind::all_gather); }
    /// Results, or gradients, back and added up.
    void back(List& list, const char* name) const { over_group(list, name, CollectiveKind::reduce_scatter); }
    void over_group(List& list, const char* name, CollectiveKind kind) const;

    /// A piece of the layer, with the memory that its steps need.
    void finish(Piece&& piece, std::uint64_t saved) const {
        piece.saved_bytes = saved;
        const std::uint64_t arrived = flex_ ? shapes_.distinct : shapes_.gathered;
        piece.working_bytes = (arrived + shapes_.rows) * op_.width() * stream_.bytes;
        stream_.layer.pieces.push_back(std::move(piece));
    }
    void now(std::uint64_t rows) const { stream_.value = stream_.activation(rows * op_.width()); }

    LayerStream& stream_;
    const models::Experts& op_;
    const ExpertShapes& shapes_;
    bool flex_;
};

/// Of whole tokens, over the ranks that divide the experts and those that split each: nothing for one alone.
void Dispatch::over_group(List& list, const char* name, CollectiveKind kind) const {
    const AxisSet experts = stream_.plan.expert_group();
    const AxisSet group = shapes_.gathers ? experts | AxisSet{Axis::tensor} : experts;
    if (flex_) {
        if (!shapes_.exchanges && !shapes_.gathers) return;
        const std::uint64_t bytes = shapes_.distinct * op_.width() * stream_.bytes;
        list.push_back({.name = name,
                        .what = LayerCollective{CollectiveKind::all_to_all, bytes, group,
                                                OnceANode{op_.routing(), shapes_.copies, shapes_.tokens}},
                        .routed = true});
    } else if (shapes_.gathered > shapes_.tokens) {
        list.push_back(
            {.name = name, .what = LayerCollective{kind, shapes_.gathered * op_.width() * stream_.bytes, group}});
    }
}

/// allgather (Megatron-LM's MoEAllGatherTokenDispatcher): all ranks of a group gather each other's tokens, with their
/// probabilities for all experts, and each takes copies of those that its experts were chosen for; in backward the
/// copies' gradients are added to their tokens' and scattered. flex: the exchange takes tokens as they lie, and copies
/// for experts are made where it has brought them.
void Dispatch::to_experts() {
    Piece piece{.name = "dispatch"};
    there(piece.forward, flex_ ? "dispatch" : "gather tokens");
    copy(piece.forward, "permute");
    sum(piece.backward, "permute backward");
    back(piece.backward, flex_ ? "dispatch gradient" : "scatter token gradients");
    now(shapes_.rows);
    finish(std::move(piece), shapes_.rows * 4);
}

/// Results, weighted by their probabilities, are added to their tokens and sent back. With flex each rank adds up its
/// own results of a token and the exchange adds those of ranks; probabilities are factors of the experts' activation
/// (Megatron-Core's weighted SwiGLU), so that results need not be kept for the router's gradient.
void Dispatch::from_experts() {
    Piece piece{.name = "combine"};
    if (!flex_) kernel(piece.forward, "weigh results", PointwiseKind::scale);
    sum(piece.forward, "unpermute");
    back(piece.forward, flex_ ? "combine" : "scatter results");
    if (op_.adds_shared)
        piece.forward.push_back(
            {"add shared expert", stream_.pointwise(PointwiseKind::add, shapes_.tokens, op_.hidden)});
    there(piece.backward, flex_ ? "combine gradient" : "gather result gradients");
    copy(piece.backward, "unpermute backward");
    if (!flex_) kernel(piece.backward, "weigh results backward", PointwiseKind::scale);
    now(shapes_.tokens);
    finish(std::move(piece), flex_ ? 0 : shapes_.rows * op_.width() * stream_.bytes);
}

}  // namespace

void dispatch_priced(LayerStream& stream, const models::Experts& op, const ExpertShapes& shapes) {
    Dispatch(stream, op, shapes).to_experts();
}

void combine_priced(LayerStream& stream, const models::Experts& op, const ExpertShapes& shapes) {
    Dispatch(stream, op, shapes).from_experts();
}

}  // namespace orrery::strategies
