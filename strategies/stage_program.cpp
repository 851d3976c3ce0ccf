#include "strategies/stage_program.hpp"

#include <optional>

#include "strategies/batch_input.hpp"
#include "strategies/boundary.hpp"
#include "strategies/checkpoint_boundary.hpp"
#include "strategies/gradient_sync.hpp"
#include "strategies/lasting_buffers.hpp"
#include "strategies/layer_runs.hpp"
#include "strategies/offload.hpp"
#include "strategies/optimizer_offload.hpp"
#include "strategies/optimizer_phase.hpp"
#include "strategies/ownership.hpp"
#include "strategies/rounds.hpp"
#include "strategies/schedule/schedule.hpp"
#include "strategies/slot_table.hpp"
#include "strategies/weight_casts.hpp"
#include "strategies/weight_gathers.hpp"

namespace orrery::strategies {

namespace {

class StageWriter {
public:
    StageWriter(const Plan& plan, const ModelBlocks& blocks, const Stage& stage, Intern& intern, std::uint32_t left_out)
        : plan_(plan),
          shape_(plan.pipeline_shape()),
          left_out_(left_out),
          blocks_(blocks),
          stage_(stage),
          intern_(intern),
          builder_("stage " + std::to_string(stage.index)),
          boundary_(plan, stage.index, builder_, intern),
          offload_(plan, stage, builder_, intern),
          checkpoints_(plan, builder_, intern),
          schedule_(schedule_of(plan.strategy.schedule)),
          slots_(schedule_.slots(shape_, stage.index)),
          gradients_(plan, stage, slots_, builder_, intern),
          weights_(plan, stage, slots_, gradients_.buckets(), builder_, intern),
          casts_(plan, stage, weights_.always_there(), builder_, intern),
          host_(plan, owned_parameters(plan, stage), gradients_.buckets(), builder_, intern),
          saved_(shape_),
          outputs_(slots_.size()),
          one_version_(schedule_.versions(shape_, stage.index) == 1),
          alike_(layer_runs(stage, left_out > 0 && calls_can_be_joined())) {}

    Program write() && {
        builder_.expect(slots_.size() * (stage_.chunks.front().size() + 4));  // calls, and four at each boundary
        emit_lasting_buffers(plan_, stage_, builder_);
        host_.lasting_buffers();
        builder_.stage_state(stage_state(plan_, blocks_, stage_, gradients_.buckets()));
        gradients_.begin();
        weights_.begin();
        micro_batches();
        Program program = std::move(builder_).finish();
        if (left_out_ > 0) program.rounds = steady_rounds(program, {slots_, begins_}, slots_of_round(), left_out_);
        return program;
    }

private:
    /// What the layers of one run keep of one micro-batch. Where the backward is in two parts, what weight gradients
    /// need lies apart, because it stays longer.
    struct Saved {
        BufferId all = 0;                               ///< or the rest of it
        BufferId for_weights = 0, left = 0, stays = 0;  ///< stays: what is not offloaded, if that is a part
    };
    /// What the first call of a slot takes of another stage or chunk.
    using Input = std::optional<BufferId>;
    /// What a call takes and makes. kept: what is left for those that come later.
    struct Use {
        std::vector<BufferId> reads, kept, writes;
        void begin(Input input) {
            reads.clear();
            if (input) reads.push_back(*input);
            kept.clear();
            writes.clear();
        }
    };
    std::vector<Saved>& saved(const Slot& slot) { return saved_.at(slot.chunk, slot.micro_batch); }
    [[nodiscard]] std::size_t number(const Slot& slot) const { return static_cast<std::size_t>(&slot - slots_.data()); }

    [[nodiscard]] std::uint32_t slots_of_round() const {
        const std::uint32_t updates = schedule_.asynchronous ? 1 : 0;  // a round is a step
        return schedule_.round(shape_) * shape_.chunks * (schedule_.splits_backward() ? 3 : 2) + updates;
    }

    /// Whether nothing stands between the calls of one slot, whichever its layers are.
    [[nodiscard]] bool calls_can_be_joined() const {
        return gradients_.once_a_step() && weights_.always_there() && blocks_.pairs.empty() &&
               !schedule_.splits_backward() && plan_.strategy.cpu_offloading_num_layers == 0 &&
               !plan_.strategy.synchronize_checkpoints;
    }

