#include "tests/run/reference_model.hpp"

#include <algorithm>
#include <cmath>

#include "run/parameters.hpp"
#include "run/tokens.hpp"
#include "tests/run/matrices.hpp"

namespace orrery::run {

namespace {

class ReferenceModel {
public:
    ReferenceModel(const strategies::Plan& plan, const RunSettings& settings)
        : spec_(plan.model), seed_(settings.seed) {
        parameter("embedding.words", spec_.vocab, spec_.hidden);
        if (learned()) parameter("embedding.positions", spec_.max_positions, spec_.hidden);
        const std::size_t qkv = std::size_t{spec_.heads + 2 * spec_.kv_heads} * spec_.head_dim;
        for (std::uint32_t l = 0; l < spec_.layers; ++l) {
            const std::string at = "layer." + std::to_string(l) + ".";
            norm(at + "attention_norm");
            linear(at + "qkv", qkv, spec_.hidden, spec_.qkv_bias);
            linear(at + "projection", spec_.hidden, std::size_t{spec_.heads} * spec_.head_dim, spec_.linear_bias);
            norm(at + "mlp_norm");
            if (!spec_.has_experts(l)) {
                mlp(at, spec_.ffn, 1);
                continue;
            }
            if (spec_.shared_expert_ffn > 0) mlp(at, spec_.shared_expert_ffn, 1);
            parameter(at + "router.weight", spec_.experts, spec_.hidden);
            mlp(at + "experts.", spec_.expert_ffn, spec_.experts);
        }
        norm("final_norm");
        if (!spec_.tied_embeddings) parameter("logits.weight", spec_.vocab, spec_.hidden);
    }

    std::map<std::string, M>& parameters() { return parameters_; }

    /// The mean loss of one sequence, number `sample` of its step, and its targets.
    M loss(Tape& tape, const std::vector<std::int32_t>& sequence, std::uint32_t sample) {
        first_token_ = std::size_t{sample} * (sequence.size() - 1);
        const std::vector<std::int32_t> ids(sequence.begin(), sequence.end() - 1);
        const std::vector<std::int32_t> targets(sequence.begin() + 1, sequence.end());
        M x = tape.rows_of(get("embedding.words"), ids);
        if (learned()) x = tape.plus(x, tape.first_rows(get("embedding.positions"), ids.size()));
        for (std::uint32_t l = 0; l < spec_.layers; ++l) x = block(tape, x, l);
        x = normed(tape, x, "final_norm");
        const M logits = tape.product(x, get(spec_.tied_embeddings ? "embedding.words" : "logits.weight"));
        return tape.cross_entropy(logits, targets, spec_.vocab);
    }

private:
    [[nodiscard]] bool learned() const { return spec_.position == models::PositionKind::learned; }
    M get(const std::string& name) { return parameters_.at(name); }

