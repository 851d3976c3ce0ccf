#include "strategies/partition/experts.hpp"

#include <cmath>
#include <utility>

namespace orrery::strategies {

namespace {

using kernels::CollectiveKind;
using kernels::Dtype;
using kernels::Gemm;
using kernels::GemmPass;
using kernels::Pointwise;
using kernels::PointwiseKind;

class ExpertSharder {
public:
    ExpertSharder(const models::Experts& op, const Plan& plan)
        : op_(op),
          plan_(plan),
          shapes_(expert_shapes(op, plan)),
          element_(activation_dtype(plan)),
          bytes_(kernels::size_of(element_)) {}

    [[nodiscard]] std::vector<Piece> pieces() const {
        return {router(),
                dispatch(),
                product("experts up", shapes_.inner, static_cast<std::uint32_t>(op_.hidden)),
                activation(),
                product("experts down", static_cast<std::uint32_t>(op_.hidden), shapes_.ffn),
                combine()};
    }

private:
    using List = std::vector<Work>;

    [[nodiscard]] Pointwise pointwise(PointwiseKind kind, std::uint64_t rows, std::uint64_t cols) const {
        return {kind, element_, rows, cols};
    }
    static void add(List& list, std::string name, kernels::Kernel kernel, bool routed = false) {
        list.push_back({.name = std::move(name), .what = std::move(kernel), .routed = routed});
    }
    static void add_for_weights(List& list, std::string name, kernels::Kernel kernel, bool routed = false) {
        add(list, std::move(name), std::move(kernel), routed);
        list.back().of_weights = true;
    }

    /// Copies of tokens in the order of their experts. The kinds permute and unpermute read or write a token once for
    /// two copies; with one copy a row is moved as an embedding's is.
    void permute(List& list, const std::string& name) const {
        add(list, name,
            pointwise(op_.top_k > 1 ? PointwiseKind::permute : PointwiseKind::embedding, shapes_.sent, op_.hidden));
    }
    void unpermute(List& list, const std::string& name) const {
        add(list, name,
            pointwise(op_.top_k > 1 ? PointwiseKind::unpermute : PointwiseKind::embedding, shapes_.sent, op_.hidden));
    }
    /// Received tokens lie by the rank that they come from; products want them by expert.
    void sort(List& list, const std::string& name) const {
        if (shapes_.experts > 1 && (shapes_.exchanges || shapes_.gathers))
            add(list, name, pointwise(PointwiseKind::embedding, shapes_.rows, op_.hidden), true);
    }
    void exchange(List& list, const std::string& name) const {
        if (shapes_.exchanges)
            list.push_back({.name = name,
                            .what = LayerCollective{CollectiveKind::all_to_all, shapes_.sent * op_.hidden * bytes_,
                                                    plan_.expert_group()},
                            .routed = true});
    }
    void over_tensor(List& list, const std::string& name, CollectiveKind kind) const {
        if (shapes_.gathers)
            list.push_back({.name = name,
                            .what = LayerCollective{kind, shapes_.rows * op_.hidden * bytes_, {Axis::tensor}},
                            .routed = true});
    }
    void to_experts(List& list, const std::string& what) const {
        exchange(list, "dispatch" + what);
        over_tensor(list, "gather tokens" + what, CollectiveKind::all_gather);
        sort(list, "sort by expert" + what);
    }
    void from_experts(List& list, const std::string& what) const {
        sort(list, "sort by rank" + what);
        over_tensor(list, "reduce tokens" + what, CollectiveKind::reduce_scatter);
        exchange(list, "combine" + what);
    }

    [[nodiscard]] Piece router() const;
    [[nodiscard]] Piece dispatch() const;
    [[nodiscard]] Piece product(const std::string& name, std::uint32_t out, std::uint32_t in) const;
    [[nodiscard]] Piece activation() const;
    [[nodiscard]] Piece combine() const;