    void micro_batches();
    [[nodiscard]] const Slot* following(const Slot& slot) const {
        return &slot == &slots_.back() ? nullptr : &slot + 1;
    }
    void run(const Slot& slot);
    void forward(const Slot& slot);
    void backward(const Slot& slot);
    void pair(const Slot& ahead, const Slot& back);
    Input input(const Slot& slot);
    const Saved& keep(const Slot& slot, std::size_t i);
    Use& forward_use(const Slot& slot, std::size_t i, std::uint32_t layers, Input input);
    void forward_layers(const Slot& slot, std::size_t i, std::uint32_t layers, Input input);
    void end_forward(const Slot& slot);
    Use& backward_use(const Slot& slot, std::size_t i, Input input);
    void backward_layers(const Slot& slot, std::size_t i, std::uint32_t layers, Input input);
    void end_backward(const Slot& slot);
    void pair_layers(const Slot& ahead, std::size_t i, Input of_i, const Slot& back, std::size_t j, Input of_j);
    [[nodiscard]] const std::uint32_t* pair_of(const PlacedLayer& ahead, const PlacedLayer& back) const;
    void weight_gradient(const Slot& slot);
    void call_with_wait(std::uint32_t to_wait, const Call& call, const Label& label, Use& use);
    void call_to_wait(std::uint32_t block, const Label& label, Use& use);
    void hand_on(const Slot& slot, std::vector<BufferId>& writes);
    void post_receives(std::size_t from, std::size_t to);
    void send_outputs(std::size_t from, std::size_t to);
    void update(bool more);
    void read_version(const Label& label);

    const Plan& plan_;
    const PipelineShape shape_;
    std::uint32_t left_out_;
    const ModelBlocks& blocks_;
    const Stage& stage_;
    Intern& intern_;
    Builder builder_;
    Boundary boundary_;
    Offload offload_;
    CheckpointBoundary checkpoints_;
    const Schedule& schedule_;
    std::vector<Slot> slots_;
    std::vector<std::uint32_t> begins_;  // of each slot: its first operation
    GradientSync gradients_;
    WeightGathers weights_;
    WeightCasts casts_;
    OptimizerOffload host_;
    SlotTable<std::vector<Saved>> saved_;              // by layer: its run's
    std::vector<BufferId> outputs_;                    // slot -> boundary tensor it made
    std::vector<BufferId> exchanged_;                  // by the exchange at hand: what was sent and received
    Use forward_use_, backward_use_;                   // of the call at hand
    std::map<std::uint32_t, std::uint16_t> versions_;  // of weights, and what calls take that read it
    bool one_version_;                                 // of weights
    LayerRuns alike_;                                  // layers that one call may stand for
    std::uint32_t updates_ = 0;                        // so far
    Name forward_{"forward"}, backward_{"backward"}, input_gradient_{"input gradient"}, exchange_{"boundary exchange"};
};

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
        exchanged_.clear();
        begins_.push_back(builder_.size());
        if (overlap && more) post_receives(ends[w], ends[w + 1]);
        for (std::size_t i = begin(w); i < ends[w]; ++i) {
            if (i > begin(w)) begins_.push_back(builder_.size());
            const std::size_t first = i;
            if (slots_[i].pairs) {
                pair(slots_[i], slots_[i + 1]);
                begins_.push_back(builder_.size());
                ++i;
            } else {
                run(slots_[i]);
            }
            if (overlap) send_outputs(first, i + 1);
        }
        if (overlap) continue;
        send_outputs(begin(w), ends[w]);
        if (more) post_receives(ends[w], ends[w + 1]);
        if (exchanged_.empty()) continue;
        const Phase phase = slots_[ends[w] - 1].work == SlotWork::forward ? Phase::forward : Phase::backward;
        builder_.emit(Lane::compute, intern_.label(exchange_, phase), What{HostSync{}}, exchanged_,
                      std::span<const BufferId>{});
    }
}

void StageWriter::run(const Slot& slot) {
    switch (slot.work) {
        case SlotWork::forward: return forward(slot);
        case SlotWork::backward:
        case SlotWork::input_gradient: return backward(slot);
        case SlotWork::weight_gradient: return weight_gradient(slot);
        case SlotWork::update: return update(following(slot) != nullptr);
    }
}

void StageWriter::post_receives(std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < to; ++i)
        if (boundary_.receives(slots_[i])) exchanged_.push_back(boundary_.post_receive(slots_[i]));
}

void StageWriter::send_outputs(std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < to; ++i)
        if (boundary_.sends(slots_[i])) exchanged_.push_back(boundary_.send(slots_[i], outputs_[i]));
}

