#include "strategies/partition/tensor.hpp"

#include <numeric>
#include <utility>

#include "strategies/layout.hpp"
#include "strategies/partition/attention.hpp"
#include "strategies/partition/experts.hpp"

namespace orrery::strategies {

namespace {

using kernels::Dtype;
using kernels::Gemm;
using kernels::GemmPass;
using kernels::Pointwise;
using kernels::PointwiseKind;
using models::Dim;

constexpr std::uint8_t gathered_flag = 1, reduced_flag = 2;

bool split_by_tensor(Dim dim) { return dim != Dim::hidden; }

/// Shards operators one after the other; each adds one piece.
class Sharder {
public:
    Sharder(const Plan& plan, ShardedLayer& out) : plan_(plan), out_(out) {
        const auto& t = plan.training;
        tokens_ = std::uint64_t{t.micro_batch} * t.seq;
        tensor_ = plan.strategy.tensor;
        residual_ =
            plan.strategy.sequence_parallel && tensor_ > 1 ? Placement::sharded_sequence : Placement::replicated;
        residual_tokens_ = residual_ == Placement::sharded_sequence ? tokens_ / tensor_ : tokens_;
        element_ = activation_dtype(plan);
        bytes_ = kernels::size_of(element_);
    }

    void operator()(const models::Linear& op);
    void operator()(const models::Embedding& op);
    void operator()(const models::Norm& op);
    void operator()(const models::Rope& op);
    void operator()(const models::AttentionCore& op) { out_.pieces.push_back(attention_piece(op, plan_)); }
    void operator()(const models::Activation& op);
    void operator()(const models::Experts& op);
    void operator()(const models::ResidualAdd& op);
    void operator()(const models::Loss& op);

    [[nodiscard]] std::uint64_t residual_bytes(std::uint64_t width) const { return residual_tokens_ * width * bytes_; }

private:
    /// A collective that brings [tokens, width] from one placement to another, or nothing.
    void convert(std::vector<Work>& list, const std::string& name, Placement from, Placement to, std::uint64_t width,
                 std::uint8_t raises = 0) const {
        if (tensor_ == 1) return;
        if (const auto kind = conversion(from, to))
            list.push_back({name, LayerCollective{*kind, tokens_ * width * bytes_}, raises, 0});
    }
    [[nodiscard]] Pointwise pointwise(PointwiseKind kind, std::uint64_t rows, std::uint64_t cols) const {
        return {kind, element_, rows, cols};
    }
    /// With a parallel residual the ranks' terms of attention and MLP are added first and reduced once, and the
    /// gradient of the sum is gathered once (GPT-NeoX, megatron/model/transformer.py, gpt_j_residual).
    [[nodiscard]] bool summed_with_mlp(const models::Linear& op) const {
        return plan_.model.parallel_residual && op.in == Dim::attention;
    }
    void linear_backward(const models::Linear& op, const Gemm& forward, Piece& piece) const;
    void quantise(std::vector<Work>& list, std::uint64_t rows, std::uint64_t cols) const {
        // Cast to fp8 in both orientations: reads 2 bytes, writes 1 + 1, the traffic of a 16-bit transpose.
        if (plan_.training.precision.compute == Dtype::fp8)
            list.push_back({"quantise", Pointwise{PointwiseKind::transpose, Dtype::bf16, rows, cols}});
    }