    const models::Experts& op_;
    const Plan& plan_;
    ExpertShapes shapes_;
    Dtype element_;
    std::uint64_t bytes_;
};

/// In the format of activations also under fp8. Every tensor rank routes its own tokens with all of the weight.
Piece ExpertSharder::router() const {
    const auto m = static_cast<std::uint32_t>(shapes_.tokens), n = static_cast<std::uint32_t>(op_.experts),
               k = static_cast<std::uint32_t>(op_.hidden);
    Piece piece{.name = "router"};
    add(piece.forward, "router", Gemm{element_, 1, m, n, k});
    add(piece.forward, "gate", Pointwise{PointwiseKind::moe_gate, Dtype::fp32, shapes_.tokens, op_.experts});
    add(piece.backward, "gate backward",
        Pointwise{PointwiseKind::softmax_backward, Dtype::fp32, shapes_.tokens, op_.experts});
    add(piece.backward, "router dgrad", Gemm{element_, 1, m, k, n, GemmPass::data_gradient});
    add_for_weights(piece.backward, "router wgrad", Gemm{element_, 1, k, n, m, GemmPass::weight_gradient});
    // Its input goes to the experts (and the shared one) as well.
    add(piece.backward, "sum router gradient", pointwise(PointwiseKind::add, shapes_.tokens, op_.hidden));
    const std::uint64_t input = op_.adds_shared ? 0 : shapes_.tokens * op_.hidden * bytes_;  // else the shared MLP's
    piece.saved_bytes = input + shapes_.tokens * op_.experts * 4;
    piece.weight_saved_bytes = input;
    piece.output_gradient_bytes = shapes_.tokens * op_.experts * bytes_;
    piece.working_bytes = shapes_.tokens * op_.experts * (bytes_ + 4);
    piece.parameters = piece.replicated_parameters = op_.experts * op_.hidden;
    return piece;
}

Piece ExpertSharder::dispatch() const {
    Piece piece{.name = "dispatch"};
    permute(piece.forward, "permute");
    to_experts(piece.forward, "");
    from_experts(piece.backward, " gradient");
    unpermute(piece.backward, "permute backward");
    piece.saved_bytes = shapes_.sent * 4;  // each copy's place
    piece.working_bytes = (shapes_.sent + shapes_.rows) * op_.hidden * bytes_;
    return piece;
}

Piece ExpertSharder::product(const std::string& name, std::uint32_t out, std::uint32_t in) const {
    const Dtype compute = plan_.training.precision.compute;
    const std::uint32_t each = shapes_.rows_each, experts = shapes_.experts;
    const auto quantise = [&](List& list, std::uint64_t width) {
        if (compute == Dtype::fp8)
            add(list, "quantise", Pointwise{PointwiseKind::transpose, Dtype::bf16, shapes_.rows, width}, true);
    };
    Piece piece{.name = name};
    quantise(piece.forward, in);
    add(piece.forward, name, Gemm{compute, experts, each, out, in}, true);
    quantise(piece.backward, out);
    add(piece.backward, name + " dgrad", Gemm{compute, experts, each, in, out, GemmPass::data_gradient}, true);
    add_for_weights(piece.backward, name + " wgrad", Gemm{compute, experts, in, out, each, GemmPass::weight_gradient},
                    true);
    if (op_.bias)
        add_for_weights(piece.backward, name + " bias gradient",
                        pointwise(PointwiseKind::bias_gradient, shapes_.rows, out), true);
    if (!plan_.training.gradient_accumulation_fusion)
        add_for_weights(
            piece.backward, name + " accumulate",
            Pointwise{PointwiseKind::add, plan_.training.precision.grad_reduce, std::uint64_t{experts} * in, out});
    piece.saved_bytes = piece.weight_saved_bytes = shapes_.rows * in * bytes_;
    piece.output_gradient_bytes = shapes_.rows * out * bytes_;
    piece.working_bytes = shapes_.rows * (std::uint64_t{in} + out) * bytes_;
    piece.parameters = piece.expert_parameters =
        std::uint64_t{experts} * out * (std::uint64_t{in} + (op_.bias ? 1 : 0));
    return piece;
}

Piece ExpertSharder::activation() const {
    Piece piece{.name = op_.gated ? "experts swiglu" : "experts gelu"};
    add(piece.forward, piece.name,
        pointwise(op_.gated ? PointwiseKind::swiglu : PointwiseKind::gelu, shapes_.rows, shapes_.ffn), true);
    add(piece.backward, piece.name + " backward",
        pointwise(op_.gated ? PointwiseKind::swiglu_backward : PointwiseKind::gelu_backward, shapes_.rows, shapes_.ffn),
        true);
    piece.saved_bytes = shapes_.rows * shapes_.inner * bytes_;
    piece.working_bytes = shapes_.rows * shapes_.ffn * bytes_;
    return piece;
}

/// The results that come back stay for the gradient of the router's weights.
Piece ExpertSharder::combine() const {
    Piece piece{.name = "combine"};
    from_experts(piece.forward, "");
    unpermute(piece.forward, "unpermute");
    if (op_.adds_shared)
        add(piece.forward, "add shared expert", pointwise(PointwiseKind::add, shapes_.tokens, op_.hidden));
    permute(piece.backward, "unpermute backward");
    to_experts(piece.backward, " gradient");
    piece.saved_bytes = shapes_.sent * op_.hidden * bytes_;
    piece.working_bytes = (shapes_.tokens + shapes_.rows) * op_.hidden * bytes_;
    return piece;
}

}  // namespace

ExpertShapes expert_shapes(const models::Experts& op, const Plan& plan) {
    const std::uint64_t tensor = plan.strategy.tensor;
    const bool split = plan.experts_split();
    ExpertShapes shapes;
    // Experts are known beside tensor parallelism only with sequence parallelism (plan.cpp).
    shapes.tokens = std::uint64_t{plan.training.micro_batch} * plan.training.seq / tensor;
    shapes.sent =
        static_cast<std::uint64_t>(std::ceil(plan.training.taken(1.0) * static_cast<double>(shapes.tokens * op.top_k)));
    shapes.rows = shapes.sent * (split ? tensor : 1);
    shapes.experts = static_cast<std::uint32_t>(op.experts / plan.strategy.expert);
    shapes.rows_each = static_cast<std::uint32_t>((shapes.rows + shapes.experts - 1) / shapes.experts);
    shapes.ffn = static_cast<std::uint32_t>(op.ffn / (split ? tensor : 1));
    shapes.inner = shapes.ffn * (op.gated ? 2 : 1);
    shapes.exchanges = plan.strategy.expert > 1;
    shapes.gathers = split;
    return shapes;
}

std::vector<Piece> expert_pieces(const models::Experts& op, const Plan& plan) {
    return ExpertSharder(op, plan).pieces();
}

}  // namespace orrery::strategies
