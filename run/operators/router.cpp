// The router: every expert's probability of every token, and the weights of those that it is sent to.
#include "run/operators/experts.hpp"

namespace orrery::run {

namespace {

class Router final : public Operator {
public:
    Router(const std::shared_ptr<Routing>& routing, const std::string& prefix, Parameters& parameters)
        : routing_(routing), weight_(prefix + "router.weight") {
        const models::Experts& op = routing->op;
        parameters.add({.name = weight_,
                        .rows = {{0, op.experts}},
                        .cols = op.hidden,
                        .global_cols = op.hidden,
                        .replicated = true});
    }

    Action bind(Bind& bind, const Site& site) override {
        if (site.work == "router") return product(bind, site);
        if (site.work == "gate") return gate(bind, site);
        if (site.work == "gate backward") return gate_backward(bind, site);
        if (site.work == "router dgrad") {
            dx_ = bind.take(rows() * routing_->op.hidden);
            return bind.launch(*site.kernel, {bind.at(dlogits_), bind.parameters.weight(weight_), bind.at(dx_)});
        }
        if (site.work == "router wgrad")  // which the program has added inside the product in any case
            return weight_gradient(bind, site, std::exchange(dlogits_, nullptr), inputs_.at(site.micro_batch), weight_,
                                   nullptr);
        if (site.work == "sum router gradient") return sum_gradients(bind, site);
        unknown(site);
    }

    void finished(const Site& last) override {
        if (last.forward()) return;
        inputs_.erase(last.micro_batch);
        probabilities_.erase(last.micro_batch);
    }

    void kept(std::int32_t micro_batch, std::vector<Tensor*>& tensors) override {
        tensors.insert(tensors.end(), {&inputs_[micro_batch], &probabilities_[micro_batch]});
    }

private:
    [[nodiscard]] std::uint64_t rows() const { return routing_->shapes.tokens; }
    [[nodiscard]] Tensor take_by_expert(Bind& bind) const {
        return bind.arena.take(rows() * routing_->op.experts * sizeof(float));
    }
    [[nodiscard]] kernels::Settings given() const {
        kernels::Settings settings = routing_->settings();
        settings.experts = routing_->experts;
        return settings;
    }

    /// Beside a shared expert the last value is that expert's result.
    Action product(Bind& bind, const Site& site) {
        if (routing_->op.adds_shared) {
            routing_->shared = bind.value;
            bind.value = std::exchange(bind.routed, nullptr);
        }
        Tensor& kept = inputs_[site.micro_batch];
        if (site.keeps_input) kept = bind.value;
        logits_ = take_by_expert(bind);
        kernels::Settings settings;
        settings.result = kernels::Dtype::fp32;  // what the gate takes
        return bind.launch(*site.kernel, {bind.at(bind.value), bind.parameters.weight(weight_), bind.at(logits_)},
                           settings);
    }

    Action gate(Bind& bind, const Site& site) {
        const Tensor logits = std::exchange(logits_, nullptr), probabilities = take_by_expert(bind);
        const Tensor weights = bind.arena.take(routing_->shapes.sent * sizeof(float));
        if (site.keeps_rest) probabilities_[site.micro_batch] = probabilities;
        routing_->weights[site.micro_batch] = weights;
        return bind.launch(*site.kernel, {bind.at(logits), bind.at(probabilities), routing_->experts, bind.at(weights)},
                           given());
    }

    /// In fp32; the products behind it take the format of activations.
    Action gate_backward(Bind& bind, const Site& site) {
        const Tensor dweights = std::exchange(routing_->dweights, nullptr);
        dlogits_ = take_by_expert(bind);
        Action backward =
            bind.launch(*site.kernel,
                        {bind.at(probabilities_.at(site.micro_batch)), bind.at(dweights), bind.at(dlogits_)}, given());
        const kernels::Dtype dtype = bind.place.activations();
        if (dtype == kernels::Dtype::fp32) return backward;
        const Tensor wide = std::exchange(dlogits_, bind.take(rows() * routing_->op.experts));
        kernels::Settings narrow;
        narrow.result = dtype;
        const kernels::Pointwise cast{kernels::PointwiseKind::cast, dtype, rows(), routing_->op.experts};
        return in_order({std::move(backward), bind.launch(cast, {bind.at(wide), bind.at(dlogits_)}, narrow)});
    }

    Action sum_gradients(Bind& bind, const Site& site) {
        const Tensor dx = std::exchange(dx_, nullptr);
        Action action = bind.launch(*site.kernel, {bind.at(dx), bind.at(bind.gradient), bind.at(dx)});
        bind.gradient = dx;
        if (routing_->op.adds_shared) {
            bind.routed_gradient = dx;
            bind.gradient = std::exchange(routing_->dshared, nullptr);
        }
        return action;
    }

    std::shared_ptr<Routing> routing_;
    std::string weight_;
    std::map<std::int32_t, Tensor> inputs_, probabilities_;  ///< by micro-batch
    Tensor logits_, dlogits_, dx_;
};

}  // namespace

Made make_router(const std::shared_ptr<Routing>& routing, const std::string& prefix, Parameters& parameters) {
    return std::make_unique<Router>(routing, prefix, parameters);
}

}  // namespace orrery::run