    const Plan& plan_;
    ShardedLayer& out_;
    std::uint64_t tokens_ = 0, residual_tokens_ = 0;
    std::uint32_t tensor_ = 1;
    Placement residual_ = Placement::replicated;
    Dim width_before_ = Dim::hidden;  // of the last linear layer's output
    std::size_t norm_ = 0;            // the piece of the last norm
    Dtype element_ = Dtype::bf16;
    std::uint64_t bytes_ = 2;
};

void Sharder::linear_backward(const models::Linear& op, const Gemm& forward, Piece& piece) const {
    const bool column = split_by_tensor(op.out);
    const bool asynchronous = column && plan_.strategy.async_tensor_allreduce;
    auto& list = piece.backward;
    const auto add_for_weights = [&](Work work) {
        work.of_weights = true;
        list.push_back(std::move(work));
    };
    if (!column && !summed_with_mlp(op))
        convert(list, op.name + " gather gradient", residual_, Placement::replicated, op.out_features);
    quantise(list, forward.m, forward.n);
    if (column) {  // sequence parallelism keeps only its part of the input: gather it again for the weight gradient
        std::vector<Work> gather;
        convert(gather, op.name + " gather input", residual_, Placement::replicated, op.in_features,
                asynchronous ? gathered_flag : std::uint8_t{0});
        for (Work& work : gather) add_for_weights(std::move(work));
    }
    list.push_back(
        {op.name + " dgrad", Gemm{forward.dtype, 1, forward.m, forward.k, forward.n, GemmPass::data_gradient}});
    if (column)
        convert(list, op.name + " reduce", Placement::partial, residual_, op.in_features,
                asynchronous ? reduced_flag : std::uint8_t{0});
    add_for_weights({op.name + " wgrad",
                     Gemm{forward.dtype, 1, forward.k, forward.n, forward.m, GemmPass::weight_gradient}, 0,
                     gathered_flag});
    if (op.bias)
        add_for_weights({op.name + " bias gradient",  // behind a reduction the bias sees this rank's tokens alone
                         pointwise(PointwiseKind::bias_gradient, column ? forward.m : residual_tokens_, forward.n)});
    if (!plan_.training.gradient_accumulation_fusion) {
        const Dtype main = plan_.training.precision.grad_reduce;
        add_for_weights({op.name + " accumulate", Pointwise{PointwiseKind::add, main, forward.k, forward.n}});
    }
}

void Sharder::operator()(const models::Linear& op) {
    const bool column = split_by_tensor(op.out), row = split_by_tensor(op.in);
    width_before_ = op.out;
    const std::uint64_t in = op.in_features / (row ? tensor_ : 1);
    std::uint64_t out = op.out_features / (column ? tensor_ : 1);
    if (op.out == Dim::vocab) out = plan_.padded_vocab() / tensor_;
    Piece piece{.name = op.name};
    const std::uint64_t rows = column || row ? tokens_ : residual_tokens_;
    const Gemm gemm{plan_.training.precision.compute, 1, static_cast<std::uint32_t>(rows),
                    static_cast<std::uint32_t>(out), static_cast<std::uint32_t>(in)};
    if (column) convert(piece.forward, op.name + " gather", residual_, Placement::replicated, op.in_features);
    quantise(piece.forward, gemm.m, gemm.k);
    piece.forward.push_back({op.name, gemm});
    if (row && !summed_with_mlp(op))
        convert(piece.forward, op.name + " reduce", Placement::partial, residual_, op.out_features);
    linear_backward(op, gemm, piece);
    piece.saved_bytes = piece.weight_saved_bytes = (column ? residual_tokens_ : rows) * in * bytes_;
    piece.output_gradient_bytes = rows * out * bytes_;
    piece.working_bytes = rows * (out + in) * bytes_;
    piece.parameters = (op.shares_embedding && plan_.strategy.pipeline == 1 ? 0 : in * out) + (op.bias ? out : 0);
    if (!column) piece.replicated_parameters = row ? (op.bias ? out : 0) : piece.parameters;
    out_.pieces.push_back(std::move(piece));
}

void Sharder::operator()(const models::Embedding& op) {
    Piece piece{.name = "embedding"};
    piece.forward.push_back({"word embedding", pointwise(PointwiseKind::embedding, tokens_, op.hidden)});
    convert(piece.forward, "embedding reduce", Placement::partial, residual_, op.hidden);
    if (op.positions > 0)
        piece.forward.push_back({"add positions", pointwise(PointwiseKind::add, residual_tokens_, op.hidden)});
    if (op.token_types > 0)
        piece.forward.push_back({"add token types", pointwise(PointwiseKind::add, residual_tokens_, op.hidden)});
    if (op.dropout)
        piece.forward.push_back({"dropout", pointwise(PointwiseKind::dropout, residual_tokens_, op.hidden)});
    if (op.dropout)
        piece.backward.push_back(
            {"dropout backward", pointwise(PointwiseKind::dropout_backward, residual_tokens_, op.hidden)});
    if (op.positions > 0)
        piece.backward.push_back({"position gradient", pointwise(PointwiseKind::add, residual_tokens_, op.hidden)});
    if (op.token_types > 0)
        piece.backward.push_back({"token type gradient", pointwise(PointwiseKind::add, residual_tokens_, op.hidden)});
    convert(piece.backward, "embedding gather gradient", residual_, Placement::replicated, op.hidden);
    piece.backward.push_back({"embedding backward", pointwise(PointwiseKind::embedding_backward, tokens_, op.hidden)});
    piece.saved_bytes = tokens_ * 8 + (op.dropout ? residual_tokens_ * op.hidden : 0);  // token ids, dropout mask
    piece.working_bytes = 2 * residual_bytes(op.hidden);
    piece.replicated_parameters = (op.positions + op.token_types) * op.hidden;
    piece.parameters = plan_.padded_vocab() / tensor_ * op.hidden + piece.replicated_parameters;
    out_.pieces.push_back(std::move(piece));
}

void Sharder::operator()(const models::Norm& op) {
    norm_ = out_.pieces.size();
    const bool layer = op.kind == models::NormKind::layernorm;
    Piece piece{.name = op.name};
    piece.forward.push_back(
        {op.name, pointwise(layer ? PointwiseKind::layernorm : PointwiseKind::rmsnorm, residual_tokens_, op.width)});
    piece.backward.push_back(
        {op.name + " backward", pointwise(layer ? PointwiseKind::layernorm_backward : PointwiseKind::rmsnorm_backward,
                                          residual_tokens_, op.width)});
    // The gradients of the two branches meet where the branch began.
    if (op.begins_branch)
        piece.backward.push_back({"sum branch gradients", pointwise(PointwiseKind::add, residual_tokens_, op.width)});
    piece.saved_bytes = residual_bytes(op.width);
    piece.working_bytes = 2 * residual_bytes(op.width);
    piece.parameters = piece.replicated_parameters = op.width * (layer ? 2 : 1);
    out_.pieces.push_back(std::move(piece));
}

void Sharder::operator()(const models::Rope& op) {
    const std::uint64_t width = op.heads * op.head_dim / tensor_;
    Piece piece{.name = "rope"};
    const std::uint64_t head_rows = tokens_ * op.heads / tensor_;
    if (op.norm) piece.forward.push_back({"query key norm", pointwise(PointwiseKind::rmsnorm, head_rows, op.head_dim)});
    piece.forward.push_back({"rope", pointwise(PointwiseKind::rope, tokens_, width)});
    piece.backward.push_back({"rope backward", pointwise(PointwiseKind::rope_backward, tokens_, width)});
    if (op.norm)
        piece.backward.push_back(
            {"query key norm backward", pointwise(PointwiseKind::rmsnorm_backward, head_rows, op.head_dim)});
    piece.saved_bytes = op.norm ? tokens_ * width * bytes_ : 0;
    piece.working_bytes = tokens_ * width * bytes_;
    piece.parameters = op.norm ? 2 * op.head_dim : 0;
    out_.pieces.push_back(std::move(piece));
}

void Sharder::operator()(const models::Activation& op) {
    // Inside the MLP the width is split; in BERT's head it is the residual stream's.
    const bool split = split_by_tensor(width_before_);
    const std::uint64_t rows = split ? tokens_ : residual_tokens_, width = op.width / (split ? tensor_ : 1);
    Piece piece{.name = op.gated ? "swiglu" : "gelu"};
    piece.forward.push_back(
        {piece.name, pointwise(op.gated ? PointwiseKind::swiglu : PointwiseKind::gelu, rows, width)});
    piece.backward.push_back(
        {piece.name + " backward",
         pointwise(op.gated ? PointwiseKind::swiglu_backward : PointwiseKind::gelu_backward, rows, width)});
    piece.saved_bytes = rows * width * bytes_ * (op.gated ? 2 : 1);  // its input
    piece.working_bytes = rows * width * bytes_;
    out_.pieces.push_back(std::move(piece));
}

/// The norm's output goes to a shared expert too: what its backward leaves and what the router's does meet at the norm.
void Sharder::operator()(const models::Experts& op) {
    if (op.adds_shared)
        out_.pieces[norm_].backward.insert(
            out_.pieces[norm_].backward.begin(),
            {"sum expert gradients", pointwise(PointwiseKind::add, residual_tokens_, op.hidden)});
    for (Piece& piece : expert_pieces(op, plan_)) out_.pieces.push_back(std::move(piece));
}

void Sharder::operator()(const models::ResidualAdd& op) {
    Piece piece{.name = "residual add"};
    piece.forward.push_back(
        {op.dropout ? "bias dropout add" : "residual add",
         pointwise(op.dropout ? PointwiseKind::bias_dropout_add : PointwiseKind::add, residual_tokens_, op.width)});
    if (op.dropout)
        piece.backward.push_back({"bias dropout add backward",
                                  pointwise(PointwiseKind::bias_dropout_add_backward, residual_tokens_, op.width)});
    // Without a norm before it, a branch begins with a linear layer: its input gradient is added here.
    if (plan_.model.post_norm)
        piece.backward.push_back({"sum branch gradients", pointwise(PointwiseKind::add, residual_tokens_, op.width)});
    piece.saved_bytes = op.dropout ? residual_tokens_ * op.width : 0;  // the mask
    piece.working_bytes = residual_bytes(op.width);
    out_.pieces.push_back(std::move(piece));
}

void Sharder::operator()(const models::Loss& op) {
    const std::uint64_t vocab = plan_.padded_vocab() / tensor_;
    (void)op;  // the padded vocabulary is what runs
    const auto over_logits = [&](PointwiseKind kind) { return Pointwise{kind, Dtype::fp32, tokens_, vocab}; };
    Piece piece{.name = "loss"};
    if (bytes_ == 2) piece.forward.push_back({"logits to fp32", pointwise(PointwiseKind::cast, tokens_, vocab)});
    if (tensor_ == 1) {
        piece.forward.push_back({"cross entropy", over_logits(PointwiseKind::cross_entropy)});
        piece.backward.push_back({"cross entropy backward", over_logits(PointwiseKind::cross_entropy_backward)});
    } else {
        // Vocabulary-parallel loss (Megatron-LM, tensor_parallel/cross_entropy.py): fp32 numbers of every token.
        const LayerCollective agreed{kernels::CollectiveKind::all_reduce, tokens_ * 4};
        piece.forward.push_back({"largest logits", over_logits(PointwiseKind::cross_entropy_maximum)});
        piece.forward.push_back({"loss maximum", agreed});
        piece.forward.push_back({"cross entropy", over_logits(PointwiseKind::cross_entropy_part)});
        piece.forward.push_back({"loss target", agreed});
        piece.forward.push_back({"loss sum", agreed});
        piece.backward.push_back({"cross entropy backward", over_logits(PointwiseKind::cross_entropy_part_backward)});
    }
    if (bytes_ == 2)
        piece.backward.push_back({"logits gradient to 16 bits", pointwise(PointwiseKind::cast, tokens_, vocab)});
    piece.saved_bytes = tokens_ * vocab * 4;
    piece.working_bytes = tokens_ * vocab * 4;
    out_.pieces.push_back(std::move(piece));
}

}  // namespace

Dtype activation_dtype(const Plan& plan) {
    const Dtype compute = plan.training.precision.compute;
    return compute == Dtype::fp8 ? Dtype::bf16 : compute;
}

std::uint64_t ShardedLayer::saved_bytes() const {
    return std::accumulate(pieces.begin(), pieces.end(), std::uint64_t{0},
                           [](std::uint64_t sum, const Piece& piece) { return sum + piece.saved_bytes; });
}

std::uint64_t ShardedLayer::weight_saved_bytes() const {
    return std::accumulate(pieces.begin(), pieces.end(), std::uint64_t{0},
                           [](std::uint64_t sum, const Piece& piece) { return sum + piece.weight_saved_bytes; });
}

std::uint64_t ShardedLayer::output_gradient_bytes() const {
    return std::accumulate(pieces.begin(), pieces.end(), std::uint64_t{0},
                           [](std::uint64_t sum, const Piece& piece) { return sum + piece.output_gradient_bytes; });
}

std::uint64_t ShardedLayer::parameters() const {
    return std::accumulate(pieces.begin(), pieces.end(), std::uint64_t{0},
                           [](std::uint64_t sum, const Piece& piece) { return sum + piece.parameters; });
}

std::uint64_t ShardedLayer::replicated_parameters() const {
    return std::accumulate(pieces.begin(), pieces.end(), std::uint64_t{0},
                           [](std::uint64_t sum, const Piece& piece) { return sum + piece.replicated_parameters; });
}

std::uint64_t ShardedLayer::expert_parameters() const {
    return std::accumulate(pieces.begin(), pieces.end(), std::uint64_t{0},
                           [](std::uint64_t sum, const Piece& piece) { return sum + piece.expert_parameters; });
}

ShardedLayer shard(const models::Layer& layer, const Plan& plan) {
    ShardedLayer out{.name = layer.name, .pieces = {}, .input_bytes = 0};
    Sharder sharder(plan, out);
    for (const models::Operator& op : layer.operators) std::visit(sharder, op);
    out.input_bytes = sharder.residual_bytes(plan.model.hidden);
    return out;
}

}  // namespace orrery::strategies
