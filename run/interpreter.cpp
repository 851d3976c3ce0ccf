#include "run/interpreter.hpp"

#include <algorithm>
#include <set>
#include <stdexcept>
#include <utility>

#include "base/error.hpp"
#include "run/dropouts.hpp"
#include "strategies/shared_sequences.hpp"

namespace orrery::run {

namespace {

using namespace strategies;
using kernels::Kernel;
using kernels::Pointwise;

/// The dtype in which numbers of a format lie in memory, or one of as many bytes.
kernels::Dtype dtype_of(kernels::Format format) {
    if (format == kernels::Format::mask || format == kernels::Format::fp8_e5m2) return kernels::Dtype::fp8;
    return format == kernels::Format::int32 ? kernels::Dtype::fp32 : static_cast<kernels::Dtype>(format);
}

/// Columns of the rank's part of the vocabulary that stand for a class.
std::uint64_t real_classes(const Place& place) {
    const std::uint64_t columns = place.plan.padded_vocab() / place.plan.strategy.tensor;
    const std::uint64_t before = place.tensor() * columns, vocab = place.plan.model.vocab;
    return vocab > before ? std::min(columns, vocab - before) : 0;
}

/// What a backward runs again and so need not find: tensors that it first touches by writing them so.
std::vector<ValueId> formed_again(const Program& block, const std::vector<std::vector<Touched>>& touched) {
    std::set<ValueId> known;
    std::vector<ValueId> formed;
    for (std::size_t i = 0; i < block.ops.size(); ++i)
        for (const Touched& each : touched[i])
            if (known.insert(each.view.value).second && !each.reads && each.writes &&
                block.ops[i].label.phase == Phase::recompute)
                formed.push_back(each.view.value);
    return formed;
}

}  // namespace

Interpreter::Interpreter(const StepProgram& step, Bind& bind, const StageModel& model)
    : step_(step), bind_(bind), model_(model), needs_(step.blocks.size()) {
    std::vector<std::vector<std::uint32_t>> layers(step.flows.size());
    for (std::uint32_t b = 0; b < step.blocks.size(); ++b) layers[step.blocks[b].flow].push_back(b);
    for (const auto& blocks : layers) find_needs(blocks);
}

/// From the last block of a layer to its forward.
void Interpreter::find_needs(const std::vector<std::uint32_t>& blocks) {
    if (blocks.empty() || !step_.flows[step_.blocks[blocks.front()].flow].complete) return;
    const std::size_t values = step_.flows[step_.blocks[blocks.front()].flow].values.size();
    std::vector<bool> later(values, false);
    for (std::size_t part = blocks.size(); part-- > 0;) {
        const Program& block = step_.blocks[blocks[part]];
        Needs& needs = needs_[blocks[part]];
        needs.begins = part == 0;
        needs.ends = part + 1 == blocks.size();
        needs.later = later;
        needs.last.assign(values, 0);
        for (std::uint32_t i = 0; i < block.ops.size(); ++i) {
            needs.touched.push_back(touched(step_, block.ops[i], block.details[i]));
            for (const Touched& each : needs.touched.back()) needs.last[each.view.value] = i;
        }
        for (const ValueId id : formed_again(block, needs.touched)) later[id] = false;
        for (const ValueId id : carried(step_, block)) later[id] = true;
    }
    find_ends(blocks);
}

/// The first part of a forward takes the layer's input and its last leaves the output; likewise the gradients.
void Interpreter::find_ends(const std::vector<std::uint32_t>& blocks) {
    const LayerFlow& flow = step_.flows[step_.blocks[blocks.front()].flow];
    const auto forwards = static_cast<std::size_t>(
        std::ranges::count_if(blocks, [&](std::uint32_t block) { return step_.blocks[block].is_forward(); }));
    needs_[blocks.front()].takes = {flow.input, flow.second_input, no_value, no_value};
    needs_[blocks[forwards - 1]].leaves[0] = flow.output;
    if (forwards < blocks.size())
        needs_[blocks[forwards]].takes = {flow.output_gradient, no_value, flow.gradient_before,
                                          flow.second_gradient_before};
    for (std::size_t part = forwards; part < blocks.size(); ++part) {
        if (forms(blocks[part], flow.input_gradient)) needs_[blocks[part]].leaves[0] = flow.input_gradient;
        if (forms(blocks[part], flow.second_gradient)) needs_[blocks[part]].leaves[1] = flow.second_gradient;
    }
}

bool Interpreter::forms(std::uint32_t block, ValueId gradient) const {
    return std::ranges::any_of(needs_[block].touched, [&](const auto& of_op) {
        return std::ranges::any_of(of_op,
                                   [&](const Touched& each) { return each.writes && each.view.value == gradient; });
    });
}

void Interpreter::enter(const LayerCall& call, const Taken& taken) {
    const LayerFlow& flow = flow_of(call);
    if (!flow.complete)
        throw Error(step_.blocks[call.block].name + " holds operations without operands: it cannot be executed",
                    "run/support.cpp says what can be");
    const Needs& needs = needs_[call.block];
    if (needs.begins) tensors_[{call.layer, call.micro_batch}].resize(flow.values.size());
    const std::array<Tensor, 4> lies{taken.first, taken.second, taken.before, taken.second_before};
    for (std::size_t i = 0; i < lies.size(); ++i) {
        if (needs.takes[i] != no_value)
            tensors_of(call)[needs.takes[i]] = lies[i];
        else if (i >= 2 && lies[i])
            throw std::logic_error(step_.blocks[call.block].name + " does not add to a gradient that there is");
    }
}

Left Interpreter::leave(const LayerCall& call) {
    const Needs& needs = needs_[call.block];
    Tensors& tensors = tensors_of(call);
    const auto left_of = [&](ValueId id) { return id == no_value ? nullptr : tensors[id]; };
    Left left{left_of(needs.leaves[0]), left_of(needs.leaves[1])};
    for (ValueId id = 0; id < tensors.size(); ++id)
        if (!needs.later[id]) tensors[id].reset();
    if (needs.ends) tensors_.erase({call.layer, call.micro_batch});
    return left;
}

std::vector<Tensor*> Interpreter::kept(std::int32_t layer, std::int32_t micro_batch) {
    std::vector<Tensor*> all;
    for (Tensor& tensor : tensors_.at({layer, micro_batch})) all.push_back(&tensor);
    return all;
}

/// From the view's first element on.
Elements Interpreter::elements(const LayerCall& call, const View& view) {
    const Value& value = flow_of(call).values[view.value];
    const kernels::Dtype dtype = dtype_of(value.format);
    Elements whole{nullptr, dtype};
    switch (value.role) {
        case Role::weight: whole.memory = bind_.transients.weight(model_.offset(call.layer, value.of)); break;
        case Role::weight_gradient:
            whole.memory = bind_.transients.gradient(model_.offset(call.layer, value.of));
            break;
        case Role::cast_weight: whole.memory = narrow_weight(call, value).as_is; break;
        case Role::turned_weight: whole.memory = narrow_weight(call, value).turned; break;
        case Role::weight_scale: whole.memory = narrow_weight(call, value).scale; break;
        case Role::table: whole.memory = model_.data().at(static_cast<Table>(value.of), call.micro_batch); break;
        case Role::activation:
        case Role::gradient: {
            Tensor& tensor = tensors_of(call)[view.value];
            if (!tensor) tensor = bind_.arena.take(value.elements * kernels::size_of(value.format));
            whole.memory = bind_.at(tensor);
        }
    }
    return {whole.at(view.offset), dtype};
}

kernels::Settings Interpreter::settings(const LayerCall& call, const Launch& launch) {
    kernels::Settings settings = launch.settings;
    const auto at = [&](const View& view) { return view.given() ? elements(call, view).memory : nullptr; };
    if (!launch.first_bias || bind_.place.tensor() == 0) settings.bias = at(launch.bias);
    settings.experts = static_cast<const std::int32_t*>(at(launch.experts));
    settings.unpermuted = {at(launch.unpermuted), static_cast<const float*>(at(launch.unpermuted_weight)),
                           static_cast<float*>(at(launch.unpermuted_dweight))};
    settings.position_bias = {at(launch.position_bias), at(launch.position_gradient)};
    if (launch.real_classes) settings.classes = real_classes(bind_.place);
    return settings;
}

/// Each part takes what follows in every operand.
Action Interpreter::bind_parts(const LayerCall& call, const Kernel& part, const Detail& detail) {
    const std::vector<kernels::Operand> shapes = contract(part, detail.launch);
    const kernels::Settings given = settings(call, detail.launch);
    std::vector<Action> actions;
    for (std::uint32_t p = 0; p < detail.launch.parts; ++p) {
        std::vector<void*> operands;
        for (std::size_t i = 0; i < shapes.size(); ++i)
            operands.push_back(elements(call, detail.operands[i]).at(p * shapes[i].elements));
        actions.push_back(bind_.launch(part, std::move(operands), given));
    }
    return in_order(std::move(actions));
}

/// One launch for each run of consecutive positions among the rank's rows.
Action Interpreter::bind_by_position(const LayerCall& call, const Pointwise& whole, const Detail& detail) {
    const Place& place = bind_.place;
    const kernels::Settings given = settings(call, detail.launch);
    const models::Sequence of = detail.launch.sequence;
    const std::uint64_t seq = place.plan.rank_seq(of), run_length = seq / (place.plan.strategy.context > 1 ? 2 : 1);
    const std::uint64_t first = place.first_residual_token(of);
    std::vector<Action> actions;
    for (std::uint64_t row = 0; row < whole.rows;) {
        const std::uint64_t token = (first + row) % seq, position = place.position_of(token);
        const std::uint64_t count = std::min(run_length - token % run_length, whole.rows - row);
        std::vector<void*> operands;
        for (const View& view : detail.operands) {
            const Role role = flow_of(call).values[view.value].role;
            const bool of_positions = role == Role::weight || role == Role::weight_gradient;
            operands.push_back(elements(call, view).at((of_positions ? position : row) * whole.cols));
        }
        Pointwise run = whole;
        run.rows = count;
        run.dtype = in_memory(whole.dtype);
        actions.push_back(bind_.launch(run, std::move(operands), given));
        row += count;
    }
    return in_order(std::move(actions));
}

/// The result in fp32 first.
Action Interpreter::bind_narrowed(const LayerCall& call, const Pointwise& kernel, const Detail& detail) {
    std::vector<void*> operands;
    for (const View& view : detail.operands) operands.push_back(elements(call, view).memory);
    const std::uint64_t count = contract(kernel, detail.launch).back().elements;
    const Tensor wide = bind_.arena.take(count * sizeof(float));
    void* const narrow = std::exchange(operands.back(), bind_.at(wide));
    const kernels::Dtype dtype = elements(call, detail.operands.back()).dtype;
    kernels::Settings rounding;
    rounding.result = dtype;
    const Pointwise cast{kernels::PointwiseKind::cast, dtype, kernel.rows, kernel.cols};
    return in_order({bind_.launch(kernel, std::move(operands), settings(call, detail.launch)),
                     bind_.launch(cast, {bind_.at(wide), narrow}, rounding)});
}

/// A launch for each part of the mask, of the step at which it runs.
Action Interpreter::bind_dropout(const LayerCall& call, const Kernel& kernel, const Detail& detail) {
    struct Part {
        Kernel kernel;
        std::vector<void*> operands;
        kernels::Settings settings;
    };
    const DropoutCall met{detail.launch.dropout, call.layer, static_cast<std::uint32_t>(call.micro_batch)};
    const std::vector<kernels::Operand> shapes = contract(kernel, detail.launch);
    std::vector<Part> parts;
    for (const DroppedRows& rows : dropped_rows(bind_.place, met, kernel, bind_.numbers.seed)) {
        Part& part = parts.emplace_back(Part{kernel, {}, settings(call, detail.launch)});
        part.settings.dropout = rows.mask;
        std::uint64_t before = 0;
        if (auto* pointwise = std::get_if<Pointwise>(&part.kernel)) {
            pointwise->rows = rows.rows;
            before = rows.first * pointwise->cols;
        }
        for (std::size_t i = 0; i < shapes.size(); ++i)
            part.operands.push_back(elements(call, detail.operands[i]).at(shapes[i].name == "bias" ? 0 : before));
    }
    return [&device = bind_.device, &numbers = bind_.numbers, parts = std::move(parts)](kernels::Stream stream) {
        for (const Part& part : parts) {
            kernels::Settings now = part.settings;
            if (numbers.live != nullptr)
                now.dropout->live_step = &numbers.live->step;
            else
                now.dropout->step += static_cast<std::uint32_t>(numbers.step);
            device.launch(part.kernel, part.operands, stream, now);
        }
    };
}

Action Interpreter::bind_kernel(const LayerCall& call, const Kernel& kernel, const Detail& detail) {
    const Launch& launch = detail.launch;
    if (launch.dropout.of != DropoutSite::Of::nothing) return bind_dropout(call, kernel, detail);
    if (launch.parts > 1) return bind_parts(call, kernel, detail);
    if (launch.by_position) return bind_by_position(call, std::get<Pointwise>(kernel), detail);
    if (launch.narrowed) return bind_narrowed(call, std::get<Pointwise>(kernel), detail);
    if (launch.shared.step != SharedSequences::Step::none) return bind_shared(call, kernel, detail);
    std::vector<void*> operands;
    for (const View& view : detail.operands) operands.push_back(elements(call, view).memory);
    const kernels::Settings given = settings(call, launch);
    if (!launch.loss_scaled) return bind_.launch(kernel, std::move(operands), given);
    return [&device = bind_.device, &numbers = bind_.numbers, kernel, operands = std::move(operands),
            now = given](kernels::Stream stream) mutable {
        now.scale_factor = numbers.loss_scale;  // as it is at this step
        if (numbers.live != nullptr) now.live_factor = &numbers.live->loss_scale;
        device.launch(kernel, operands, stream, now);
    };
}

Action Interpreter::Addresses::around(Action work) {
    if (before.empty() && behind.empty()) return work;
    before.push_back(std::move(work));
    before.insert(before.end(), behind.begin(), behind.end());
    return in_order(std::move(before));
}

void Interpreter::add(Addresses& to, const LayerCall& call, const View& view, std::uint64_t count, bool reads,
                      bool writes) {
    const Elements lies = elements(call, view);
    if (view.columns == 0) {
        to.operands.push_back(lies);
        return;
    }
    const Elements packed{bind_.at(to.packed.emplace_back(bind_.arena.take(lies.bytes(count)))), lies.dtype};
    to.operands.push_back(packed);
    const std::uint64_t row = lies.bytes(view.columns), stride = lies.bytes(view.stride), rows = count / view.columns;
    const auto copy = [&](void* into, std::uint64_t into_stride, const void* from, std::uint64_t from_stride) {
        return [&device = bind_.device, into, into_stride, from, from_stride, row, rows](kernels::Stream stream) {
            device.copy_rows(into, into_stride, from, from_stride, row, rows, stream);
        };
    };
    if (reads) to.before.emplace_back(copy(packed.memory, row, lies.memory, stride));
    if (writes) to.behind.emplace_back(copy(lies.memory, stride, packed.memory, row));
}

Interpreter::Addresses Interpreter::addresses(const LayerCall& call, const Kernel& kernel, const Detail& detail) {
    const std::vector<kernels::Operand> shapes = contract(kernel, detail.launch);
    Addresses all;
    for (std::size_t i = 0; i < shapes.size(); ++i) {
        add(all, call, detail.operands[i], shapes[i].elements, shapes[i].role != kernels::Role::out,
            shapes[i].role != kernels::Role::in);
        if ((detail.launch.zeroed >> i & 1U) == 0) continue;
        const Elements& zeros = all.operands.back();
        all.before.push_back(
            bind_.launch(Pointwise{kernels::PointwiseKind::fill, zeros.dtype, 1, shapes[i].elements}, {zeros.memory}));
    }
    return all;
}

/// Over the rows that the rank's place among the context ranks says.
Action Interpreter::bind_shared(const LayerCall& call, const Kernel& kernel, const Detail& detail) {
    const Launch& launch = detail.launch;
    Addresses all = addresses(call, over_all_rows(kernel, launch.shared), detail);
    if (launch.begins.given()) {
        const Elements from = elements(call, launch.begins);
        const std::uint64_t count = flow_of(call).values[launch.begins.value].elements;
        all.before.push_back(bind_.copy(all.operands.back().memory, from.memory, from.bytes(count)));
    }
    const kernels::Settings given = settings(call, launch);
    std::vector<Action> actions;
    for (const SharedLaunch& each : shared_launches(kernel, launch, bind_.place.ring())) {
        std::vector<void*> operands;
        for (std::size_t i = 0; i < all.operands.size(); ++i) operands.push_back(all.operands[i].at(each.offsets[i]));
        actions.push_back(bind_.launch(each.kernel, std::move(operands), given));
    }
    return all.around(in_order(std::move(actions)));
}

Action Interpreter::bind_collective(const LayerCall& call, const Op& op, const Detail& detail) {
    const auto& what = std::get<Collective>(op.what);
    const View &sent = detail.operands.front(), &received = detail.operands.back();
    const std::uint32_t size = kernels::size_of(flow_of(call).values[sent.value].format);
    const std::uint64_t all = what.bytes / size, part = all / step_.mesh.group_size(what.group);
    Addresses ends;
    add(ends, call, sent, what.kind == kernels::CollectiveKind::all_gather ? part : all, true, false);
    add(ends, call, received, what.kind == kernels::CollectiveKind::reduce_scatter ? part : all, false, true);
    return ends.around(bind_.collective(what, op.lane, ends.operands.front().memory, ends.operands.back().memory,
                                        ends.operands.front().dtype, detail.launch.reduction));
}

Action Interpreter::bind_operation(const LayerCall& call, const Op& op, const Detail& detail) {
    const auto* compute = std::get_if<Compute>(&op.what);
    if (compute == nullptr) return bind_collective(call, op, detail);
    const Kernel& priced = step_.kernels[compute->kernel];
    Action action = bind_kernel(call, launched(priced, detail.launch), detail);
    if (detail.also.empty()) return action;
    std::vector<Action> all{std::move(action)};
    for (const Detail& more : detail.also) all.push_back(bind_kernel(call, launched(priced, more.launch), more));
    return in_order(std::move(all));
}

/// A gradient that an operation adds to and that no other layer has left any of begins as zeros.
std::vector<Action> Interpreter::zero_before(const LayerCall& call, std::uint32_t op) {
    const LayerFlow& flow = flow_of(call);
    std::vector<Action> zeros;
    for (const Touched& each : needs_[call.block].touched[op]) {
        const ValueId id = each.view.value;
        if ((id != flow.gradient_before && id != flow.second_gradient_before) || tensors_of(call)[id]) continue;
        const Elements all = elements(call, {id});
        zeros.push_back(bind_.launch(Pointwise{kernels::PointwiseKind::fill, all.dtype, 1, flow.values[id].elements},
                                     {all.memory}));
    }
    return zeros;
}

Action Interpreter::bind(const LayerCall& call, std::uint32_t index) {
    const Program& block = step_.blocks[call.block];
    std::vector<Action> all = zero_before(call, index);
    all.push_back(bind_operation(call, block.ops[index], block.details[index]));
    const Needs& needs = needs_[call.block];
    Tensors& tensors = tensors_of(call);
    for (const Touched& each : needs.touched[index]) {
        const ValueId id = each.view.value;
        const bool left = std::ranges::find(needs.leaves, id) != needs.leaves.end();
        if (needs.last[id] == index && !needs.later[id] && !left) tensors[id].reset();
    }
    return all.size() == 1 ? std::move(all.front()) : in_order(std::move(all));
}

}  // namespace orrery::run
