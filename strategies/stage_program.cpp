#include "strategies/stage_program.hpp"

#include "strategies/batch_input.hpp"
#include "strategies/boundary.hpp"
#include "strategies/gradient_sync.hpp"
#include "strategies/offload.hpp"
#include "strategies/optimizer_offload.hpp"
#include "strategies/optimizer_phase.hpp"
#include "strategies/ownership.hpp"
#include "strategies/rounds.hpp"
#include "strategies/schedule/schedule.hpp"
#include "strategies/state_bytes.hpp"
#include "strategies/weight_gathers.hpp"

namespace orrery::strategies {

namespace {

class StageWriter {
public:
    StageWriter(const Plan& plan, const ModelBlocks& blocks, const Stage& stage, Intern& intern, std::uint32_t left_out)
        : plan_(plan),
          left_out_(left_out),
          blocks_(blocks),
          stage_(stage),
          intern_(intern),
          builder_("stage " + std::to_string(stage.index)),
          boundary_(plan, stage.index, builder_, intern),
          offload_(plan, stage, builder_, intern),
          schedule_(schedule_of(plan.strategy.schedule)),
          slots_(schedule_.slots(plan.pipeline_shape(), stage.index)),
          gradients_(plan, stage, slots_, builder_, intern),
          weights_(plan, stage, slots_, gradients_.buckets(), builder_, intern),
          host_(plan, owned_parameters(plan, stage), gradients_.buckets(), builder_, intern) {}

    Program write() && {
        lasting_buffers();
        builder_.stage_state(stage_state(plan_, blocks_, stage_, gradients_.buckets()));
        gradients_.begin();
        weights_.begin();
        micro_batches();
        Program program = std::move(builder_).finish();
        if (left_out_ > 0) program.rounds = steady_rounds(program, {slots_, begins_}, slots_of_round(), left_out_);
        return program;
    }

private:
    /// What one layer keeps of one micro-batch. Where the backward is in two parts, what weight gradients need lies
    /// apart, because it stays longer.
    struct Saved {
        BufferId all = 0;  ///< or the rest of it
        BufferId for_weights = 0, output_gradient = 0;
    };
    [[nodiscard]] std::size_t number(const Slot& slot) const { return static_cast<std::size_t>(&slot - slots_.data()); }

    [[nodiscard]] std::uint32_t slots_of_round() const {
        const PipelineShape shape = plan_.pipeline_shape();
        const std::uint32_t works = schedule_.round(shape) * shape.chunks * (schedule_.splits_backward ? 3 : 2);
        return works + (schedule_.asynchronous ? 1 : 0);  // a round is a step, with its update
    }

    void lasting_buffers();
    void micro_batches();
    [[nodiscard]] const Slot* following(const Slot& slot) const {
        return &slot == &slots_.back() ? nullptr : &slot + 1;
    }
    void run(const Slot& slot);
    void forward(const Slot& slot);
    void backward(const Slot& slot);
    void weight_gradient(const Slot& slot);
    void call_with_wait(std::uint32_t to_wait, std::uint32_t block, const Label& label,
                        const std::vector<BufferId>& reads, std::vector<BufferId> kept,
                        const std::vector<BufferId>& writes);
    void hand_on(const Slot& slot, std::vector<BufferId>& writes);
    void post_receives(std::size_t from, std::size_t to);
    std::vector<BufferId> send_outputs(std::size_t from, std::size_t to);
    void update();

