// GELU with its bias, and SwiGLU.
#include <map>

#include "run/operators/operator.hpp"

namespace orrery::run {

namespace {

class Activation final : public Operator {
public:
    Activation(const models::Activation& op, std::string bias, void* zeros)
        : gated_(op.gated), bias_(std::move(bias)), zeros_(zeros) {}

    Action bind(Bind& bind, const Site& site) override {
        const auto& shape = std::get<kernels::Pointwise>(*site.kernel);
        const std::uint64_t outputs = shape.rows * shape.cols;
        if (site.forward()) {
            Tensor& kept = inputs_[site.micro_batch];
            if (site.phase == strategies::Phase::recompute && kept) bind.value = kept;
            const Tensor x = bind.value;
            if (site.keeps_input) kept = x;
            bind.value = bind.take(outputs);
            return bind.launch(shape, operands(bind, {bind.at(x)}, bind.at(bind.value)));
        }
        const Tensor dy = bind.gradient;
        bind.gradient = bind.take(outputs * (gated_ ? 2 : 1));
        std::vector<void*> all = operands(bind, {bind.at(inputs_.at(site.micro_batch))}, bind.at(dy));
        all.push_back(bind.at(bind.gradient));
        return bind.launch(shape, std::move(all));
    }
    void finished(const Site& last) override {
        if (!last.forward()) inputs_.erase(last.micro_batch);
    }
    void kept(std::int32_t micro_batch, std::vector<Tensor*>& tensors) override {
        tensors.push_back(&inputs_[micro_batch]);
    }

private:
    /// x, the bias of GELU, then one more.
    [[nodiscard]] std::vector<void*> operands(const Bind& bind, std::vector<void*> list, void* last) const {
        if (!gated_) list.push_back(bias_.empty() ? zeros_ : bind.parameters.weight(bias_));
        list.push_back(last);
        return list;
    }

    bool gated_;
    std::string bias_;
    void* zeros_;
    std::map<std::int32_t, Tensor> inputs_;
};

}  // namespace

Made make_activation(const models::Activation& op, const std::string& bias, void* zeros) {
    return std::make_unique<Activation>(op, bias, zeros);
}

}  // namespace orrery::run
