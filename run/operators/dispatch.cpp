// Tokens on their way to their experts, and their results on the way back.
#include <utility>

#include "run/operators/experts.hpp"

namespace orrery::run {

namespace {

using kernels::Pointwise;
using kernels::PointwiseKind;

/// What both ways have in common; in backward the gradient travels the other way.
class Journey : public Operator {
public:
    explicit Journey(const std::shared_ptr<Routing>& routing) : routing_(routing) {}

protected:
    [[nodiscard]] Tensor take(Bind& bind, std::uint64_t rows) const { return bind.take(rows * routing_->op.hidden); }
    /// Copies of tokens; with one copy the program has an embedding's kernel, which moves as many bytes.
    [[nodiscard]] Pointwise copies(PointwiseKind kind, const Site& site) const {
        return {kind, std::get<Pointwise>(*site.kernel).dtype, routing_->shapes.sent, routing_->op.hidden};
    }

    Action travel(Bind& bind, const Site& site) const {
        Tensor& tensor = site.forward() ? bind.value : bind.gradient;
        const std::string_view suffix = " gradient";
        std::string_view work = site.work;
        if (!site.forward() && work.ends_with(suffix)) work.remove_suffix(suffix.size());
        if (work == "sort by expert") return sort(bind, site, routing_->arrived, tensor);
        if (work == "sort by rank") return sort(bind, site, routing_->sorted, tensor);
        if (work == "reduce tokens") return reduce(bind, site, tensor);
        if (work != "dispatch" && work != "combine" && work != "gather tokens") unknown(site);
        const Tensor sent = tensor;
        return gather(bind, site, sent, tensor);  // an exchange leaves as many bytes as its collective counts, too
    }

    std::shared_ptr<Routing> routing_;

private:
    Action sort(Bind& bind, const Site& site, std::int32_t* from, Tensor& tensor) const {
        const Tensor before = std::exchange(tensor, take(bind, routing_->shapes.rows));
        return bind.launch(*site.kernel, {from, bind.at(before), bind.at(tensor)});
    }
};

class Dispatch final : public Journey {
public:
    using Journey::Journey;
    Action bind(Bind& bind, const Site& site) override {
        if (site.work == "permute") {
            const Tensor x = std::exchange(bind.value, take(bind, routing_->shapes.sent));
            return bind.launch(copies(PointwiseKind::permute, site),
                               {bind.at(x), routing_->source, bind.at(bind.value)}, routing_->settings());
        }
        if (site.work == "permute backward") {
            const Tensor dy = std::exchange(bind.gradient, take(bind, routing_->shapes.tokens));
            return bind.launch(copies(PointwiseKind::unpermute, site),
                               {bind.at(dy), routing_->position, routing_->ones, bind.at(bind.gradient)},
                               routing_->settings());
        }
        return travel(bind, site);
    }
};

class Combination final : public Journey {
public:
    using Journey::Journey;
    Action bind(Bind& bind, const Site& site) override {
        if (site.work == "unpermute") return forward(bind, site);
        if (site.work == "unpermute backward") return backward(bind, site);
        if (site.work == "add shared expert") {
            const Tensor shared = std::exchange(routing_->shared, nullptr);
            void* const sum = bind.at(bind.value);
            return bind.launch(*site.kernel, {sum, bind.at(shared), sum});
        }
        return travel(bind, site);
    }
    void finished(const Site& last) override {
        if (!last.forward() || !last.keeps_rest) routing_->weights.erase(last.micro_batch);
        if (!last.forward()) returned_.erase(last.micro_batch);
    }
    void kept(std::int32_t micro_batch, std::vector<Tensor*>& tensors) override {
        tensors.insert(tensors.end(), {&returned_[micro_batch], &routing_->weights[micro_batch]});
    }

private:
    Action forward(Bind& bind, const Site& site) {
        const Tensor x = std::exchange(bind.value, take(bind, routing_->shapes.tokens));
        if (site.keeps_rest) returned_[site.micro_batch] = x;
        return bind.launch(
            copies(PointwiseKind::unpermute, site),
            {bind.at(x), routing_->position, bind.at(routing_->weights.at(site.micro_batch)), bind.at(bind.value)},
            routing_->settings());
    }

    Action backward(Bind& bind, const Site& site) {
        const Tensor dy = std::exchange(bind.gradient, take(bind, routing_->shapes.sent));
        if (routing_->op.adds_shared) routing_->dshared = dy;
        routing_->dweights = bind.arena.take(routing_->shapes.sent * sizeof(float));
        kernels::Settings settings = routing_->settings();
        settings.unpermuted.x = bind.at(returned_.at(site.micro_batch));
        settings.unpermuted.weight = static_cast<float*>(bind.at(routing_->weights.at(site.micro_batch)));
        settings.unpermuted.dweight = static_cast<float*>(bind.at(routing_->dweights));
        return bind.launch(copies(PointwiseKind::permute, site),
                           {bind.at(dy), routing_->source, bind.at(bind.gradient)}, settings);
    }

    std::map<std::int32_t, Tensor> returned_;  ///< the experts' results, by micro-batch
};

}  // namespace

Made make_dispatch(const std::shared_ptr<Routing>& routing) { return std::make_unique<Dispatch>(routing); }
Made make_combination(const std::shared_ptr<Routing>& routing) { return std::make_unique<Combination>(routing); }

}  // namespace orrery::run