/// The last call of a slot writes what the next stage, or another chunk of this one, takes.
void StageWriter::hand_on(const Slot& slot, std::vector<BufferId>& writes) {
    if (boundary_.sends(slot)) writes.push_back(outputs_[number(slot)] = boundary_.output());
    if (boundary_.hands_over(slot)) writes.push_back(boundary_.output_here(slot));
}

/// Up to the host's wait inside a layer, whose rest then takes the counts that it waited for.
void StageWriter::call_to_wait(std::uint32_t block, const Label& label, Use& use) {
    const BufferId counts = builder_.buffer(0, Keep::scratch);
    use.kept.push_back(counts);
    builder_.emit(Lane::compute, label, What{Call{block}}, use.reads, use.kept);
    read_version(label);
    use.kept.pop_back();
    builder_.emit(Lane::compute, intern_.label("counts on host", label.phase, label.micro_batch, label.layer),
                  What{HostSync{}}, {counts}, {});
}

/// A layer whose host waits inside it is called in two parts, which both add to what is kept.
void StageWriter::call_with_wait(std::uint32_t to_wait, const Call& call, const Label& label, Use& use) {
    if (to_wait != LayerBlocks::none) call_to_wait(to_wait, label, use);
    use.kept.insert(use.kept.end(), use.writes.begin(), use.writes.end());
    builder_.emit(Lane::compute, label, What{call}, use.reads, use.kept);
    read_version(label);
}

/// Of weights that have several: the call emitted last reads its micro-batch's.
void StageWriter::read_version(const Label& label) {
    if (one_version_) return;
    const std::uint32_t version =
        schedule_.version(shape_, stage_.index, static_cast<std::uint32_t>(label.micro_batch));
    const auto [known, is_new] = versions_.try_emplace(version);
    if (is_new)
        known->second = builder_.state({.operands = {{.state = State::weights, .version = version}}});
    else
        builder_.same_state(known->second);
}

StageWriter::Input StageWriter::input(const Slot& slot) {
    if (boundary_.receives(slot) || boundary_.takes(slot)) return boundary_.input(slot);
    return std::nullopt;
}

/// What the layers of a run keep lies together: it comes with the first of them.
const StageWriter::Saved& StageWriter::keep(const Slot& slot, std::size_t i) {
    std::vector<Saved>& of_layers = saved(slot);
    if (i < of_layers.size()) return of_layers[i];
    const std::vector<std::uint32_t>& alike = alike_[slot.chunk];
    of_layers.reserve(alike.size());
    const LayerBlocks& blocks = *stage_.chunks[slot.chunk][i].blocks;
    const auto buffer = [&](std::uint64_t bytes) { return builder_.buffer(alike[i] * bytes, Keep::activation); };
    Saved kept{buffer(blocks.saved_bytes - blocks.weight_saved_bytes - blocks.stays_bytes)};
    if (blocks.stays_bytes > 0) kept.stays = buffer(blocks.stays_bytes);
    if (blocks.weight_gradient != LayerBlocks::none) kept.for_weights = buffer(blocks.weight_saved_bytes);
    of_layers.insert(of_layers.end(), alike[i], kept);
    return of_layers.back();
}

StageWriter::Use& StageWriter::forward_use(const Slot& slot, std::size_t i, std::uint32_t layers, Input input) {
    const auto& chunk = stage_.chunks[slot.chunk];
    const Saved& kept = keep(slot, i);
    Use& use = forward_use_;
    use.begin(input);
    use.kept.push_back(kept.all);
    if (chunk[i].blocks->weight_gradient != LayerBlocks::none) use.kept.push_back(kept.for_weights);
    if (chunk[i].blocks->stays_bytes > 0) use.kept.push_back(kept.stays);
    weights_.before(slot, i, use.reads, use.writes);
    casts_.before(slot, chunk[i], use.reads);
    if (i + layers == chunk.size()) hand_on(slot, use.writes);
    offload_.before(slot, i, following(slot), use.reads, use.writes);
    return use;
}

