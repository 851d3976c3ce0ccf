// y = x W^T + b: column-parallel (its outputs are split), row-parallel (its inputs are), or whole.
#include <map>

#include "base/error.hpp"
#include "run/operators/operator.hpp"

namespace orrery::run {

namespace {

using kernels::Gemm;
using models::Dim;

bool split(Dim dim) { return dim != Dim::hidden; }

/// Rows of the global weight that tensor rank t holds: of every part (queries, keys, values; gate, up) its share.
std::vector<std::pair<std::uint64_t, std::uint64_t>> shares(const std::vector<std::uint64_t>& parts, std::uint64_t t,
                                                            std::uint64_t ranks) {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> rows;
    std::uint64_t first = 0;
    for (const std::uint64_t part : parts) {
        rows.emplace_back(first + t * (part / ranks), part / ranks);
        first += part;
    }
    return rows;
}

/// The sizes of the parts of a layer's outputs.
std::vector<std::uint64_t> output_parts(const models::Linear& op, const strategies::Plan& plan) {
    const models::ModelSpec& spec = plan.model;
    if (op.out == Dim::qkv) {
        const std::uint64_t kv = std::uint64_t{spec.kv_heads} * spec.head_dim;
        return {std::uint64_t{spec.heads} * spec.head_dim, kv, kv};
    }
    if (op.out == Dim::ffn && spec.gated) return {op.out_features / 2, op.out_features / 2};
    if (op.out == Dim::vocab) return {plan.padded_vocab()};
    return {op.out_features};
}

class Linear final : public Operator {
public:
    Linear(const models::Linear& op, const models::Operator* next, const std::string& prefix, const Place& place,
           Parameters& parameters);
    Action bind(Bind& bind, const Site& site) override;
    void finished(const Site& last) override;
    void kept(std::int32_t micro_batch, std::vector<Tensor*>& tensors) override {
        tensors.push_back(&inputs_[micro_batch]);
    }

private:
    Action product(Bind& bind, const Site& site);
    Action data_gradient(Bind& bind, const Site& site);

    std::string name_, weight_, bias_;
    bool adds_bias_ = false;  ///< here, and not in the activation behind; behind a sum over ranks on one of them only
    std::map<std::int32_t, Tensor> inputs_;  ///< by micro-batch
    Tensor gathered_, dy_, dy_rows_, separate_;
};

Linear::Linear(const models::Linear& op, const models::Operator* next, const std::string& prefix, const Place& place,
               Parameters& parameters)
    : name_(op.name), weight_(prefix + op.name + ".weight") {
    const strategies::Plan& plan = place.plan;
    const std::uint64_t ranks = plan.strategy.tensor, t = place.tensor();
    const bool column = split(op.out), row = split(op.in);
    Slice slice{.name = weight_, .rows = {}};
    slice.global_cols = op.in_features;
    slice.cols = op.in_features / (row ? ranks : 1);
    slice.first_col = row ? t * slice.cols : 0;
    const auto parts = output_parts(op, plan);
    slice.rows = column ? shares(parts, t, ranks) : shares({op.out_features}, 0, 1);
    if (op.out == Dim::vocab) slice.real_rows = plan.model.vocab;
    slice.replicated = !column && !row;
    const auto rows = slice.rows;
    const bool shared = op.shares_embedding;
    if (shared) {
        weight_ = slice.name = "embedding.words";
        slice.counted = false;  // the first stage counts it
    }
    if (!shared || plan.strategy.pipeline > 1) parameters.add(slice);
    if (!op.bias) return;
    bias_ = prefix + op.name + ".bias";
    parameters.add({.name = bias_, .initial = Initial::zeros, .rows = rows, .replicated = !column});
    const auto* activation = next == nullptr ? nullptr : std::get_if<models::Activation>(next);
    const bool later = activation != nullptr && !activation->gated;
    adds_bias_ = !later && (!row || t == 0);
}

Action Linear::product(Bind& bind, const Site& site) {
    const auto& gemm = std::get<Gemm>(*site.kernel);
    Tensor& kept = inputs_[site.micro_batch];
    if (site.keeps_input) kept = bind.value;
    const Tensor& x = gathered_ ? gathered_ : bind.value;
    const Tensor y = bind.take(std::uint64_t{gemm.m} * gemm.n);
    kernels::Settings settings;
    if (adds_bias_) settings.bias = bind.parameters.weight(bias_);
    Action action = bind.launch(gemm, {bind.at(x), bind.parameters.weight(weight_), bind.at(y)}, settings);
    bind.value = y;
    gathered_.reset();
    return action;
}

Action Linear::data_gradient(Bind& bind, const Site& site) {
    const auto& gemm = std::get<Gemm>(*site.kernel);
    dy_ = bind.gradient;
    bind.gradient = bind.take(std::uint64_t{gemm.m} * gemm.n);
    return bind.launch(gemm, {bind.at(dy_), bind.parameters.weight(weight_), bind.at(bind.gradient)});
}

Action Linear::bind(Bind& bind, const Site& site) {
    const std::string_view work = site.work == name_ ? "" : site.work.substr(name_.size() + 1);
    if (site.forward()) {
        // What is run again begins with the input that was kept.
        const bool first = work == "gather" || (work.empty() && !gathered_);
        if (const Tensor kept = inputs_[site.micro_batch]; site.phase == strategies::Phase::recompute && first && kept)
            bind.value = kept;
        if (work == "gather") return gather(bind, site, bind.value, gathered_);
        if (work.empty()) return product(bind, site);
        if (work == "reduce") return reduce(bind, site, bind.value);
    }
    if (work == "gather gradient") {
        dy_rows_ = bind.gradient;
        return gather(bind, site, dy_rows_, bind.gradient);
    }
    if (work == "gather input") return gather(bind, site, inputs_.at(site.micro_batch), gathered_);
    if (work == "dgrad") return data_gradient(bind, site);
    if (work == "reduce") return reduce(bind, site, bind.gradient);
    if (work == "wgrad")
        return weight_gradient(bind, site, dy_, gathered_ ? gathered_ : inputs_.at(site.micro_batch), weight_,
                               bind.separate_gradient(separate_));
    if (work == "bias gradient")
        return bind.launch(*site.kernel, {bind.at(dy_rows_ ? dy_rows_ : dy_), bind.parameters.gradient(bias_)},
                           bind.into_gradients());
    void* const sum = bind.parameters.gradient(weight_);
    if (work == "accumulate") return bind.launch(*site.kernel, {sum, bind.at(separate_), sum});
    unknown(site);
}

void Linear::finished(const Site& last) {
    gathered_.reset();
    if (last.forward()) return;
    inputs_.erase(last.micro_batch);
    dy_.reset();
    dy_rows_.reset();
    separate_.reset();
}

}  // namespace

void Operator::unknown(const Site& site) {
    throw Error("operation \"" + std::string(site.work) + "\" cannot be executed", "run/operators/ holds what can be");
}

Made make_linear(const models::Linear& op, const models::Operator* next, const std::string& prefix, const Place& place,
                 Parameters& parameters) {
    return std::make_unique<Linear>(op, next, prefix, place, parameters);
}

}  // namespace orrery::run