    void parameter(const std::string& name, std::size_t rows, std::size_t cols, Initial initial = Initial::normal) {
        const M matrix = std::make_shared<Matrix>(rows, cols);
        Slice slice{.name = name, .initial = initial, .rows = {{0, rows}}};
        slice.global_cols = cols;
        for (std::size_t r = 0; r < rows; ++r)
            for (std::size_t c = 0; c < cols; ++c) matrix->value[r * cols + c] = initial_value(slice, seed_, r, c);
        parameters_[name] = matrix;
    }
    /// A bias for each of `count` parts of the outputs is a row.
    void linear(const std::string& name, std::size_t out, std::size_t in, bool bias, std::size_t count = 1) {
        parameter(name + ".weight", out, in);
        if (bias) parameter(name + ".bias", count, out / count, Initial::zeros);
    }
    /// `count` of them below each other.
    void mlp(const std::string& at, std::size_t ffn, std::size_t count) {
        linear(at + "up", count * ffn * (spec_.gated ? 2 : 1), spec_.hidden, spec_.linear_bias, count);
        linear(at + "down", count * spec_.hidden, ffn, spec_.linear_bias, count);
    }
    void norm(const std::string& name) {
        parameter(name + ".weight", 1, spec_.hidden, Initial::ones);
        if (spec_.norm == models::NormKind::layernorm) parameter(name + ".bias", 1, spec_.hidden, Initial::zeros);
    }
    M normed(Tape& tape, const M& x, const std::string& name) {
        if (spec_.norm == models::NormKind::rmsnorm) return tape.rmsnorm(x, get(name + ".weight"));
        return tape.layernorm(x, get(name + ".weight"), get(name + ".bias"));
    }
    M applied(Tape& tape, const M& x, const std::string& name) {
        const M y = tape.product(x, get(name + ".weight"));
        return parameters_.contains(name + ".bias") ? tape.plus_row(y, get(name + ".bias")) : y;
    }
    M block(Tape& tape, const M& x, std::uint32_t layer) {
        const std::string at = "layer." + std::to_string(layer) + ".";
        M a = applied(tape, normed(tape, x, at + "attention_norm"), at + "qkv");
        if (spec_.position == models::PositionKind::rope)
            a = tape.rope(a, spec_.heads + spec_.kv_heads, spec_.head_dim);
        a = tape.attention(a, spec_.heads, spec_.kv_heads, spec_.head_dim, spec_.causal,
                           spec_.has_window(layer) ? spec_.attention_window : 0);
        const M middle = tape.plus(x, applied(tape, a, at + "projection"));
        const M input = normed(tape, middle, at + "mlp_norm");
        if (!parameters_.contains(at + "router.weight")) return tape.plus(middle, dense(tape, input, at));
        M sum = experts(tape, input, at);
        if (spec_.shared_expert_ffn > 0) sum = tape.plus(sum, dense(tape, input, at));
        return tape.plus(middle, sum);
    }
    M activated(Tape& tape, const M& x) { return spec_.gated ? tape.swiglu(x) : tape.gelu(x); }
    M dense(Tape& tape, const M& x, const std::string& at) {
        return applied(tape, activated(tape, applied(tape, x, at + "up")), at + "down");
    }
    M expert(Tape& tape, const M& token, const std::string& at, std::size_t number) {
        const auto part = [&](const M& x, const std::string& name) {
            const M y = tape.product(x, tape.part_of(get(at + name + ".weight"), number, spec_.experts));
            if (!spec_.linear_bias) return y;
            return tape.plus_row(y, tape.part_of(get(at + name + ".bias"), number, spec_.experts));
        };
        return part(activated(tape, part(token, "experts.up")), "experts.down");
    }
    /// Token t of the step goes to experts t k, t k + 1, ... t k + k - 1 modulo their number.
    M experts(Tape& tape, const M& x, const std::string& at) {
        const M probabilities = tape.softmax(tape.product(x, get(at + "router.weight")));
        M rows = nullptr;
        for (std::size_t r = 0; r < x->rows; ++r) {
            const M token = tape.part_of(x, r, x->rows), all = tape.part_of(probabilities, r, x->rows);
            std::vector<std::size_t> chosen;
            for (std::size_t j = 0; j < spec_.experts_per_token; ++j)
                chosen.push_back(((first_token_ + r) * spec_.experts_per_token + j) % spec_.experts);
            M sum = nullptr;
            for (const std::size_t number : chosen) {
                const M weighed = tape.weighed(expert(tape, token, at, number), all, number, chosen);
                sum = sum ? tape.plus(sum, weighed) : weighed;
            }
            rows = rows ? tape.below(rows, sum) : sum;
        }
        return rows;
    }

    models::ModelSpec spec_;
    std::uint64_t seed_;
    std::size_t first_token_ = 0;  ///< of the sequence, counted over the step's global batch
    std::map<std::string, M> parameters_;
};

/// Before each sample of the batch, counted over all steps.
using Before = std::function<void(std::uint32_t sample)>;

/// Gradients of the whole batch; returns the loss.
double differentiate(ReferenceModel& model, const strategies::Plan& plan, const Tokens& tokens, std::uint32_t step,
                     const Before& before = {}) {
    double loss = 0;
    const double share = 1.0 / plan.training.global_batch;
    for (std::uint32_t sample = 0; sample < plan.training.global_batch; ++sample) {
        if (before) before(step * plan.training.global_batch + sample);
        Tape tape;
        const M one = model.loss(tape, tokens.sequence(step, sample), sample);
        loss += one->value[0] * share;
        tape.backward(one, share);
    }
    return loss;
}

/// Adam's moments of every parameter.
class ReferenceAdam {
public:
    explicit ReferenceAdam(const kernels::Adam& settings) : s_(settings) {}