/// So many layers that are alike, from the one at i on.
void StageWriter::forward_layers(const Slot& slot, std::size_t i, std::uint32_t layers, Input input) {
    const PlacedLayer& placed = stage_.chunks[slot.chunk][i];
    const auto mb = static_cast<std::int32_t>(slot.micro_batch);
    const Label label = intern_.label(forward_, Phase::forward, mb, placed.layer);
    Use& use = forward_use(slot, i, layers, input);
    checkpoints_.before(label, placed.runs_again, use.writes);
    gradients_.take_turn(use.reads);
    call_with_wait(placed.blocks->forward_to_wait, {placed.blocks->forward, layers}, label, use);
    checkpoints_.behind(label, placed.runs_again, {});
    weights_.behind();
    offload_.behind(slot, i, following(slot), saved(slot).back().all);
}

void StageWriter::end_forward(const Slot& slot) {
    casts_.behind(slot);
    if (shape_.virtual_stage(slot.chunk, stage_.index) + 1 == shape_.virtual_stages())
        emit_batch_loss(plan_, slot.micro_batch, builder_, intern_);
}

void StageWriter::forward(const Slot& slot) {
    Input received = input(slot);
    emit_batch_input(plan_, slot.micro_batch, builder_, intern_);
    const std::vector<std::uint32_t>& alike = alike_[slot.chunk];
    const bool apart = weights_.arrive_for(slot) || casts_.stand_before(slot);
    std::uint32_t layers = 0;
    for (std::size_t i = 0; i < alike.size(); i += layers) {
        layers = apart ? 1 : alike[i];
        forward_layers(slot, i, layers, std::exchange(received, std::nullopt));
    }
    end_forward(slot);
}

StageWriter::Use& StageWriter::backward_use(const Slot& slot, std::size_t i, Input input) {
    const LayerBlocks& blocks = *stage_.chunks[slot.chunk][i].blocks;
    Saved& kept = saved(slot).at(i);
    Use& use = backward_use_;
    use.begin(input);
    weights_.before(slot, i, use.reads, use.writes);
    offload_.before(slot, i, following(slot), use.reads, use.writes);
    use.reads.push_back(offload_.back(slot, i, kept.all));
    if (blocks.stays_bytes > 0) use.reads.push_back(kept.stays);
    if (blocks.weight_gradient != LayerBlocks::none) {
        use.reads.push_back(kept.for_weights);
        if (slot.work == SlotWork::input_gradient)
            use.writes.push_back(kept.left = builder_.buffer(blocks.left_for_weights, Keep::activation));
    }
    gradients_.formed(slot, i, use.writes);
    if (i == 0) hand_on(slot, use.writes);
    return use;
}

/// So many layers that are alike, to the one at i: what a slot's last forms is told apart by its layer.
void StageWriter::backward_layers(const Slot& slot, std::size_t i, std::uint32_t layers, Input input) {
    const PlacedLayer& placed = stage_.chunks[slot.chunk][i + layers - 1];
    const LayerBlocks& blocks = *placed.blocks;
    const bool whole = slot.work == SlotWork::backward;
    const std::uint32_t block = whole ? blocks.backward : blocks.input_gradient;
    const Label label = intern_.label(whole ? backward_ : input_gradient_, Phase::backward,
                                      static_cast<std::int32_t>(slot.micro_batch), placed.layer);
    Use& use = backward_use(slot, i, input);
    if (block != LayerBlocks::none) {
        checkpoints_.before(label, placed.runs_again, use.writes);
        gradients_.take_turn(use.reads);
        call_with_wait(whole ? blocks.backward_to_wait : LayerBlocks::none, {block, layers}, label, use);
    }
    gradients_.behind(slot, i);
    checkpoints_.behind(label, placed.runs_again, gradients_.under_way());
}

void StageWriter::end_backward(const Slot& slot) {
    if (slot.work == SlotWork::backward) saved(slot) = {};
}

/// The backward of a chunk, or where it is in two parts the first of them.
void StageWriter::backward(const Slot& slot) {
    Input received = input(slot);
    const std::vector<std::uint32_t>& alike = alike_[slot.chunk];
    const bool apart = gradients_.is_last(slot);
    std::uint32_t layers = 0;
    for (std::size_t left = alike.size(); left > 0; left -= layers) {
        layers = apart ? 1 : alike[left - 1];
        backward_layers(slot, left - layers, layers, std::exchange(received, std::nullopt));
    }
    end_backward(slot);
}

/// nullptr: these do not run beside each other (embedding and loss).
const std::uint32_t* StageWriter::pair_of(const PlacedLayer& ahead, const PlacedLayer& back) const {
    const auto found = blocks_.pairs.find({ahead.blocks->forward, back.blocks->backward});
    return found == blocks_.pairs.end() ? nullptr : &found->second;
}

