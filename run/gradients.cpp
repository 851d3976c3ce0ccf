#include "run/gradients.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"

namespace orrery::run {

namespace {

using kernels::Pointwise;
using kernels::PointwiseKind;
using strategies::Collective;

Pointwise over(PointwiseKind kind, std::uint64_t elements) { return {kind, kernels::Dtype::fp32, 1, elements}; }

std::vector<Range> owned(const Parameters& parameters) {
    std::vector<Range> ranges;
    for (std::uint32_t b = 0; b < parameters.buckets().size(); ++b) ranges.push_back(parameters.owned(b));
    return ranges;
}

/// The gradients of one bucket: summed over the data axis, in place, whole or this rank's share.
Action reduce_bucket(Bind& bind, const StepSite& site) {
    const Range& bucket = bind.parameters.buckets()[site.bucket];
    Collective what = *site.collective;
    what.bytes = bucket.elements() * sizeof(float);
    float* const send = bind.parameters.gradients() + bucket.begin;
    float* const receive = bind.parameters.gradients() + bind.parameters.owned(site.bucket).begin;
    return bind.collective(what, site.lane, send, receive);
}

Action gather_bucket(Bind& bind, const StepSite& site, std::uint32_t index) {
    const Range& bucket = bind.parameters.buckets()[index];
    Collective what = *site.collective;
    what.bytes = bucket.elements() * sizeof(float);
    float* const weights = bind.parameters.weights();
    return bind.collective(what, site.lane, weights + bind.parameters.owned(index).begin, weights + bucket.begin);
}

Action gather_weights(Bind& bind, const StepSite& site) {
    if (site.phase == strategies::Phase::forward) return gather_bucket(bind, site, site.bucket);
    std::vector<Action> actions;
    for (std::uint32_t b = 0; b < bind.parameters.buckets().size(); ++b)
        if (bind.parameters.buckets()[b].experts == site.experts) actions.push_back(gather_bucket(bind, site, b));
    return in_order(std::move(actions));
}

/// Packed, summed over the tensor axis, and put back.
Action reduce_replicated(Bind& bind, const StepSite& site) {
    std::uint64_t elements = 0;
    const std::vector<Range> ranges = bind.parameters.replicated();
    for (const Range& range : ranges) elements += range.elements();
    const Tensor packed = bind.arena.take(elements * sizeof(float));
    auto* const memory = static_cast<float*>(bind.at(packed));
    std::vector<Action> actions, back;
    std::uint64_t at = 0;
    for (const Range& range : ranges) {
        float* const gradient = bind.parameters.gradients() + range.begin;
        actions.push_back(bind.copy(memory + at, gradient, range.elements() * sizeof(float)));
        back.push_back(bind.copy(gradient, memory + at, range.elements() * sizeof(float)));
        at += range.elements();
    }
    Collective what = *site.collective;
    what.bytes = elements * sizeof(float);
    actions.push_back(bind.collective(what, site.lane, memory, memory));
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
                                      {bind.parameters.gradients() + range.begin, site.sum}, settings));
    return in_order(std::move(actions));
}

/// Summed over the ranks of a model, and copied to the host.
Action agree_on_norm(Bind& bind, const StepSite& site, const StepNumbers& numbers) {
    Action sum = bind.collective(*site.collective, site.lane, site.sum, site.sum);
    return [&device = bind.device, sum = std::move(sum), from = site.sum, to = numbers.norm](kernels::Stream stream) {
        sum(stream);
        device.copy(kernels::CopyKind::device_to_host, to, from, sizeof(float), stream);
    };
}

/// f() is asked when the action runs.
template <class Factor>
Action scale_owned(Bind& bind, const Factor& factor) {
    return [&device = bind.device, ranges = owned(bind.parameters), gradients = bind.parameters.gradients(),
            factor](kernels::Stream stream) {
        kernels::Settings settings;
        settings.scale_factor = factor();
        for (const Range& range : ranges) {
            void* const operands[]{gradients + range.begin, gradients + range.begin};
            device.launch(over(PointwiseKind::scale, range.elements()), operands, stream, settings);
        }
    };
}

Action adam(Bind& bind, const StepNumbers& numbers) {
    return [&device = bind.device, &p = bind.parameters, ranges = owned(bind.parameters),
            &numbers](kernels::Stream stream) {
        kernels::Settings settings;
        settings.adam = numbers.adam;
        std::uint64_t at = 0;
        for (const Range& range : ranges) {
            float* const weights = p.weights() + range.begin;
            void* const operands[]{p.gradients() + range.begin, weights, p.first_moments() + at,
                                   p.second_moments() + at, weights};
            device.launch(over(PointwiseKind::adam, range.elements()), operands, stream, settings);
            at += range.elements();
        }
    };
}

}  // namespace

Action bind_gradients(Bind& bind, const StepSite& site, const StepNumbers& numbers) {
    const strategies::Plan& plan = bind.place.plan;
    Parameters& p = bind.parameters;
    if (site.name == "zero gradients") return bind.launch(over(PointwiseKind::fill, p.elements()), {p.gradients()});
    if (site.name == "gather weights") return gather_weights(bind, site);
    if (site.name == "gradient reduction") return reduce_bucket(bind, site);
    if (site.name == "norm gradient reduction") return reduce_replicated(bind, site);
    if (site.name == "embedding gradient sum") {
        float* const words = p.gradient("embedding.words");
        const std::uint64_t elements = plan.padded_vocab() / plan.strategy.tensor * plan.model.hidden;
        return bind.launch(over(PointwiseKind::add, elements), {words, bind.at(*site.received), words});
    }
    if (site.name == "gradient scaling") {
        // Every micro-batch's loss is the mean over its tokens: the step's is the mean over them and the data ranks.
        const double share = 1.0 / (double{1} * plan.micro_batches() * plan.strategy.data);
        return scale_owned(bind, [share] { return share; });
    }
    if (site.name == "gradient norm")
        return site.collective != nullptr ? agree_on_norm(bind, site, numbers) : sum_of_squares(bind, site);
    if (site.name == "clip")
        return scale_owned(bind, [norm = numbers.norm, most = plan.training.grad_clip] {
            return std::min(1.0, most / (std::sqrt(static_cast<double>(*norm)) + 1e-6));  // Megatron-LM's clip_grads.py
        });
    if (site.name == "adam") return adam(bind, numbers);
    throw Error("operation \"" + std::string(site.name) + "\" cannot be executed",
                "run/gradients.cpp holds what can be");
}

}  // namespace orrery::run
