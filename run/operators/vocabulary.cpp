// The two ends of a model, which know words: the embedding and the loss, each over the rank's part of the vocabulary.
#include <algorithm>
#include <map>

#include "run/operators/operator.hpp"

namespace orrery::run {

namespace {

class Embedding final : public Operator {
public:
    Embedding(const models::Embedding& op, const Place& place, Parameters& parameters, const StepData& data)
        : op_(op), place_(place), data_(data) {
        const std::uint64_t rows = place.plan.padded_vocab() / place.plan.strategy.tensor;
        settings_.table_rows = rows;
        parameters.add({.name = "embedding.words",
                        .rows = {{place.tensor() * rows, rows}},
                        .cols = op.hidden,
                        .global_cols = op.hidden,
                        .real_rows = place.plan.model.vocab});
        if (op.positions > 0)
            parameters.add({.name = "embedding.positions",
                            .rows = {{0, op.positions}},
                            .cols = op.hidden,
                            .global_cols = op.hidden,
                            .replicated = true});
    }

    Action bind(Bind& bind, const Site& site) override {
        void* const ids = data_.ids + static_cast<std::uint64_t>(site.micro_batch) * place_.tokens();
        if (site.work == "word embedding") {
            bind.value = bind.arena.take(place_.tokens() * op_.hidden * sizeof(float));
            return bind.launch(*site.kernel, {ids, bind.parameters.weight("embedding.words"), bind.at(bind.value)},
                               settings_);
        }
        if (site.work == "embedding reduce") return reduce(bind, site, bind.value);
        if (site.work == "add positions") {
            auto* const rows = static_cast<float*>(bind.at(bind.value));
            return by_sequence(
                bind,
                [&](float* table, std::uint64_t at) {
                    return std::vector<void*>{rows + at, table, rows + at};
                },
                bind.parameters.weight("embedding.positions"));
        }
        if (site.work == "position gradient") {
            auto* const rows = static_cast<float*>(bind.at(bind.gradient));
            return by_sequence(
                bind,
                [&](float* table, std::uint64_t at) {
                    return std::vector<void*>{table, rows + at, table};
                },
                bind.parameters.gradient("embedding.positions"));
        }
        if (site.work == "embedding gather gradient") {
            const Tensor rows = bind.gradient;
            return gather(bind, site, rows, bind.gradient);
        }
        if (site.work == "embedding backward") {
            Action action = bind.launch(
                *site.kernel, {ids, bind.at(bind.gradient), bind.parameters.gradient("embedding.words")}, settings_);
            bind.gradient.reset();
            return action;
        }
        unknown(site);
    }

private:
    /// One addition for each run of consecutive positions among the rank's rows.
    template <class Operands>
    Action by_sequence(Bind& bind, const Operands& operands, float* table) const {
        std::vector<Action> actions;
        const std::uint64_t seq = place_.plan.training.seq, first = place_.first_residual_token();
        for (std::uint64_t row = 0; row < place_.residual_tokens();) {
            const std::uint64_t position = (first + row) % seq;
            const std::uint64_t count = std::min(seq - position, place_.residual_tokens() - row);
            actions.push_back(
                bind.launch(kernels::Pointwise{kernels::PointwiseKind::add, kernels::Dtype::fp32, count, op_.hidden},
                            operands(table + position * op_.hidden, row * op_.hidden)));
            row += count;
        }
        return in_order(std::move(actions));
    }

    models::Embedding op_;
    const Place& place_;
    const StepData& data_;
    kernels::Settings settings_;
};

/// Keeps probabilities, or over a part of the vocabulary exponentials, where the logits were.
class Loss final : public Operator {
public:
    Loss(const Place& place, const StepData& data) : place_(place), data_(data) {
        const std::uint64_t columns = place.plan.padded_vocab() / place.plan.strategy.tensor;
        const std::uint64_t before = place.tensor() * columns, vocab = place.plan.model.vocab;
        settings_.classes = vocab > before ? std::min(columns, vocab - before) : 0;  // padding is no class
    }

    Action bind(Bind& bind, const Site& site) override {
        const std::uint64_t tokens = place_.tokens(), all = place_.plan.micro_batches() * tokens;
        const std::uint64_t at = static_cast<std::uint64_t>(site.micro_batch) * tokens;
        void* const targets = data_.targets + at;
        float *const maximum = data_.loss + at, *const sum = maximum + all, *const picked = sum + all;
        const bool whole = place_.plan.strategy.tensor == 1;
        if (site.work == "largest logits") return bind.launch(*site.kernel, {bind.at(bind.value), maximum}, settings_);
        if (site.work == "loss maximum")
            return bind.collective(*site.collective, site.lane, maximum, maximum, kernels::Reduction::maximum);
        if (site.work == "loss target") return bind.collective(*site.collective, site.lane, picked, picked);
        if (site.work == "loss sum") return bind.collective(*site.collective, site.lane, sum, sum);
        if (site.work == "cross entropy") {
            const Tensor logits = std::move(bind.value);
            bind.value.reset();
            logits_[site.micro_batch] = logits;
            void* const rows = bind.at(logits);
            if (whole) return bind.launch(*site.kernel, {rows, targets, rows, maximum}, settings_);
            return bind.launch(*site.kernel, {rows, maximum, targets, rows, sum, picked}, settings_);
        }
        if (site.work != "cross entropy backward") unknown(site);
        bind.gradient = logits_.at(site.micro_batch);
        logits_.erase(site.micro_batch);
        void* const rows = bind.at(bind.gradient);
        if (whole) return bind.launch(*site.kernel, {rows, targets, rows}, settings_);
        return bind.launch(*site.kernel, {rows, sum, targets, rows}, settings_);
    }

private:
    const Place& place_;
    const StepData& data_;
    kernels::Settings settings_;
    std::map<std::int32_t, Tensor> logits_;
};

}  // namespace

Made make_embedding(const models::Embedding& op, const Place& place, Parameters& parameters, const StepData& data) {
    return std::make_unique<Embedding>(op, place, parameters, data);
}

Made make_loss(const Place& place, const StepData& data) { return std::make_unique<Loss>(place, data); }

}  // namespace orrery::run
