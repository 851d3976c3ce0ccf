#include "run/stage_operations.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

#include "base/error.hpp"

namespace orrery::run {

namespace {

using namespace strategies;
using kernels::Pointwise;
using kernels::PointwiseKind;

/// A kernel over one stretch of each of its operands.
struct Piece {
    std::uint64_t elements = 0;
    std::vector<void*> operands;
};

/// One piece for each stretch of the operands that have several, which are cut alike; neighbours in all of them are
/// one.
std::vector<Piece> pieces(const std::vector<std::vector<Stretch>>& operands) {
    std::vector<Piece> list;
    if (std::ranges::any_of(operands, &std::vector<Stretch>::empty)) return list;  // a rank may have nothing of it
    const std::size_t count = std::ranges::max(operands, {}, &std::vector<Stretch>::size).size();
    for (std::size_t i = 0; i < count; ++i) {
        Piece piece;
        bool follows = !list.empty();
        for (std::size_t k = 0; k < operands.size(); ++k) {
            const bool cut = operands[k].size() == count;
            const Stretch& stretch = cut ? operands[k][i] : operands[k].front();
            piece.operands.push_back(stretch.at.memory);
            if (!cut) continue;
            piece.elements = std::max(piece.elements, stretch.elements);
            follows = follows && i > 0 && operands[k][i - 1].at.at(operands[k][i - 1].elements) == stretch.at.memory;
        }
        if (follows)
            list.back().elements += piece.elements;
        else if (piece.elements > 0)
            list.push_back(std::move(piece));
    }
    return list;
}

/// The update's numbers of this step. before: updates of the program that come first.
void set_update(kernels::Settings& settings, const StepNumbers& numbers, double most_norm, int before) {
    if (numbers.live != nullptr) {
        settings.live_update = {numbers.live, most_norm};
        return;
    }
    settings.adam.step += before;
    if (most_norm > 0)
        settings.scale_factor = settings.scale_factor.value_or(1) * kernels::clipping(most_norm, *numbers.norm);
}

}  // namespace

std::vector<Stretch> StageOperations::memory(const Op& op, const StateView& view) {
    const auto own = [&](Tensor& tensor, kernels::Dtype dtype, std::uint64_t elements) {
        if (!tensor) tensor = bind_.arena.take(elements * kernels::size_of(dtype));
        return std::vector<Stretch>{{{bind_.at(tensor), dtype}, elements}};
    };
    if (view.state == State::norm) return own(norm_, kernels::Dtype::fp32, 1);
    if (view.state == State::overflow) return own(overflow_, kernels::Dtype::fp32, 1);
    if (view.state == State::received_words)
        return own(received_words_, bind_.place.gradients(), program_.state.elements(view));
    if (view.state == State::gathered) return bind_.transients.gathered(op, view);
    if (view.state == State::formed) return bind_.transients.formed(op, view.portion);
    return bind_.parameters.stretches(view);
}

/// Of one parameter alone.
void* StageOperations::of_weight(const StateView& view) {
    const auto narrow = [&] { return model_.narrow_weights().at(view.layer, view.parameter); };
    const Parameters& all = bind_.parameters;
    const auto first = [&] { return model_.offset(view.layer, view.parameter); };
    switch (view.state) {
        case State::weights: return all.at(State::weights, all.units()[all.unit_of(first())], first());
        case State::cast_weights: return narrow().as_is;
        case State::turned_weights: return narrow().turned;
        case State::weight_scales: return narrow().scale;
        case State::largest: break;
        default: throw std::logic_error("no part of one weight: " + std::string(name(view.state)));
    }
    if (!largest_) largest_ = bind_.arena.take(sizeof(float));
    return bind_.at(largest_);
}

Action StageOperations::bind_weight_cast(const kernels::Kernel& kernel, const StateDetail& detail) {
    std::vector<void*> operands;
    for (const StateView& view : detail.operands) operands.push_back(of_weight(view));
    return bind_.launch(kernel, std::move(operands), detail.settings);
}

/// A result of one number is that of all pieces.
Action StageOperations::bind_kernel(const Op& op, const Pointwise& kernel, const StateDetail& detail) {
    std::vector<std::vector<Stretch>> operands;
    for (const StateView& view : detail.operands) operands.push_back(memory(op, view));
    kernels::Settings settings = detail.settings;
    std::vector<Action> actions;
    const bool squares = kernel.kind == PointwiseKind::sum_of_squares;
    if (squares && !std::exchange(settings.accumulate, true))
        actions.push_back(bind_.launch(Pointwise{PointwiseKind::fill, kernels::Dtype::fp32, 1, 1},
                                       {operands.back().front().at.memory}));
    const bool updates = kernel.kind == PointwiseKind::adam;
    const int before = updates ? updates_++ : 0;
    actions.push_back([&device = bind_.device, &numbers = bind_.numbers, kernel, settings, most = detail.most_norm,
                       before, updates, list = pieces(operands)](kernels::Stream stream) {
        if (updates && numbers.live == nullptr && numbers.skips()) return;
        kernels::Settings now = settings;
        now.adam = numbers.adam;
        if (updates || most > 0) set_update(now, numbers, most, before);
        Pointwise part = kernel;
        part.dtype = in_memory(kernel.dtype);
        for (const Piece& piece : list) {
            part.cols = piece.elements;
            device.launch(part, piece.operands, stream, now);
        }
    });
    if (squares && settings.scale_factor) {  // of what is not scaled yet
        void* const sum = operands.back().front().at.memory;
        kernels::Settings scaling;
        scaling.scale_factor = *settings.scale_factor * *settings.scale_factor;
        actions.push_back(
            bind_.launch(Pointwise{PointwiseKind::scale, kernels::Dtype::fp32, 1, 1}, {sum, sum}, scaling));
    }
    return in_order(std::move(actions));
}

/// Where some gradient is not finite, neither is the sum of squares that is formed behind it.
Action StageOperations::bind_unscaling(const Op& op, const StateDetail& detail) {
    const std::vector<Stretch> main = memory(op, detail.operands.front());
    void* const sum = memory(op, {State::overflow}).front().at.memory;
    return [&device = bind_.device, &numbers = bind_.numbers, list = pieces({main}), sum](kernels::Stream stream) {
        device.launch(Pointwise{PointwiseKind::fill, kernels::Dtype::fp32, 1, 1}, std::vector{sum}, stream);
        kernels::Settings unscaling, squares;
        unscaling.scale_factor = 1 / numbers.loss_scale;
        if (numbers.live != nullptr) unscaling.live_factor = &numbers.live->unscale;
        squares.accumulate = true;
        for (const Piece& piece : list) {
            void* const gradients = piece.operands.front();
            const auto over = [&](PointwiseKind kind) {
                return Pointwise{kind, kernels::Dtype::fp32, 1, piece.elements};
            };
            device.launch(over(PointwiseKind::scale), std::vector{gradients, gradients}, stream, unscaling);
            device.launch(over(PointwiseKind::sum_of_squares), std::vector{gradients, sum}, stream, squares);
        }
    };
}

/// Between the device's memory and the host's, stretch by stretch.
Action StageOperations::bind_copy(const Op& op, const StateDetail& detail) {
    const std::vector<Stretch> from = memory(op, detail.operands.front()), to = memory(op, detail.operands.back());
    const auto kind = std::get<Copy>(op.what).to == Copy::To::host ? kernels::CopyKind::device_to_host
                                                                   : kernels::CopyKind::host_to_device;
    std::vector<Action> actions;
    for (std::size_t i = 0; i < from.size(); ++i)
        actions.emplace_back([&device = bind_.device, kind, to = to[i].at.memory, from = from[i].at.memory,
                              bytes = from[i].at.bytes(from[i].elements)](kernels::Stream stream) {
            device.copy(kind, to, from, bytes, stream);
        });
    return in_order(std::move(actions));
}

/// The host's Adam: gradients as they arrived are scaled and clipped on the way to fp32.
Action StageOperations::bind_host(const Op& op, const Pointwise& adam, const StateDetail& detail) {
    std::vector<std::vector<Stretch>> widening{memory(op, detail.operands.front())};
    StateView main = detail.operands.front();
    main.state = State::main_gradients;
    std::vector<std::vector<Stretch>> operands{memory(op, main)};
    widening.push_back(operands.front());
    for (std::size_t i = 1; i < detail.operands.size(); ++i) operands.push_back(memory(op, detail.operands[i]));
    const kernels::Dtype sums = bind_.place.gradients();
    const auto kind = sums == kernels::Dtype::fp32 ? PointwiseKind::scale : PointwiseKind::cast;
    return [&device = bind_.device, &numbers = bind_.numbers, kind, sums, adam,
            mean = detail.settings.scale_factor.value(), most = detail.most_norm, widened = pieces(widening),
            list = pieces(operands)](kernels::Stream stream) {
        kernels::Settings scaling, now;
        scaling.scale_factor = mean * (most > 0 ? kernels::clipping(most, *numbers.norm) : 1.0);
        for (const Piece& piece : widened)
            device.launch(Pointwise{kind, sums, 1, piece.elements}, piece.operands, stream, scaling);
        now.adam = numbers.adam;
        for (const Piece& piece : list)
            device.launch(Pointwise{adam.kind, in_memory(adam.dtype), 1, piece.elements}, piece.operands, stream, now);
    };
}

/// Packed, summed, and put back.
Action StageOperations::bind_packed(const Collective& what, Lane lane, const std::vector<Stretch>& stretches) {
    std::uint64_t count = 0;
    for (const Stretch& stretch : stretches) count += stretch.elements;
    const kernels::Dtype dtype = bind_.place.gradients();
    const Tensor taken = bind_.arena.take(count * kernels::size_of(dtype));
    const Elements packed{bind_.at(taken), dtype};
    std::vector<Action> actions, back;
    std::uint64_t at = 0;
    for (const Stretch& stretch : stretches) {
        const std::uint64_t bytes = packed.bytes(stretch.elements);
        actions.push_back(bind_.copy(packed.at(at), stretch.at.memory, bytes));
        back.push_back(bind_.copy(stretch.at.memory, packed.at(at), bytes));
        at += stretch.elements;
    }
    if (count == 0) return [](kernels::Stream) {};
    Collective whole = what;
    whole.bytes = packed.bytes(count);
    actions.push_back(bind_.collective(whole, lane, packed.memory, packed.memory, dtype));
    actions.insert(actions.end(), back.begin(), back.end());
    return in_order(std::move(actions));
}

/// Each unit's gradients to the rank that keeps them, or to all, where they are, and from there to the sums.
Action StageOperations::bind_scatter(const Collective& what, Lane lane, const std::vector<Stretch>& formed,
                                     const std::vector<Stretch>& sums) {
    std::vector<Action> actions;
    for (std::size_t i = 0; i < formed.size(); ++i) {
        const Elements &whole = formed[i].at, &sum = sums[i].at;
        const std::uint64_t share = sums[i].elements, own = bind_.place.within(what.group);
        void* const part = whole.at(share < formed[i].elements ? own * share : 0);
        Collective unit = what;
        unit.bytes = whole.bytes(formed[i].elements);
        actions.push_back(bind_.collective(unit, lane, whole.memory, part, whole.dtype));
        actions.push_back(
            bind_.launch(Pointwise{PointwiseKind::add, sum.dtype, 1, share}, {sum.memory, part, sum.memory}));
    }
    return in_order(std::move(actions));
}

Action StageOperations::bind_collective(const Op& op, const StateDetail& detail) {
    const auto& what = std::get<Collective>(op.what);
    const std::vector<Stretch> sent = memory(op, detail.operands.front()),
                               received = memory(op, detail.operands.back());
    if (detail.settings.accumulate) return bind_scatter(what, op.lane, sent, received);
    if (detail.operands.front().portion == Portion::replicated) return bind_packed(what, op.lane, sent);
    std::vector<Action> actions;
    for (std::size_t i = 0; i < sent.size(); ++i) {
        Collective part = what;
        part.bytes = sent[i].at.bytes(std::max(sent[i].elements, received[i].elements));
        actions.push_back(bind_.collective(part, op.lane, sent[i].at.memory, received[i].at.memory, sent[i].at.dtype));
    }
    const State number = detail.operands.back().state;
    if (number == State::norm || number == State::overflow) {
        actions.emplace_back([&device = bind_.device, &numbers = bind_.numbers, from = received.front().at.memory,
                              norm = number == State::norm](kernels::Stream stream) {
            device.copy(kernels::CopyKind::device_to_host, norm ? numbers.norm : numbers.overflow, from, sizeof(float),
                        stream);
            if (numbers.live != nullptr && (norm || numbers.may_skip))
                device.copy(kernels::CopyKind::device_to_device,
                            norm ? &numbers.live->sum_of_squares : &numbers.live->overflow, from, sizeof(float),
                            stream);
        });
    }
    return in_order(std::move(actions));
}

Action StageOperations::bind(const Op& op) {
    const StateDetail& detail = program_.state_details[op.state];
    if (detail.operands.empty())
        throw Error(step_.names[op.label.name] + " has no operands: it cannot be executed",
                    "run/support.cpp says what can be");
    if (detail.unscales) return bind_unscaling(op, detail);
    if (const auto* compute = std::get_if<Compute>(&op.what)) {
        const kernels::Kernel& kernel = step_.kernels[compute->kernel];
        if (detail.operands.front().parameter != StateView::all_parameters) return bind_weight_cast(kernel, detail);
        return bind_kernel(op, std::get<Pointwise>(kernel), detail);
    }
    if (const auto* host = std::get_if<HostCompute>(&op.what))
        return bind_host(op, std::get<Pointwise>(step_.kernels[host->kernel]), detail);
    if (std::holds_alternative<Copy>(op.what)) return bind_copy(op, detail);
    const auto message = [&] { return memory(op, detail.operands.front()).front().at.memory; };
    if (const auto* send = std::get_if<Send>(&op.what)) return bind_.send(*send, op.lane, message());
    if (const auto* receive = std::get_if<Recv>(&op.what)) return bind_.receive(*receive, op.lane, message());
    return bind_collective(op, detail);
}

}  // namespace orrery::run
