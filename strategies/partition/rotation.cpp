// The rotation of queries and keys, and what comes before it: norms of both, and in latent attention the keys of all
// heads put together. Heads are split over the tensor axis.
#include <array>

#include "strategies/partition/sharder.hpp"

namespace orrery::strategies {

namespace {

using kernels::Pointwise;
using kernels::PointwiseKind;

/// By PyTorch's operators, as Llama's, GPT-NeoX's and Megatron-LM's own code of before its fused kernel have it:
/// x cos + rotate_half(x) sin, where rotate_half negates one half and joins the two.
void rope_by_operators(Piece& piece, const Cells& over) {
    const Cells half{over.element, over.rows, over.cols / 2};
    add_passes(piece.forward, "rope half", half, 1, 0);
    add_passes(piece.forward, "rope", over, 3, 1);
    add_passes(piece.backward, "rope half backward", half, 1, 0);
    // Products with cos and sin; each half back into zeros of the whole; the halves, and the two products, summed.
    add_passes(piece.backward, "rope backward", over, 4, 2);
}

/// As complex numbers of two columns each (TorchTitan, ComplexRoPE): view_as_complex takes fp32, and a product of
/// complex numbers is a kernel of its own whoever compiles ("Torchinductor does not support code generation for complex
/// operators"). The gradient is turned back likewise.
void rope_as_complex(Piece& piece, const Cells& over) {
    const Cells wide{kernels::Dtype::fp32, over.rows, over.cols};
    for (auto* const list : {&piece.forward, &piece.backward}) {
        const std::string name = list == &piece.forward ? "rope" : "rope backward";
        const Work cast{.name = name + " cast", .what = over.by(PointwiseKind::cast)};
        const bool narrow = kernels::size_of(over.element) < sizeof(float);
        if (narrow) list->push_back(cast);
        list->push_back({.name = name, .what = wide.by(PointwiseKind::scale)});
        if (narrow) list->push_back(cast);
    }
}

class RotationSharder {
public:
    RotationSharder(LayerStream& stream, const models::Rope& op)
        : stream_(stream), op_(op), width_(op.heads * op.head_dim / stream.tensor), spec_(stream.plan.model) {}
    void shard() &&;

private:
    void norm();
    void turn();
    void turn_packed();
    void turn_apart();
    void turn_latent();
    void turn_latent_in_place(View shared, View keys, View formed);
    [[nodiscard]] bool latent() const { return spec_.kv_lora_rank > 0; }
    /// Whether several kernels turn them.
    [[nodiscard]] bool by_operators() const {
        return stream_.plan.training.kernel_fusion != KernelFusion::full || stream_.plan.training.complex_rope;
    }
    void turn_by_operators() {
        const Cells over{stream_.element, stream_.tokens, width_};
        stream_.plan.training.complex_rope ? rope_as_complex(piece_, over) : rope_by_operators(piece_, over);
    }
    /// Over the columns of queries (0) or keys (1) on this rank.
    [[nodiscard]] std::uint64_t columns(std::size_t which) const {
        return std::uint64_t{which == 0 ? spec_.heads : spec_.kv_heads} * op_.head_dim / stream_.tensor;
    }
    [[nodiscard]] Pointwise over(PointwiseKind kind, std::uint64_t cols) const {
        return stream_.pointwise(kind, stream_.tokens, cols);
    }
    /// Over each head, or all of a token's together.
    [[nodiscard]] Pointwise normed(PointwiseKind kind, std::uint64_t cols) const {
        return op_.norm_whole ? over(kind, cols)
                              : stream_.pointwise(kind, stream_.tokens * cols / op_.head_dim, op_.head_dim);
    }
    [[nodiscard]] Launch launch_of(std::optional<kernels::Kernel> kernel, std::uint64_t row_stride) const;
    [[nodiscard]] View angles(Table which) const {
        const std::uint64_t turned = latent() ? spec_.rope_head_dim : op_.head_dim;
        return {stream_.flow.table(which, kernels::Format::fp32, stream_.seq() * turned / 2)};
    }
    [[nodiscard]] Detail in_place(ValueId rows, const Launch& launch) const {
        return {{{rows}, angles(Table::rope_cos), angles(Table::rope_sin), {rows}}, launch};
    }
    void add(PointwiseKind kind, Detail detail) {
        const bool there = kind == PointwiseKind::rope;
        (there ? piece_.forward : piece_.backward)
            .push_back(
                {.name = there ? "rope" : "rope backward", .what = over(kind, width_), .detail = std::move(detail)});
    }