    const Plan& plan_;
    std::uint32_t left_out_;
    const ModelBlocks& blocks_;
    const Stage& stage_;
    Intern& intern_;
    Builder builder_;
    Boundary boundary_;
    Offload offload_;
    const Schedule& schedule_;
    std::vector<Slot> slots_;
    std::vector<std::uint32_t> begins_;  // of each slot: its first operation
    GradientSync gradients_;
    WeightGathers weights_;
    OptimizerOffload host_;
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<Saved>> saved_;  // (chunk, micro-batch)
    std::map<std::size_t, BufferId> outputs_;                                      // slot -> boundary tensor it made
    std::vector<BufferId> received_;                                               // by the exchange at hand
};

void StageWriter::lasting_buffers() {
    const StateBytes state = state_bytes(plan_.training.precision);
    const Mesh mesh = plan_.mesh();
    std::uint64_t weights = 0, states = 0;
    for (const bool experts : {false, true}) {
        const Ownership of = ownership(plan_, class_of_bucket(experts));
        weights += share(mesh, of, of.weights, stage_.parameters_of(experts) * state.weight);
        states += share(mesh, of, of.states, stage_.parameters_of(experts) * state.optimizer);
    }
    const Ownership dense = ownership(plan_, ParameterClass::dense);
    weights += share(mesh, dense, dense.weights, stage_.frozen_parameters * state.weight);
    Lifetime versions = usual_lifetime(Keep::weight);
    versions.versions = static_cast<std::uint16_t>(schedule_.versions(plan_.pipeline_shape(), stage_.index));
    builder_.buffer(weights, Keep::weight, versions);
    builder_.buffer(states - offloaded(plan_, states), Keep::optimizer);
    host_.lasting_buffers();
}

/// Slots between two exchanges run back to back; at an exchange their outputs leave and the next slots' inputs arrive.
/// Without overlap_p2p the host waits for all of it, as Megatron-LM does; with it the next window's receives are
/// already posted and only the kernels that need a tensor wait for it.
void StageWriter::micro_batches() {
    const bool overlap = plan_.strategy.overlap_p2p || schedule_.overlaps_p2p;
    std::vector<std::size_t> ends;  // one past the last slot of each window
    for (std::size_t i = 0; i < slots_.size(); ++i)
        if (slots_[i].exchange) ends.push_back(i + 1);
    const auto begin = [&](std::size_t window) { return window == 0 ? 0 : ends[window - 1]; };
    post_receives(0, ends[0]);
    for (std::size_t w = 0; w < ends.size(); ++w) {
        const bool more = w + 1 < ends.size();
        received_.clear();
        begins_.push_back(builder_.size());
        if (overlap && more) post_receives(ends[w], ends[w + 1]);
        for (std::size_t i = begin(w); i < ends[w]; ++i) {
            if (i > begin(w)) begins_.push_back(builder_.size());
            run(slots_[i]);
            if (overlap) send_outputs(i, i + 1);
        }
        if (overlap) continue;
        std::vector<BufferId> waits = send_outputs(begin(w), ends[w]);
        received_.clear();
        if (more) post_receives(ends[w], ends[w + 1]);
        waits.insert(waits.end(), received_.begin(), received_.end());
        if (waits.empty()) continue;
        const Phase phase = slots_[ends[w] - 1].work == SlotWork::forward ? Phase::forward : Phase::backward;
        builder_.emit(Lane::compute, intern_.label("boundary exchange", phase), What{HostSync{}}, waits,
                      std::span<const BufferId>{});
    }
}

void StageWriter::run(const Slot& slot) {
    switch (slot.work) {
        case SlotWork::forward: return forward(slot);
        case SlotWork::backward:
        case SlotWork::input_gradient: return backward(slot);
        case SlotWork::weight_gradient: return weight_gradient(slot);
        case SlotWork::update:
            update();
            if (following(slot) != nullptr) gradients_.begin_step();
            return;
    }
}

void StageWriter::post_receives(std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < to; ++i)
        if (boundary_.receives(slots_[i])) received_.push_back(boundary_.post_receive(slots_[i]));
}

std::vector<BufferId> StageWriter::send_outputs(std::size_t from, std::size_t to) {
    std::vector<BufferId> tokens;
    for (std::size_t i = from; i < to; ++i)
        if (boundary_.sends(slots_[i])) tokens.push_back(boundary_.send(slots_[i], outputs_.extract(i).mapped()));
    return tokens;
}

/// The last call of a slot writes what the next stage, or another chunk of this one, takes.
void StageWriter::hand_on(const Slot& slot, std::vector<BufferId>& writes) {
    if (boundary_.sends(slot)) writes.push_back(outputs_[number(slot)] = boundary_.output());
    if (boundary_.hands_over(slot)) writes.push_back(boundary_.output_here(slot));
}

/// A layer whose host waits inside it is called in two parts. kept: what is left for those that come later, to which
/// both add.
void StageWriter::call_with_wait(std::uint32_t to_wait, std::uint32_t block, const Label& label,
                                 const std::vector<BufferId>& reads, std::vector<BufferId> kept,
                                 const std::vector<BufferId>& writes) {
    std::vector<BufferId> left = kept;
    left.insert(left.end(), writes.begin(), writes.end());
    if (to_wait != LayerBlocks::none) {
        const BufferId counts = builder_.buffer(0, Keep::scratch);
        kept.push_back(counts);
        builder_.emit(Lane::compute, label, What{Call{to_wait}}, reads, kept);
        builder_.emit(Lane::compute, intern_.label("counts on host", label.phase, label.micro_batch, label.layer),
                      What{HostSync{}}, {counts}, {});
    }
    builder_.emit(Lane::compute, label, What{Call{block}}, reads, left);
}

void StageWriter::forward(const Slot& slot) {
    const auto& chunk = stage_.chunks[slot.chunk];
    const auto mb = static_cast<std::int32_t>(slot.micro_batch);
    std::vector<BufferId> reads;
    if (boundary_.receives(slot) || boundary_.takes(slot)) reads.push_back(boundary_.input(slot));
    auto& saved = saved_[{slot.chunk, slot.micro_batch}];
    emit_batch_input(plan_, slot.micro_batch, builder_, intern_);
    for (std::size_t i = 0; i < chunk.size(); ++i) {
        const LayerBlocks& blocks = *chunk[i].blocks;
        Saved& kept = saved.emplace_back();
        kept.all = builder_.buffer(blocks.saved_bytes - blocks.weight_saved_bytes, Keep::activation);
        std::vector<BufferId> saves{kept.all}, writes;
        if (blocks.weight_gradient != LayerBlocks::none)
            saves.push_back(kept.for_weights = builder_.buffer(blocks.weight_saved_bytes, Keep::activation));
        weights_.before(slot, i, reads, writes);
        if (i + 1 == chunk.size()) hand_on(slot, writes);
        offload_.before(slot, i, following(slot), reads, writes);
        call_with_wait(blocks.forward_to_wait, blocks.forward,
                       intern_.label("forward", Phase::forward, mb, chunk[i].layer), reads, std::move(saves), writes);
        offload_.behind(slot, i, following(slot), kept.all);
        reads.clear();
    }
    const PipelineShape shape = plan_.pipeline_shape();
    if (shape.virtual_stage(slot.chunk, stage_.index) + 1 == shape.virtual_stages())
        emit_batch_loss(plan_, slot.micro_batch, builder_, intern_);
}

/// The backward of a chunk, or where it is in two parts the first of them.
void StageWriter::backward(const Slot& slot) {
    const auto& chunk = stage_.chunks[slot.chunk];
    const auto mb = static_cast<std::int32_t>(slot.micro_batch);
    const bool whole = slot.work == SlotWork::backward;
    const char* const name = whole ? "backward" : "input gradient";
    auto& saved = saved_.at({slot.chunk, slot.micro_batch});
    std::vector<BufferId> reads;
    if (boundary_.receives(slot) || boundary_.takes(slot)) reads.push_back(boundary_.input(slot));
    for (std::size_t i = chunk.size(); i-- > 0;) {
        const LayerBlocks& blocks = *chunk[i].blocks;
        std::vector<BufferId> writes;
        weights_.before(slot, i, reads, writes);
        offload_.before(slot, i, following(slot), reads, writes);
        reads.push_back(offload_.back(slot, i, saved[i].all));
        if (blocks.weight_gradient != LayerBlocks::none) {
            reads.push_back(saved[i].for_weights);
            writes.push_back(saved[i].output_gradient =
                                 builder_.buffer(blocks.output_gradient_bytes, Keep::activation));
        }
        gradients_.formed(slot, i, writes);
        if (i == 0) hand_on(slot, writes);
        const std::uint32_t block = whole ? blocks.backward : blocks.input_gradient;
        if (block != LayerBlocks::none)
            call_with_wait(whole ? blocks.backward_to_wait : LayerBlocks::none, block,
                           intern_.label(name, Phase::backward, mb, chunk[i].layer), reads, {}, writes);
        reads.clear();
        gradients_.behind(slot, i);
    }
    gradients_.behind(slot);
    if (whole) saved_.erase({slot.chunk, slot.micro_batch});
}

void StageWriter::weight_gradient(const Slot& slot) {
    const auto& chunk = stage_.chunks[slot.chunk];
    const auto saved = saved_.extract({slot.chunk, slot.micro_batch}).mapped();
    for (std::size_t i = chunk.size(); i-- > 0;) {
        if (const std::uint32_t block = chunk[i].blocks->weight_gradient; block != LayerBlocks::none) {
            std::vector<BufferId> writes;
            gradients_.formed(slot, i, writes);
            const auto mb = static_cast<std::int32_t>(slot.micro_batch);
            builder_.emit(Lane::compute, intern_.label("weight gradient", Phase::backward, mb, chunk[i].layer),
                          What{Call{block}}, std::vector<BufferId>{saved[i].for_weights, saved[i].output_gradient},
                          writes);
        }
        gradients_.behind(slot, i);
    }
    gradients_.behind(slot);
}

void StageWriter::update() {
    std::vector<BufferId> ready = gradients_.finish();
    const std::size_t buckets = gradients_.buckets().buckets.size();
    const BufferId last = gradients_.last_dense();
    const BufferId exchanged = exchange_embedding_gradients(plan_, blocks_, stage_, builder_, intern_, last);
    ready.push_back(exchanged);
    const auto added = std::span(ready).subspan(buckets, ready.size() - buckets - (exchanged == last ? 1 : 0));
    host_.gradients_leave(std::span(ready).first(buckets), added);
    emit_optimizer(plan_, stage_, builder_, intern_, ready, &host_);
}

}  // namespace

Program stage_program(const Plan& plan, const ModelBlocks& blocks, const Stage& stage, Intern& intern,
                      std::uint32_t left_out) {
    return StageWriter(plan, blocks, stage, intern, left_out).write();
}

}  // namespace orrery::strategies
