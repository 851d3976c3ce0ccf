// Parameters and floating-point operations, both summed over the operators.
#include "models/operators.hpp"

namespace orrery::models {

namespace {

struct Parameters {
    std::uint64_t operator()(const Linear& linear) const {
        const std::uint64_t weight = linear.shares_embedding ? 0 : linear.in_features * linear.out_features;
        return weight + (linear.bias ? linear.out_features : 0);
    }
    std::uint64_t operator()(const Embedding& embedding) const {
        return (embedding.vocab + embedding.positions + embedding.token_types) * embedding.hidden;
    }
    std::uint64_t operator()(const Norm& norm) const {
        return (norm.kind == NormKind::layernorm ? 2 : 1) * norm.width;  // RMSNorm has no bias
    }
    std::uint64_t operator()(const Rope& rope) const { return rope.norm ? 2 * rope.head_dim : 0; }
    std::uint64_t operator()(const AttentionCore&) const { return 0; }
    std::uint64_t operator()(const Activation&) const { return 0; }
    std::uint64_t operator()(const ResidualAdd&) const { return 0; }
    std::uint64_t operator()(const Loss&) const { return 0; }
};

/// Forward operations per token in sequences of seq tokens: matrix products only, a multiply-add as two.
struct ForwardFlops {
    double seq;

    double operator()(const Linear& linear) const {
        return 2.0 * static_cast<double>(linear.in_features) * static_cast<double>(linear.out_features);
    }
    double operator()(const AttentionCore& core) const {
        return 4.0 * seq * static_cast<double>(core.heads * core.head_dim);  // Q K^T and P V over the full square
    }
    template <class Other>
    double operator()(const Other&) const {
        return 0.0;
    }
};

double forward_flops(const Layer& layer, double seq) {
    double sum = 0.0;
    for (const Operator& op : layer.operators) sum += std::visit(ForwardFlops{seq}, op);
    return sum;
}

double tokens(std::uint64_t sequences, std::uint64_t seq) {
    return static_cast<double>(sequences) * static_cast<double>(seq);
}

double block_flops(const Model& model, std::uint64_t seq) {
    return model.spec.layers * forward_flops(model.block, static_cast<double>(seq));
}

}  // namespace

std::uint64_t parameters(const Operator& op) { return std::visit(Parameters{}, op); }

std::uint64_t parameters(const Layer& layer) {
    std::uint64_t sum = 0;
    for (const Operator& op : layer.operators) sum += parameters(op);
    return sum;
}

std::uint64_t parameters(const Model& model) {
    return parameters(model.embedding) + model.spec.layers * parameters(model.block) + parameters(model.head);
}

double model_flops(const Model& model, std::uint64_t sequences, std::uint64_t seq) {
    const double forward = block_flops(model, seq) + forward_flops(model.head, static_cast<double>(seq));
    return 3.0 * tokens(sequences, seq) * forward;
}

double hardware_flops_full_recompute(const Model& model, std::uint64_t sequences, std::uint64_t seq) {
    return model_flops(model, sequences, seq) + tokens(sequences, seq) * block_flops(model, seq);
}

}  // namespace orrery::models