    LayerStream& stream_;
    const models::Rope& op_;
    std::uint64_t width_;  ///< of queries and keys on this rank
    const models::ModelSpec& spec_;
    Piece piece_{.name = "rope"};
    Work norm_backward_{};
};

Launch RotationSharder::launch_of(std::optional<kernels::Kernel> kernel, std::uint64_t row_stride) const {
    Launch launch;
    launch.settings.row_stride = row_stride;
    launch.settings.head = op_.head_dim;
    launch.settings.positions = stream_.seq();
    launch.kernel = kernel;
    return launch;
}

/// Of queries and of keys, as one is priced.
void RotationSharder::norm() {
    auto& flow = stream_.flow;
    Work there{.name = "query key norm", .what = normed(PointwiseKind::rmsnorm, width_)};
    Work back{.name = "query key norm backward", .what = normed(PointwiseKind::rmsnorm_backward, width_)};
    for (const std::size_t which : {std::size_t{0}, std::size_t{1}}) {
        if (stream_.apart.empty()) break;
        const std::uint64_t cols = columns(which), weights = op_.norm_whole ? cols : op_.head_dim;
        const Pointwise kernel = normed(PointwiseKind::rmsnorm, cols);
        const View x{stream_.apart[which]}, y{stream_.activation(stream_.tokens * cols)},
            rstd{flow.activation(kernels::Format::fp32, kernel.rows)};
        const FlowBuilder::Weights gamma =
            stream_.parameter({.name = which == 0 ? "query_norm.weight" : "key_norm.weight",
                               .parts = {weights * (op_.norm_whole ? stream_.tensor : 1)},
                               .split = op_.norm_whole ? Parameter::Split::rows : Parameter::Split::none,
                               .initial = Initial::ones,
                               .replicated = !op_.norm_whole},
                              weights);
        Detail forward{{x, {gamma.weight}, y, rstd}, {.kernel = kernel}};
        Launch into = stream_.into_gradients();
        into.kernel = normed(PointwiseKind::rmsnorm_backward, cols);
        Detail backward{
            {x, {gamma.weight}, {flow.gradient_of(y.value)}, rstd, {flow.gradient_of(x.value)}, {gamma.gradient}},
            into};
        stream_.apart[which] = y.value;
        if (which == 0) {
            there.detail = std::move(forward);
            back.detail = std::move(backward);
        } else {
            there.detail.also = {std::move(forward)};
            back.detail.also = {std::move(backward)};
        }
    }
    piece_.forward.push_back(std::move(there));
    norm_backward_ = std::move(back);
    piece_.saved_bytes = stream_.tokens * width_ * stream_.bytes;
    piece_.counts.trained = op_.norm_whole ? width_ : 2 * op_.head_dim;
    if (!op_.norm_whole) piece_.counts.replicated = piece_.counts.trained;
}

void RotationSharder::turn() {
    if (latent()) return turn_latent();
    if (by_operators()) return turn_by_operators();
    stream_.apart.empty() ? turn_packed() : turn_apart();
}

/// In place, inside the packed rows.
void RotationSharder::turn_packed() {
    const Launch packed =
        launch_of(std::nullopt, std::uint64_t{spec_.heads + 2 * spec_.kv_heads} * spec_.head_dim / stream_.tensor);
    add(PointwiseKind::rope, in_place(stream_.value, packed));
    add(PointwiseKind::rope_backward, in_place(stream_.flow.gradient_of(stream_.value), packed));
}

/// In place, queries and keys each by themselves.
void RotationSharder::turn_apart() {
    const ValueId q = stream_.apart[0], k = stream_.apart[1];
    for (const PointwiseKind kind : {PointwiseKind::rope, PointwiseKind::rope_backward}) {
        const auto rows = [&](ValueId of) { return kind == PointwiseKind::rope ? of : stream_.flow.gradient_of(of); };
        Detail detail = in_place(rows(q), launch_of(over(kind, columns(0)), 0));
        detail.also = {in_place(rows(k), launch_of(over(kind, columns(1)), 0))};
        add(kind, std::move(detail));
    }
}

/// Queries in place; keys are made of each head's own columns and of those that rotate, which all heads share. formed:
/// of these the gradient.
void RotationSharder::turn_latent_in_place(View shared, View keys, View formed) {
    auto& flow = stream_.flow;
    const LayerStream::Latent& latent = stream_.latent;
    const View cos = angles(Table::rope_cos), sin = angles(Table::rope_sin);
    for (const PointwiseKind kind : {PointwiseKind::rope, PointwiseKind::rope_backward}) {
        const bool there = kind == PointwiseKind::rope;
        Launch own = launch_of(over(kind, columns(0)), 0);
        own.settings.turned = spec_.rope_head_dim;
        Launch whole = own;
        whole.settings.shared = true;
        Detail detail = in_place(there ? latent.queries : flow.gradient_of(latent.queries), own);
        detail.also = {
            there
                ? Detail{{{latent.plain}, shared, cos, sin, keys}, whole}
                : Detail{{{flow.gradient_of(keys.value)}, cos, sin, {flow.gradient_of(latent.plain)}, formed}, whole}};
        add(kind, std::move(detail));
    }
}

/// Each tensor rank forms the gradient of shared columns over its heads.
void RotationSharder::turn_latent() {
    auto& flow = stream_.flow;
    const LayerStream::Latent& latent = stream_.latent;
    const std::uint64_t turned = spec_.rope_head_dim;
    const View keys{stream_.activation(stream_.tokens * columns(0))};
    const View shared{stream_.convert(piece_.forward, "gather shared keys", stream_.residual, Placement::replicated,
                                      turned, latent.turned)};
    const bool scattered = stream_.tensor > 1 && stream_.residual == Placement::sharded_sequence;
    const ValueId gradient = flow.gradient_of(latent.turned);
    const View formed{scattered ? flow.gradient(stream_.format(), stream_.tokens * turned) : gradient};
    by_operators() ? turn_by_operators() : turn_latent_in_place(shared, keys, formed);
    stream_.convert(piece_.backward, "reduce shared key gradients", Placement::partial, stream_.residual, turned,
                    formed.value, gradient);
    stream_.apart = {latent.queries, keys.value, latent.values};
}

void RotationSharder::shard() && {
    // Squares of a token's queries, and of its keys, over all heads.
    const bool summed = op_.norm_whole && stream_.tensor > 1;
    const Work sums{.name = "query key norm sum",
                    .what = LayerCollective{kernels::CollectiveKind::all_reduce, stream_.tokens * 2 * sizeof(float)}};
    if (op_.norm) norm();
    if (summed) piece_.forward.push_back(sums);
    turn();
    if (op_.norm) piece_.backward.push_back(std::move(norm_backward_));
    if (summed) piece_.backward.push_back(sums);
    piece_.working_bytes = stream_.tokens * width_ * stream_.bytes;
    stream_.layer.pieces.push_back(std::move(piece_));
}

}  // namespace

void shard_rope(LayerStream& stream, const models::Rope& op) { RotationSharder(stream, op).shard(); }

}  // namespace orrery::strategies
