// The two ends of a model, which know words: the embedding and the loss, each over the rank's part of the vocabulary.
#include <algorithm>
#include <map>
#include <utility>

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
            bind.value = bind.take(place_.tokens() * op_.hidden);
            return bind.launch(*site.kernel, {ids, bind.parameters.weight("embedding.words"), bind.at(bind.value)},
                               settings_);
        }
        if (site.work == "embedding reduce") return reduce(bind, site, bind.value);
        if (site.work == "add positions") {
            const Elements rows = bind.activations(bind.value);
            const Elements table{bind.parameters.weight("embedding.positions"), place_.activations()};
            return by_sequence(bind, [&](std::uint64_t position, std::uint64_t row) {
                return std::vector<void*>{rows.at(row), table.at(position), rows.at(row)};
            });
        }
        if (site.work == "position gradient") {
            const Elements rows = bind.activations(bind.gradient);
            const Elements sum{bind.parameters.gradient("embedding.positions"), place_.gradients()};
            kernels::Settings settings;
            settings.result = sum.dtype;
            return by_sequence(
                bind,
                [&](std::uint64_t position, std::uint64_t row) {
                    return std::vector<void*>{sum.at(position), rows.at(row), sum.at(position)};
                },
                settings);
        }
        if (site.work == "embedding gather gradient") {
            const Tensor rows = bind.gradient;
            return gather(bind, site, rows, bind.gradient);
        }
        if (site.work == "embedding backward") {
            kernels::Settings settings = bind.into_gradients();
            settings.table_rows = settings_.table_rows;
            Action action = bind.launch(
                *site.kernel, {ids, bind.at(bind.gradient), bind.parameters.gradient("embedding.words")}, settings);
            bind.gradient.reset();
            return action;
        }
        unknown(site);
    }

private:
    /// One addition for each run of consecutive positions among the rank's rows; operands(element of the table, of the
    /// rows).
    template <class Operands>
    Action by_sequence(Bind& bind, const Operands& operands, const kernels::Settings& settings = {}) const {
        std::vector<Action> actions;
        const std::uint64_t seq = place_.plan.training.seq, first = place_.first_residual_token();
        for (std::uint64_t row = 0; row < place_.residual_tokens();) {
            const std::uint64_t position = (first + row) % seq;
            const std::uint64_t count = std::min(seq - position, place_.residual_tokens() - row);
            const kernels::Pointwise add{kernels::PointwiseKind::add, place_.activations(), count, op_.hidden};
            actions.push_back(bind.launch(add, operands(position * op_.hidden, row * op_.hidden), settings));
            row += count;
        }
        return in_order(std::move(actions));
    }

    models::Embedding op_;
    const Place& place_;
    const StepData& data_;
    kernels::Settings settings_;
};

/// In fp32: 16-bit logits are widened before it, and their gradient is rounded behind it. Keeps probabilities, or over
/// a part of the vocabulary exponentials, where the fp32 logits were.
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
        constexpr kernels::Dtype single = kernels::Dtype::fp32;
        if (site.work == "largest logits") return bind.launch(*site.kernel, {bind.at(bind.value), maximum}, settings_);
        if (site.work == "loss maximum")
            return bind.collective(*site.collective, site.lane, maximum, maximum, single, kernels::Reduction::maximum);
        if (site.work == "loss target") return bind.collective(*site.collective, site.lane, picked, picked, single);
        if (site.work == "loss sum") return bind.collective(*site.collective, site.lane, sum, sum, single);
        if (site.work == "logits to fp32") return widen(bind, *site.kernel);
        if (site.work == "logits gradient to 16 bits") return narrow(bind, *site.kernel);
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
    Action widen(Bind& bind, const kernels::Kernel& cast) const {
        const auto& shape = std::get<kernels::Pointwise>(cast);
        const Tensor logits = std::exchange(bind.value, bind.arena.take(shape.rows * shape.cols * sizeof(float)));
        return bind.launch(cast, {bind.at(logits), bind.at(bind.value)});
    }
    Action narrow(Bind& bind, const kernels::Kernel& cast) const {
        const auto& shape = std::get<kernels::Pointwise>(cast);
        const Tensor gradient = std::exchange(bind.gradient, bind.take(shape.rows * shape.cols));
        kernels::Settings settings;
        settings.result = shape.dtype;
        return bind.launch(cast, {bind.at(gradient), bind.at(bind.gradient)}, settings);
    }

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
