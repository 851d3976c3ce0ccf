#include "run/bound_program.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "run/interpreter.hpp"
#include "run/layer_tensors.hpp"
#include "run/offloaded.hpp"
#include "run/stage_operations.hpp"
#include "strategies/hazards.hpp"

namespace orrery::run {

namespace {

using namespace strategies;

/// The last operation that uses each buffer.
std::vector<std::uint32_t> last_uses(const Program& program) {
    std::vector<std::uint32_t> last(program.buffers.size(), 0);
    for (std::uint32_t i = 0; i < program.ops.size(); ++i)
        for (const auto list : {program.reads(program.ops[i]), program.writes(program.ops[i])})
            for (const BufferId id : list) last[id] = i;
    return last;
}

class Binder {
public:
    Binder(const StepProgram& step, kernels::Device& device, const Place& place, StageModel& model,
           const Groups& groups, const StepNumbers& numbers, std::byte* base, std::byte* host_base)
        : step_(step),
          program_(step.programs[step.role[place.rank]]),
          place_(place),
          arena_(base),
          host_arena_(host_base),
          offloaded_(host_arena_),
          transients_(program_, model.parameters(), arena_),
          bind_{device, place, model.parameters(), groups, arena_, transients_, numbers},
          interpreter_(step, bind_, model),
          model_(model),
          between_(model.model()),
          stage_(step, program_, model, bind_),
          hazards_(program_),
          last_use_(last_uses(program_)) {
        for (const Program& block : step.blocks) block_hazards_.emplace_back(block);
    }

    BoundProgram bind() &&;

private:
    void bind_call(std::uint32_t index, const Op& op, const Call& call);
    std::vector<Action> zero_formed(const Op& call);
    Action bind_step_op(const Op& op);
    Action bind_message(const Op& op);
    Action bind_copy(const Op& op);
    [[nodiscard]] bool updates(const Op& op) const;
    Action gather_boundary(const Op& op, const Collective& collective);
    Item& begin_item(const Op& op, std::uint32_t index, std::int32_t inner);
    void end_item(Item& item);

