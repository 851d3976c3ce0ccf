// LayerNorm and RMSNorm.
#include <map>

#include "run/operators/operator.hpp"

namespace orrery::run {

namespace {

class Norm final : public Operator {
public:
    Norm(const models::Norm& op, bool shared, const std::string& prefix, Parameters& parameters)
        : op_(op), shared_(shared), weight_(prefix + op.name + ".weight"), bias_(prefix + op.name + ".bias") {
        parameters.add({.name = weight_, .initial = Initial::ones, .rows = {{0, op.width}}, .replicated = true});
        if (centred())
            parameters.add({.name = bias_, .initial = Initial::zeros, .rows = {{0, op.width}}, .replicated = true});
    }

    Action bind(Bind& bind, const Site& site) override {
        if (site.forward() && site.work == op_.name) return forward(bind, site);
        if (site.work == op_.name + " backward") return backward(bind, site);
        if (site.work == "sum branch gradients") {
            void* const sum = bind.at(bind.gradient);
            Action action = bind.launch(*site.kernel, {sum, bind.at(bind.skip), sum});
            bind.skip.reset();
            return action;
        }
        if (site.work == "sum expert gradients") {
            void* const sum = bind.at(bind.gradient);
            Action action = bind.launch(*site.kernel, {sum, bind.at(bind.routed_gradient), sum});
            bind.routed_gradient.reset();
            return action;
        }
        unknown(site);
    }

    void finished(const Site& last) override {
        if (!last.forward()) saved_.erase(last.micro_batch);
    }
    void kept(std::int32_t micro_batch, std::vector<Tensor*>& tensors) override {
        Saved& saved = saved_[micro_batch];
        tensors.insert(tensors.end(), {&saved.x, &saved.mean, &saved.rstd});
    }

private:
    struct Saved {
        Tensor x, mean, rstd;
    };
    [[nodiscard]] bool centred() const { return op_.kind == models::NormKind::layernorm; }

    Action forward(Bind& bind, const Site& site) {
        const auto& shape = std::get<kernels::Pointwise>(*site.kernel);
        Saved& saved = saved_[site.micro_batch];
        if (site.phase == strategies::Phase::recompute && saved.x) bind.value = saved.x;
        const Tensor x = bind.value, y = bind.take(shape.rows * shape.cols);
        const Tensor mean = bind.arena.take(shape.rows * sizeof(float));
        const Tensor rstd = bind.arena.take(shape.rows * sizeof(float));
        if (site.keeps_input) saved.x = x;
        if (site.keeps_rest) {
            saved.mean = mean;
            saved.rstd = rstd;
        }
        if (op_.begins_branch) bind.residual = x;
        bind.value = y;
        if (shared_) bind.routed = y;
        void* const gamma = bind.parameters.weight(weight_);
        if (!centred()) return bind.launch(shape, {bind.at(x), gamma, bind.at(y), bind.at(rstd)});
        return bind.launch(
            shape, {bind.at(x), gamma, bind.parameters.weight(bias_), bind.at(y), bind.at(mean), bind.at(rstd)});
    }

    Action backward(Bind& bind, const Site& site) {
        const auto& shape = std::get<kernels::Pointwise>(*site.kernel);
        const Saved& saved = saved_.at(site.micro_batch);
        const Tensor dy = bind.gradient, dx = bind.take(shape.rows * shape.cols);
        bind.gradient = dx;
        void *const gamma = bind.parameters.weight(weight_), *const dgamma = bind.parameters.gradient(weight_);
        std::vector<void*> operands{bind.at(saved.x), gamma, bind.at(dy)};
        if (centred()) operands.push_back(bind.at(saved.mean));
        operands.insert(operands.end(), {bind.at(saved.rstd), bind.at(dx), dgamma});
        if (centred()) operands.push_back(bind.parameters.gradient(bias_));
        return bind.launch(shape, std::move(operands), bind.into_gradients());
    }

    models::Norm op_;
    bool shared_;  ///< its output goes to a shared expert and to a router
    std::string weight_, bias_;
    std::map<std::int32_t, Saved> saved_;
};

/// value + residual; its gradient goes both ways, and they meet again behind the norm that began the branch.
class Residual final : public Operator {
public:
    Action bind(Bind& bind, const Site& site) override {
        if (!site.forward() || site.work != "residual add") unknown(site);
        void* const sum = bind.at(bind.value);
        Action action = bind.launch(*site.kernel, {sum, bind.at(bind.residual), sum});
        bind.residual.reset();
        return action;
    }
    void passed(Bind& bind) override { bind.skip = bind.gradient; }
};

}  // namespace

Made make_norm(const models::Norm& op, bool shared, const std::string& prefix, Parameters& parameters) {
    return std::make_unique<Norm>(op, shared, prefix, parameters);
}

Made make_residual() { return std::make_unique<Residual>(); }

}  // namespace orrery::run
