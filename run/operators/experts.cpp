// The experts' MLPs: a product of all of a rank's experts is one of as many equal parts.
#include "run/operators/experts.hpp"

namespace orrery::run {

namespace {

using kernels::Gemm;

/// Rows of the global [experts x outputs, inputs] weight that this rank holds: all of its experts, or of every part of
/// their outputs (gate, up) its share.
std::vector<std::pair<std::uint64_t, std::uint64_t>> rows_of(const strategies::ExpertShapes& shapes, const Place& place,
                                                             std::uint64_t outputs, std::uint64_t parts,
                                                             bool outputs_split) {
    const strategies::Plan& plan = place.plan;
    const std::uint64_t along = place.along(strategies::Axis::expert), tensor = plan.strategy.tensor;
    const std::uint64_t holder = plan.experts_split() ? along : along * tensor + place.tensor();
    const std::uint64_t part = outputs / parts, share = outputs_split ? part / tensor : part;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> rows;
    for (std::uint64_t expert = holder * shapes.experts; expert < (holder + 1) * shapes.experts; ++expert)
        for (std::uint64_t p = 0; p < parts; ++p)
            rows.emplace_back(expert * outputs + p * part + (outputs_split ? place.tensor() * share : 0), share);
    return rows;
}

class ExpertProduct final : public Operator {
public:
    ExpertProduct(const Routing& routing, bool up, const std::string& prefix, const Place& place,
                  Parameters& parameters);
    Action bind(Bind& bind, const Site& site) override;
    void finished(const Site& last) override;
    void kept(std::int32_t micro_batch, std::vector<Tensor*>& tensors) override {
        tensors.push_back(&inputs_[micro_batch]);
    }

private:
    Action product(Bind& bind, const Site& site);
    Action data_gradient(Bind& bind, const Site& site);
    Action bias_gradient(Bind& bind, const Site& site) const;

    std::string name_, weight_, bias_;
    std::uint64_t experts_;
    bool adds_bias_ = false;                 ///< behind a sum over ranks on one of them only
    std::map<std::int32_t, Tensor> inputs_;  ///< by micro-batch
    Tensor dy_, separate_;
};

ExpertProduct::ExpertProduct(const Routing& routing, bool up, const std::string& prefix, const Place& place,
                             Parameters& parameters)
    : name_(up ? "experts up" : "experts down"),
      weight_(prefix + (up ? "experts.up.weight" : "experts.down.weight")),
      experts_(routing.shapes.experts) {
    const models::Experts& op = routing.op;
    const bool split = place.plan.experts_split();
    const std::uint64_t parts = up && op.gated ? 2 : 1, outputs = up ? parts * op.ffn : op.hidden;
    Slice slice{.name = weight_, .rows = rows_of(routing.shapes, place, outputs, parts, up && split), .expert = true};
    slice.global_cols = up ? op.hidden : op.ffn;
    slice.cols = up ? op.hidden : routing.shapes.ffn;
    slice.first_col = up || !split ? 0 : place.tensor() * slice.cols;
    const auto rows = slice.rows;
    parameters.add(std::move(slice));
    if (!op.bias) return;
    bias_ = prefix + (up ? "experts.up.bias" : "experts.down.bias");
    // Behind a sum over tensor ranks each of them sees all tokens: their gradients are the same, and none is summed.
    const bool first = up || !split || place.tensor() == 0;
    parameters.add({.name = bias_, .initial = Initial::zeros, .rows = rows, .counted = first, .expert = true});
    adds_bias_ = first;
}

Action ExpertProduct::product(Bind& bind, const Site& site) {
    const auto& gemm = std::get<Gemm>(*site.kernel);
    Tensor& kept = inputs_[site.micro_batch];
    if (site.keeps_input) kept = bind.value;
    const Tensor y = bind.take(std::uint64_t{gemm.batch} * gemm.m * gemm.n);
    kernels::Settings settings;
    if (adds_bias_) settings.bias = bind.parameters.weight(bias_);
    Action action = bind.launch(gemm, {bind.at(bind.value), bind.parameters.weight(weight_), bind.at(y)}, settings);
    bind.value = y;
    return action;
}

Action ExpertProduct::data_gradient(Bind& bind, const Site& site) {
    const auto& gemm = std::get<Gemm>(*site.kernel);
    dy_ = bind.gradient;
    bind.gradient = bind.take(std::uint64_t{gemm.batch} * gemm.m * gemm.n);
    return bind.launch(gemm, {bind.at(dy_), bind.parameters.weight(weight_), bind.at(bind.gradient)});
}

/// Every expert has a bias of its own.
Action ExpertProduct::bias_gradient(Bind& bind, const Site& site) const {
    auto kernel = std::get<kernels::Pointwise>(*site.kernel);
    kernel.rows /= experts_;
    const Elements dy = bind.activations(dy_);
    const Elements sums{bind.parameters.gradient(bias_), bind.place.gradients()};
    std::vector<Action> actions;
    for (std::uint64_t expert = 0; expert < experts_; ++expert)
        actions.push_back(bind.launch(
            kernel, {dy.at(expert * kernel.rows * kernel.cols), sums.at(expert * kernel.cols)}, bind.into_gradients()));
    return in_order(std::move(actions));
}

Action ExpertProduct::bind(Bind& bind, const Site& site) {
    const std::string_view work = site.work == name_ ? "" : site.work.substr(name_.size() + 1);
    if (work.empty()) return product(bind, site);
    if (work == "dgrad") return data_gradient(bind, site);
    if (work == "wgrad")
        return weight_gradient(bind, site, dy_, inputs_.at(site.micro_batch), weight_,
                               bind.separate_gradient(separate_));
    if (work == "bias gradient") return bias_gradient(bind, site);
    void* const sum = bind.parameters.gradient(weight_);
    if (work == "accumulate") return bind.launch(*site.kernel, {sum, bind.at(separate_), sum});
    unknown(site);
}

void ExpertProduct::finished(const Site& last) {
    if (last.forward()) return;
    inputs_.erase(last.micro_batch);
    dy_.reset();
    separate_.reset();
}

}  // namespace

Made make_expert_product(const Routing& routing, bool up, const std::string& prefix, const Place& place,
                         Parameters& parameters) {
    return std::make_unique<ExpertProduct>(routing, up, prefix, place, parameters);
}

std::vector<Made> make_experts(const models::Experts& op, const std::string& prefix, const Place& place,
                               Parameters& parameters, kernels::Device& device, void* zeros) {
    const auto routing = std::make_shared<Routing>(op, place, device);
    std::vector<Made> pieces;
    pieces.push_back(make_router(routing, prefix, parameters));
    pieces.push_back(make_dispatch(routing));
    pieces.push_back(make_expert_product(*routing, true, prefix, place, parameters));
    pieces.push_back(make_activation({.gated = op.gated, .width = op.ffn}, "", zeros));
    pieces.push_back(make_expert_product(*routing, false, prefix, place, parameters));
    pieces.push_back(make_combination(routing));
    return pieces;
}

}  // namespace orrery::run