/// The label is the backward's.
void StageWriter::pair_layers(const Slot& ahead, std::size_t i, Input of_i, const Slot& back, std::size_t j,
                              Input of_j) {
    const PlacedLayer &one = stage_.chunks[ahead.chunk][i], &other = stage_.chunks[back.chunk][j];
    Use& use = forward_use(ahead, i, 1, of_i);
    gradients_.take_turn(use.reads);
    const auto mb = static_cast<std::int32_t>(ahead.micro_batch);
    if (one.blocks->forward_to_wait != LayerBlocks::none)
        call_to_wait(one.blocks->forward_to_wait, intern_.label(forward_, Phase::forward, mb, one.layer), use);
    const Use& beside = backward_use(back, j, of_j);
    use.reads.insert(use.reads.end(), beside.reads.begin(), beside.reads.end());
    use.kept.insert(use.kept.end(), use.writes.begin(), use.writes.end());
    use.kept.insert(use.kept.end(), beside.writes.begin(), beside.writes.end());
    builder_.emit(Lane::compute,
                  intern_.label("forward beside backward", Phase::backward, static_cast<std::int32_t>(back.micro_batch),
                                other.layer),
                  What{Call{*pair_of(one, other)}}, use.reads, use.kept);
    gradients_.behind(back, j);
}

/// Layers of the body meet, the first of the forward the last of the backward; what has nothing beside it runs alone:
/// the embedding first, and the loss's backward.
void StageWriter::pair(const Slot& ahead, const Slot& back) {
    const auto &to = stage_.chunks[ahead.chunk], &fro = stage_.chunks[back.chunk];
    Input to_forward = input(ahead), to_backward = input(back);
    emit_batch_input(plan_, ahead.micro_batch, builder_, intern_);
    std::size_t i = 0, left = fro.size();
    const auto step_forward = [&] { forward_layers(ahead, i++, 1, std::exchange(to_forward, std::nullopt)); };
    const auto step_backward = [&] { backward_layers(back, --left, 1, std::exchange(to_backward, std::nullopt)); };
    while (i < to.size() && pair_of(to[i], to[i]) == nullptr) step_forward();
    while (left > 0 && pair_of(fro[left - 1], fro[left - 1]) == nullptr) step_backward();
    while (i < to.size() && left > 0 && pair_of(to[i], fro[left - 1]) != nullptr)
        pair_layers(ahead, i++, std::exchange(to_forward, std::nullopt), back, --left,
                    std::exchange(to_backward, std::nullopt));
    while (left > 0) step_backward();
    while (i < to.size()) step_forward();
    end_forward(ahead);
    end_backward(back);
}

void StageWriter::weight_gradient(const Slot& slot) {
    const auto& chunk = stage_.chunks[slot.chunk];
    const std::vector<Saved> kept = std::exchange(saved(slot), {});
    for (std::size_t i = chunk.size(); i-- > 0;) {
        if (const std::uint32_t block = chunk[i].blocks->weight_gradient; block != LayerBlocks::none) {
            std::vector<BufferId> writes;
            gradients_.formed(slot, i, writes);
            const auto mb = static_cast<std::int32_t>(slot.micro_batch);
            std::vector<BufferId> reads{kept[i].for_weights, kept[i].left};
            gradients_.take_turn(reads);
            builder_.emit(Lane::compute, intern_.label("weight gradient", Phase::backward, mb, chunk[i].layer),
                          What{Call{block}}, reads, writes);
        }
        gradients_.behind(slot, i);
    }
}

void StageWriter::update(bool more) {
    std::vector<BufferId> ready = gradients_.finish();
    const std::size_t buckets = gradients_.buckets().buckets.size();
    const BufferId last = gradients_.last_dense();
    const BufferId exchanged = exchange_embedding_gradients(plan_, blocks_, stage_, builder_, intern_, last);
    ready.push_back(exchanged);
    const auto added = std::span(ready).subspan(buckets, ready.size() - buckets - (exchanged == last ? 1 : 0));
    host_.gradients_leave(std::span(ready).first(buckets), added);
    emit_optimizer(plan_, stage_, builder_, intern_, ready, &host_, ++updates_);
    casts_.begin_step();
    if (more) gradients_.begin_step();
}

}  // namespace

Program stage_program(const Plan& plan, const ModelBlocks& blocks, const Stage& stage, Intern& intern,
                      std::uint32_t left_out) {
    return StageWriter(plan, blocks, stage, intern, left_out).write();
}

}  // namespace orrery::strategies
