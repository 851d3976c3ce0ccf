#include "run/gradients.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.hpp"

namespace orrery::run {

namespace {

using kernels::Pointwise;
using kernels::PointwiseKind;
using strategies::Collective;

Pointwise over(PointwiseKind kind, std::uint64_t elements) { return {kind, kernels::Dtype::fp32, 1, elements}; }

/// The gradients of one bucket: summed over the data axis, in place, whole or this rank's share.
Action reduce_bucket(Bind& bind, const StepSite& site) {
    const Range& bucket = bind.parameters.buckets()[site.bucket];
    const Elements& gradients = bind.parameters.gradients();
    Collective what = *site.collective;
    what.bytes = gradients.bytes(bucket.elements());
    return bind.collective(what, site.lane, gradients.at(bucket.begin),
                           gradients.at(bind.parameters.owned(site.bucket).begin), gradients.dtype);
}

Action gather_bucket(Bind& bind, const StepSite& site, std::uint32_t index) {
    const Range& bucket = bind.parameters.buckets()[index];
    Collective what = *site.collective;
    const Elements& weights = bind.parameters.weights();
    what.bytes = weights.bytes(bucket.elements());
    return bind.collective(what, site.lane, weights.at(bind.parameters.owned(index).begin), weights.at(bucket.begin),
                           weights.dtype);
}

Action gather_weights(Bind& bind, const StepSite& site, bool experts) {
    std::vector<Action> actions;
    for (std::uint32_t b = 0; b < bind.parameters.buckets().size(); ++b)
        if (bind.parameters.buckets()[b].experts == experts) actions.push_back(gather_bucket(bind, site, b));
    return in_order(std::move(actions));
}

/// Packed, summed over the tensor axis, and put back.
Action reduce_replicated(Bind& bind, const StepSite& site) {
    std::uint64_t count = 0;
    const Elements& gradients = bind.parameters.gradients();
    const std::vector<Range> ranges = bind.parameters.replicated();
    for (const Range& range : ranges) count += range.elements();
    const Tensor taken = bind.arena.take(gradients.bytes(count));
    const Elements packed{bind.at(taken), gradients.dtype};
    std::vector<Action> actions, back;
    std::uint64_t at = 0;
    for (const Range& range : ranges) {
        void* const gradient = gradients.at(range.begin);
        actions.push_back(bind.copy(packed.at(at), gradient, packed.bytes(range.elements())));
        back.push_back(bind.copy(gradient, packed.at(at), packed.bytes(range.elements())));
        at += range.elements();
    }
    Collective what = *site.collective;
    what.bytes = packed.bytes(count);
    actions.push_back(bind.collective(what, site.lane, packed.memory, packed.memory, packed.dtype));
    actions.insert(actions.end(), back.begin(), back.end());
    return in_order(std::move(actions));
}

/// What this rank adds to the norm: what it owns, and no second copy of what others hold as well.
Action sum_of_squares(Bind& bind, const StepSite& site) {
    std::vector<Action> actions{bind.launch(over(PointwiseKind::fill, 1), {site.sum})};
    kernels::Settings settings;
    settings.accumulate = true;
    for (const Range& range : bind.parameters.counted())
        actions.push_back(bind.launch(over(PointwiseKind::sum_of_squares, range.elements()),
                                      {bind.parameters.main_gradient(range.begin), site.sum}, settings));
    return in_order(std::move(actions));
}

/// Summed over the ranks of a model, and copied to the host.
Action agree_on_norm(Bind& bind, const StepSite& site, const StepNumbers& numbers) {
    Action sum = bind.collective(*site.collective, site.lane, site.sum, site.sum, kernels::Dtype::fp32);
    return [&device = bind.device, sum = std::move(sum), from = site.sum, to = numbers.norm](kernels::Stream stream) {
        sum(stream);
        device.copy(kernels::CopyKind::device_to_host, to, from, sizeof(float), stream);
    };
}

/// f() is asked when the action runs.
template <class Factor>
Action scale_owned(Bind& bind, const Factor& factor) {
    return [&device = bind.device, shares = bind.parameters.shares(), factor](kernels::Stream stream) {
        kernels::Settings settings;
        settings.scale_factor = factor();
        for (const Share& share : shares) {
            void* const operands[]{share.gradient, share.gradient};
            device.launch(over(PointwiseKind::scale, share.range.elements()), operands, stream, settings);
        }
    };
}

/// 16-bit gradients as the optimizer takes them: times `factor`, in fp32.
Action widen_owned(Bind& bind, double factor) {
    kernels::Settings settings;
    settings.scale_factor = factor;
    const Elements& gradients = bind.parameters.gradients();
    std::vector<Action> actions;
    for (const Share& share : bind.parameters.shares())
        actions.push_back(bind.launch(Pointwise{PointwiseKind::cast, gradients.dtype, 1, share.range.elements()},
                                      {gradients.at(share.range.begin), share.gradient}, settings));
    return in_order(std::move(actions));
}

Action adam(Bind& bind, const StepNumbers& numbers) {
    return [&device = bind.device, shares = bind.parameters.shares(), copy = bind.parameters.weights().dtype,
            &numbers](kernels::Stream stream) {
        kernels::Settings settings;
        settings.adam = numbers.adam;
        for (const Share& s : shares) {
            void* const operands[]{s.gradient, s.master, s.first_moment, s.second_moment, s.weight};
            device.launch(Pointwise{PointwiseKind::adam, copy, 1, s.range.elements()}, operands, stream, settings);
        }
    };
}

Action zero_gradients(Bind& bind) {
    const Elements& gradients = bind.parameters.gradients();
    return bind.launch(Pointwise{PointwiseKind::fill, gradients.dtype, 1, bind.parameters.elements()},
                       {gradients.memory});
}

Action sum_words(Bind& bind, const StepSite& site) {
    const strategies::Plan& plan = bind.place.plan;
    const Elements& gradients = bind.parameters.gradients();
    void* const words = gradients.at(bind.parameters.offset(strategies::word_embedding));
    const std::uint64_t elements = plan.padded_vocab() / plan.strategy.tensor * plan.model.hidden;
    return bind.launch(Pointwise{PointwiseKind::add, gradients.dtype, 1, elements},
                       {words, const_cast<void*>(site.received), words});
}

Action clip(Bind& bind, const StepNumbers& numbers) {
    return scale_owned(bind, [norm = numbers.norm, most = bind.place.plan.training.grad_clip] {
        return std::min(1.0, most / (std::sqrt(static_cast<double>(*norm)) + 1e-6));  // Megatron-LM's clip_grads.py
    });
}

}  // namespace

Action bind_gradients(Bind& bind, const StepSite& site, const StepNumbers& numbers) {
    using strategies::Task;
    const strategies::Plan& plan = bind.place.plan;
    // Every micro-batch's loss is the mean over its tokens: the step's is the mean over them and the data ranks.
    const double share = 1.0 / (double{1} * plan.micro_batches() * plan.strategy.data);
    switch (site.task) {
        case Task::zero_gradients: return zero_gradients(bind);
        case Task::gather_bucket: return gather_bucket(bind, site, site.bucket);
        case Task::gather_weights: return gather_weights(bind, site, false);
        case Task::gather_expert_weights: return gather_weights(bind, site, true);
        case Task::reduce_bucket: return reduce_bucket(bind, site);
        case Task::reduce_replicated: return reduce_replicated(bind, site);
        case Task::sum_words: return sum_words(bind, site);
        case Task::scale_gradients: return scale_owned(bind, [share] { return share; });
        case Task::widen_gradients: return widen_owned(bind, share);
        case Task::sum_squares: return sum_of_squares(bind, site);
        case Task::agree_norm: return agree_on_norm(bind, site, numbers);
        case Task::clip: return clip(bind, numbers);
        case Task::update: return adam(bind, numbers);
        case Task::none:
        case Task::gather_boundary:
        case Task::exchange_words:
        case Task::gather_layer:
        case Task::scatter_bucket:
        case Task::unscale_gradients:
        case Task::agree_overflow: break;
    }
    throw Error(fmt::format("the task \"{}\" cannot be executed", name(site.task)),
                "run/gradients.cpp holds what can be");
}

}  // namespace orrery::run