    const StepProgram& step_;
    const Program& program_;
    const Place& place_;
    Arena arena_, host_arena_;
    Offloaded offloaded_;
    Transients transients_;
    Bind bind_;
    Interpreter interpreter_;
    const StageModel& model_;
    LayerTensors between_;
    StageOperations stage_;
    Hazards hazards_;
    std::vector<Hazards> block_hazards_;
    std::vector<std::uint32_t> last_use_;
    std::map<BufferId, Tensor> boundary_;     ///< tensors between stages, by the program's buffer
    std::vector<std::uint32_t> last_item_;    ///< operation -> its last item
    std::optional<std::uint32_t> last_host_;  ///< the last item in which the host waits
    BoundProgram bound_;
};

Item& Binder::begin_item(const Op& op, std::uint32_t index, std::int32_t inner) {
    for (Arena* arena : {&arena_, &host_arena_}) arena->begin(static_cast<std::uint32_t>(bound_.items.size()), op.lane);
    Item& item = bound_.items.emplace_back();
    item.lane = op.lane;
    item.label = op.label;
    item.op = index;
    item.inner = inner;
    return item;
}

void Binder::end_item(Item& item) {
    for (const Arena* arena : {&arena_, &host_arena_})
        item.waits.insert(item.waits.end(), arena->waits().begin(), arena->waits().end());
    std::sort(item.waits.begin(), item.waits.end());
    item.waits.erase(std::unique(item.waits.begin(), item.waits.end()), item.waits.end());
}

void Binder::bind_call(std::uint32_t index, const Op& op, const Call& call) {
    const Program& block = step_.blocks[call.block];
    const LayerCall layer{call.block, op.label.layer, op.label.micro_batch};
    const bool forward = op.label.phase == Phase::forward;
    const std::uint32_t node = model_.node(op.label.layer);
    Taken taken = forward ? between_.taken_forward(node) : between_.taken_backward(node);
    for (const BufferId id : program_.reads(op))
        if (const auto found = boundary_.find(id); found != boundary_.end()) taken.first = found->second;
    for (const BufferId id : program_.reads(op))
        if (last_use_[id] == index) boundary_.erase(id);
    interpreter_.enter(layer, std::exchange(taken, {}));
    const auto base = static_cast<std::uint32_t>(bound_.items.size());
    std::vector<Action> zeros;
    for (std::uint32_t inner = 0; inner < block.ops.size(); ++inner) {
        Item& item = begin_item(block.ops[inner], index, static_cast<std::int32_t>(inner));
        item.label.micro_batch = op.label.micro_batch;
        item.label.layer = op.label.layer;
        for (const std::uint32_t other : block_hazards_[call.block].of(inner)) item.waits.push_back(base + other);
        if (inner == 0)
            for (const std::uint32_t other : hazards_.of(index)) item.waits.push_back(last_item_[other]);
        if (inner == 0) zeros = zero_formed(op);
        item.action = interpreter_.bind(layer, inner);
        if (inner == 0 && !zeros.empty()) {
            zeros.push_back(std::move(item.action));
            item.action = in_order(std::move(zeros));
        }
        end_item(item);
    }
    forward ? between_.left_forward(node, interpreter_.leave(layer))
            : between_.left_backward(node, interpreter_.leave(layer));
    for (const BufferId id : program_.writes(op))
        if (program_.buffers[id].keep == Keep::scratch && program_.buffers[id].bytes > 0)
            boundary_[id] = forward ? between_.output(node) : between_.input_gradient(node);
}

/// Gradients that ranks keep shares of are formed in memory of their own.
std::vector<Action> Binder::zero_formed(const Op& call) {
    std::vector<Action> actions;
    for (const Stretch& stretch : transients_.enter(call))
        actions.push_back(
            bind_.launch(kernels::Pointwise{kernels::PointwiseKind::fill, stretch.at.dtype, 1, stretch.elements},
                         {stretch.at.memory}));
    return actions;
}

/// A boundary tensor; of one that is sent all of it, or this rank's share of the rows.
Action Binder::bind_message(const Op& op) {
    if (const auto* receive = std::get_if<Recv>(&op.what)) {
        const Tensor memory = boundary_[program_.writes(op).front()] = arena_.take(receive->bytes);
        return bind_.receive(*receive, op.lane, bind_.at(memory));
    }
    const auto& send = std::get<Send>(op.what);
    const std::uint64_t whole =
        place_.residual_tokens() * place_.plan.model.hidden * kernels::size_of(place_.activations());
    const std::byte* memory = arena_.at(boundary_.at(program_.reads(op).front()));
    if (memory != nullptr && send.bytes < whole) memory += place_.tensor() * send.bytes;
    return bind_.send(send, op.lane, memory);
}

Action Binder::gather_boundary(const Op& op, const Collective& collective) {
    const Tensor part = boundary_.at(program_.reads(op).front()), whole = arena_.take(collective.bytes);
    boundary_[program_.writes(op).front()] = whole;
    return bind_.collective(collective, op.lane, bind_.at(part), bind_.at(whole), place_.activations());
}

Action Binder::bind_copy(const Op& op) {
    const auto to_host = std::get<Copy>(op.what).to == Copy::To::host;
    if (!to_host) return offloaded_.back(bind_, program_.reads(op).back());
    return offloaded_.out(bind_, interpreter_.kept(op.label.layer, op.label.micro_batch), program_.reads(op).front(),
                          program_.writes(op).front());
}

bool Binder::updates(const Op& op) const {
    const auto* compute = std::get_if<Compute>(&op.what);
    const auto* kernel =
        compute == nullptr ? nullptr : std::get_if<kernels::Pointwise>(&step_.kernels[compute->kernel]);
    return kernel != nullptr && kernel->kind == kernels::PointwiseKind::adam;
}

Action Binder::bind_step_op(const Op& op) {
    if (op.state != no_state) {
        if (updates(op)) bound_.updates.push_back(static_cast<std::uint32_t>(bound_.items.size() - 1));
        return stage_.bind(op);
    }
    if (std::holds_alternative<Copy>(op.what)) return bind_copy(op);
    if (const auto* collective = std::get_if<Collective>(&op.what)) return gather_boundary(op, *collective);
    return bind_message(op);
}

BoundProgram Binder::bind() && {
    for (std::uint32_t i = 0; i < program_.ops.size(); ++i) {
        const Op& op = program_.ops[i];
        if (const auto* call = std::get_if<Call>(&op.what)) {
            bind_call(i, op, *call);
        } else {
            Item& item = begin_item(op, i, -1);
            for (const std::uint32_t other : hazards_.of(i)) item.waits.push_back(last_item_[other]);
            item.host = std::holds_alternative<HostSync>(op.what);
            // What the host computes it begins behind what it has waited for.
            if (std::holds_alternative<HostCompute>(op.what) && last_host_) item.waits.push_back(*last_host_);
            if (item.host) last_host_ = static_cast<std::uint32_t>(bound_.items.size() - 1);
            if (!item.host) item.action = bind_step_op(op);
            end_item(item);
        }
        for (const auto list : {program_.reads(op), program_.writes(op)})
            for (const BufferId id : list)
                if (last_use_[id] == i) {
                    boundary_.erase(id);
                    offloaded_.gone(id);
                    transients_.gone(id);
                }
        last_item_.push_back(static_cast<std::uint32_t>(bound_.items.size() - 1));
    }
    bound_.peak_bytes = arena_.peak();
    bound_.extent_bytes = arena_.extent();
    bound_.host_peak_bytes = host_arena_.peak();
    bound_.host_extent_bytes = host_arena_.extent();
    return std::move(bound_);
}

}  // namespace

BoundProgram bind_program(const StepProgram& step, kernels::Device& device, const Place& place, StageModel& model,
                          const Groups& groups, const StepNumbers& numbers, std::byte* base, std::byte* host_base) {
    return Binder(step, device, place, model, groups, numbers, base, host_base).bind();
}

}  // namespace orrery::run