    /// factor: of the gradient. step: from 0.
    void update(const std::string& name, const std::vector<double>& gradient, double factor, std::uint32_t step,
                std::vector<double>& values) {
        auto& [m, v] = moments_[name];
        m.resize(values.size());
        v.resize(values.size());
        for (std::size_t i = 0; i < m.size(); ++i) {
            const double g = factor * gradient[i];
            m[i] = s_.b1 * m[i] + (1 - s_.b1) * g;
            v[i] = s_.b2 * v[i] + (1 - s_.b2) * g * g;
            const double mean = m[i] / (1 - std::pow(s_.b1, step + 1)), square = v[i] / (1 - std::pow(s_.b2, step + 1));
            values[i] -= s_.rate * (mean / (std::sqrt(square) + s_.epsilon) + s_.decay * values[i]);
        }
    }

private:
    kernels::Adam s_;
    std::map<std::string, std::pair<std::vector<double>, std::vector<double>>> moments_;
};

double clipping(const strategies::Plan& plan, double norm) {
    return plan.training.grad_clip > 0 ? std::min(1.0, plan.training.grad_clip / (norm + 1e-6)) : 1.0;
}

}  // namespace

std::vector<ReferenceStep> train_reference(const strategies::Plan& plan, const RunSettings& settings,
                                           std::uint32_t steps) {
    return train_reference(plan, settings, steps,
                           {[of_step = plan.micro_batches()](const std::string&, std::uint32_t micro_batch) {
                                return micro_batch / of_step;
                            },
                            [](const std::string&) { return 0U; }});
}

std::vector<ReferenceStep> train_reference(const strategies::Plan& plan, const RunSettings& settings,
                                           std::uint32_t steps, const WithoutFlushes& as) {
    ReferenceModel model(plan, settings);
    const Tokens tokens(settings.data, plan.model.vocab, plan.training.seq, settings.seed);
    ReferenceAdam adam(settings.adam);
    std::map<std::string, std::vector<std::vector<double>>> versions;
    for (const auto& [name, p] : model.parameters()) versions[name] = {p->value};
    const std::uint32_t slice = plan.training.micro_batch * plan.strategy.data;
    const auto read_versions = [&](std::uint32_t sample) {
        for (auto& [name, p] : model.parameters()) p->value = versions.at(name).at(as.version(name, sample / slice));
    };
    std::vector<ReferenceStep> results;
    for (std::uint32_t step = 0; step < steps; ++step) {
        for (auto& [name, p] : model.parameters()) std::fill(p->gradient.begin(), p->gradient.end(), 0.0);
        ReferenceStep& result = results.emplace_back();
        result.loss = differentiate(model, plan, tokens, step, read_versions);
        std::map<std::uint32_t, double> squares;
        double all = 0;
        for (auto& [name, p] : model.parameters()) {
            result.gradients[name] = p->gradient;
            for (const double g : p->gradient) squares[as.stage(name)] += g * g;
        }
        for (const auto& [stage, sum] : squares) all += sum;
        result.gradient_norm = std::sqrt(all);
        for (auto& [name, p] : model.parameters()) {
            std::vector<double> next = versions.at(name).back();
            adam.update(name, p->gradient, clipping(plan, std::sqrt(squares.at(as.stage(name)))), step, next);
            versions.at(name).push_back(std::move(next));
        }
    }
    return results;
}

double reference_loss(const strategies::Plan& plan, const RunSettings& settings, const std::string& parameter,
                      std::size_t element, double delta) {
    ReferenceModel model(plan, settings);
    model.parameters().at(parameter)->value.at(element) += delta;
    return differentiate(model, plan, Tokens(settings.data, plan.model.vocab, plan.training.seq, settings.seed), 0);
}

}  // namespace orrery::run
