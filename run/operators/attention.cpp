// Rotary positions and the fused attention core, on heads inside packed rows of queries, keys and values.
#include <map>

#include "run/operators/operator.hpp"

namespace orrery::run {

namespace {

/// Elements of one token's queries, keys and values on this rank.
std::uint64_t packed_row(const Place& place) {
    const models::ModelSpec& spec = place.plan.model;
    return std::uint64_t{spec.heads + 2 * spec.kv_heads} * spec.head_dim / place.plan.strategy.tensor;
}

/// Rotates queries and keys in place.
class Rope final : public Operator {
public:
    Rope(const models::Rope& op, const Place& place, const StepData& data) : data_(data) {
        settings_.row_stride = packed_row(place);
        settings_.head = op.head_dim;
        settings_.positions = place.plan.training.seq;
    }
    Action bind(Bind& bind, const Site& site) override {
        if (site.work != "rope" && site.work != "rope backward") unknown(site);
        void* const rows = bind.at(site.forward() ? bind.value : bind.gradient);
        return bind.launch(*site.kernel, {rows, const_cast<float*>(data_.cos), const_cast<float*>(data_.sin), rows},
                           settings_);
    }

private:
    const StepData& data_;
    kernels::Settings settings_;
};

class AttentionCore final : public Operator {
public:
    explicit AttentionCore(const Place& place) : row_(packed_row(place)) { settings_.row_stride = row_; }

    Action bind(Bind& bind, const Site& site) override {
        if (site.work == "attention" && site.forward()) return forward(bind, site);
        if (site.work == "attention backward") return backward(bind, site);
        unknown(site);
    }
    void finished(const Site& last) override {
        if (!last.forward()) saved_.erase(last.micro_batch);
    }
    void kept(std::int32_t micro_batch, std::vector<Tensor*>& tensors) override {
        Saved& saved = saved_[micro_batch];
        tensors.insert(tensors.end(), {&saved.qkv, &saved.o, &saved.lse});
    }

private:
    struct Saved {
        Tensor qkv, o, lse;
    };
    struct Heads {
        void *q, *k, *v;
    };
    static Heads heads(const Elements& packed, const kernels::Attention& shape) {
        const std::uint64_t head = shape.head_dim;
        return {packed.at(0), packed.at(shape.heads * head), packed.at((shape.heads + shape.kv_heads) * head)};
    }

    Action forward(Bind& bind, const Site& site) {
        const auto& shape = std::get<kernels::Attention>(*site.kernel);
        const std::uint64_t rows = std::uint64_t{shape.batch} * shape.seq * shape.heads;
        Saved& saved = saved_[site.micro_batch];
        const Tensor qkv = site.phase == strategies::Phase::recompute && saved.qkv ? saved.qkv : bind.value;
        const Tensor o = bind.take(rows * shape.head_dim);
        const Tensor lse = bind.arena.take(rows * sizeof(float));
        if (site.keeps_input) saved.qkv = qkv;
        if (site.keeps_rest) {
            saved.o = o;
            saved.lse = lse;
        }
        bind.value = o;
        const Heads in = heads(bind.activations(qkv), shape);
        return bind.launch(shape, {in.q, in.k, in.v, bind.at(o), bind.at(lse)}, settings_);
    }

    Action backward(Bind& bind, const Site& site) {
        const auto& shape = std::get<kernels::Attention>(*site.kernel);
        const Saved& saved = saved_.at(site.micro_batch);
        const Tensor gradient = bind.take(std::uint64_t{shape.batch} * shape.seq * row_);
        const Heads in = heads(bind.activations(saved.qkv), shape), out = heads(bind.activations(gradient), shape);
        Action action = bind.launch(
            shape,
            {in.q, in.k, in.v, bind.at(saved.o), bind.at(saved.lse), bind.at(bind.gradient), out.q, out.k, out.v},
            settings_);
        bind.gradient = gradient;
        return action;
    }

    std::uint64_t row_;
    kernels::Settings settings_;
    std::map<std::int32_t, Saved> saved_;
};

}  // namespace

Made make_rope(const models::Rope& op, const Place& place, const StepData& data) {
    return std::make_unique<Rope>(op, place, data);
}

Made make_attention(const models::AttentionCore&, const Place& place) { return std::make_unique<AttentionCore>(place); }

}  // namespace orrery::run
