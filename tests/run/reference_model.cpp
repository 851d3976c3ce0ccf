#include "tests/run/reference_model.hpp"

#include <algorithm>
#include <cmath>

#include "tests/run/reference_parts.hpp"

namespace orrery::run {

namespace {

/// Before each sample of the batch, counted over all steps.
using Before = std::function<void(std::uint32_t sample)>;

/// Gradients of the whole batch; returns the loss.
double differentiate(ReferenceModel& model, std::uint32_t step, const Before& before = {}) {
    double loss = 0;
    const double share = 1.0 / model.parts();
    for (std::uint32_t part = 0; part < model.parts(); ++part) {
        if (before) before(step * model.parts() + part);
        Tape tape;
        const M one = model.loss(tape, step, part);
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
        const double of_mean = 1 - std::pow(s_.b1, step + 1), of_square = 1 - std::pow(s_.b2, step + 1);
        for (std::size_t i = 0; i < m.size(); ++i) {
            const double g = factor * gradient[i];
            m[i] = s_.b1 * m[i] + (1 - s_.b1) * g;
            v[i] = s_.b2 * v[i] + (1 - s_.b2) * g * g;
            const double mean = m[i] / of_mean, square = v[i] / of_square;
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

std::unique_ptr<ReferenceModel> reference_of_model(const strategies::Plan& plan, const RunSettings& settings) {
    if (plan.model.takes_images()) return reference_resnet(plan, settings);
    return plan.model.decoder_layers > 0 ? reference_encoder_decoder(plan, settings)
                                         : reference_transformer(plan, settings);
}

std::vector<ReferenceStep> train_reference(const strategies::Plan& plan, const RunSettings& settings,
                                           std::uint32_t steps) {
    return train_reference(plan, settings, steps,
                           {[of_step = plan.micro_batches()](const std::string&, std::uint32_t micro_batch) {
                                return micro_batch / of_step;
                            },
                            [](const std::string&) { return 0U; }, 1});
}

std::vector<ReferenceStep> train_reference(const strategies::Plan& plan, const RunSettings& settings,
                                           std::uint32_t steps, const WithoutFlushes& as) {
    const auto built = reference_of_model(plan, settings);
    ReferenceModel& model = *built;
    ReferenceAdam adam(settings.adam);
    std::map<std::string, std::vector<std::vector<double>>> versions;
    for (const auto& [name, p] : model.parameters()) versions[name] = {p->value};
    const std::uint32_t slice = model.parts() / plan.micro_batches();
    const auto read_versions = [&](std::uint32_t sample) {
        for (auto& [name, p] : model.parameters()) p->value = versions.at(name).at(as.version(name, sample / slice));
    };
    std::vector<ReferenceStep> results;
    for (std::uint32_t step = 0; step < steps; ++step) {
        for (auto& [name, p] : model.parameters()) std::fill(p->gradient.begin(), p->gradient.end(), 0.0);
        ReferenceStep& result = results.emplace_back();
        result.loss = differentiate(model, step, read_versions);
        std::map<std::uint32_t, double> squares;
        double all = 0;
        for (auto& [name, p] : model.parameters()) {
            if (step == 0) result.gradients[name] = p->gradient;
            for (const double g : p->gradient) squares[as.stage(name)] += g * g;
        }
        for (const auto& [stage, sum] : squares) all += sum;
        result.gradient_norm = std::sqrt(all);
        for (auto& [name, p] : model.parameters()) {
            std::vector<double> next = versions.at(name).back();
            adam.update(name, p->gradient, clipping(plan, std::sqrt(squares.at(as.stage(name)))), step, next);
            auto& list = versions.at(name);
            list.push_back(std::move(next));
            if (list.size() > as.versions) std::vector<double>().swap(list[list.size() - 1 - as.versions]);
        }
    }
    return results;
}

double reference_loss(const strategies::Plan& plan, const RunSettings& settings, const std::string& parameter,
                      std::size_t element, double delta) {
    const auto model = reference_of_model(plan, settings);
    model->parameters().at(parameter)->value.at(element) += delta;
    return differentiate(*model, 0);
}

}  // namespace orrery::run
