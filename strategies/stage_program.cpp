#include "strategies/stage_program.hpp"

#include "strategies/boundary.hpp"
#include "strategies/gradient_buckets.hpp"
#include "strategies/offload.hpp"
#include "strategies/optimizer_phase.hpp"
#include "strategies/schedule/schedule.hpp"
#include "strategies/state_bytes.hpp"

namespace orrery::strategies {

namespace {

using kernels::CollectiveKind;

class StageWriter {
public:
    StageWriter(const Plan& plan, const ModelBlocks& blocks, const Stage& stage, Intern& intern)
        : plan_(plan),
          blocks_(blocks),
          stage_(stage),
          intern_(intern),
          builder_("stage " + std::to_string(stage.index)),
          boundary_(plan, stage.index, builder_, intern),
          offload_(plan, stage, builder_, intern),
          schedule_(schedule_of(plan.strategy.schedule)),
          slots_(schedule_.slots(plan.pipeline_shape(), stage.index)) {}

    Program write() && {
        persistent_buffers();
        gather_parameters();
        find_last_gradients();
        micro_batches();
        return std::move(builder_).finish();
    }

private:
    [[nodiscard]] bool data_parallel() const { return plan_.strategy.data > 1; }
    [[nodiscard]] bool sharded() const { return data_parallel() && plan_.strategy.sharding == Sharding::zero1; }
    /// Ranks that hold a bucket's parameters.
    [[nodiscard]] AxisSet group_of(std::uint32_t bucket) const {
        return buckets_.buckets[bucket].experts ? AxisSet{Axis::data} : plan_.data_group();
    }
    [[nodiscard]] bool alone(std::uint32_t bucket) const { return plan_.mesh().group_size(group_of(bucket)) == 1; }
    /// fill(bucket) for those of a layer's parameters.
    template <class Fill>
    void each_bucket(std::size_t chunk, std::size_t layer, const Fill& fill) const {
        fill(buckets_.of_layer[chunk][layer]);
        if (const std::uint32_t bucket = buckets_.of_experts[chunk][layer]; bucket != GradientBuckets::none)
            fill(bucket);
    }
    [[nodiscard]] std::uint32_t weight_bytes() const {
        return kernels::size_of(plan_.training.precision.compute) == 4 ? 4 : 2;
    }

    void persistent_buffers();
    void gather_parameters();
    void find_last_gradients();
    void micro_batches();
    [[nodiscard]] const Slot* following(const Slot& slot) const {
        return &slot == &slots_.back() ? nullptr : &slot + 1;
    }
    void run(const Slot& slot);
    void forward(const Slot& slot);
    void backward(const Slot& slot);
    void weight_gradient(const Slot& slot);
    void post_receives(std::size_t from, std::size_t to);
    std::vector<BufferId> send_outputs(std::size_t from, std::size_t to);
    void reduce(std::uint32_t bucket);
    void reduce_replicated();
    void reduce_closed_by(const Slot& slot, std::size_t position);
    [[nodiscard]] BufferId last_reduced() const;
    void finish_gradients();

    const Plan& plan_;
    const ModelBlocks& blocks_;
    const Stage& stage_;
    Intern& intern_;
    Builder builder_;
    Boundary boundary_;
    Offload offload_;
    /// What one layer keeps of one micro-batch. Where the backward is in two parts, what weight gradients need lies
    /// apart, because it stays longer.
    struct Saved {
        BufferId all;  ///< or the rest of it
        BufferId for_weights, output_gradient;
    };
    [[nodiscard]] std::size_t number(const Slot& slot) const { return static_cast<std::size_t>(&slot - slots_.data()); }
    /// Whether the chunk's gradients of inputs, or of weights, are complete with this slot.
    [[nodiscard]] bool last_of_inputs(const Slot& slot) const { return last_input_[slot.chunk] == number(slot); }
    [[nodiscard]] bool last_of_weights(const Slot& slot) const { return last_weights_[slot.chunk] == number(slot); }

    const Schedule& schedule_;
    std::vector<Slot> slots_;
    std::vector<std::size_t> last_input_, last_weights_;  // [chunk] -> slot
    GradientBuckets buckets_;
    std::vector<BufferId> gradient_, reduced_, gathered_;                          // by bucket
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<Saved>> saved_;  // (chunk, micro-batch)
    std::map<std::size_t, BufferId> outputs_;                                      // slot -> boundary tensor it made
    std::vector<BufferId> received_;                                               // by the exchange at hand
};

void StageWriter::persistent_buffers() {
    const StateBytes state = state_bytes(plan_.training.precision);
    builder_.buffer(stage_.parameters * state.weight, Keep::weight);
    const std::uint64_t experts = stage_.expert_parameters * state.optimizer,
                        rest = (stage_.parameters - stage_.expert_parameters) * state.optimizer;
    builder_.buffer(sharded() ? rest / plan_.strategy.data + experts / plan_.expert_data() : rest + experts,
                    Keep::optimizer);
    buckets_ = gradient_buckets(stage_, plan_);
    for (const GradientBucket& bucket : buckets_.buckets)
        gradient_.push_back(builder_.buffer(bucket.parameters * state.gradient, Keep::gradient));
    reduced_ = gradient_;
    const auto dtype = plan_.training.precision.grad_reduce;
    builder_.emit(Lane::compute, intern_.label("zero gradients", Phase::forward),
                  What{intern_.kernel(kernels::Pointwise{kernels::PointwiseKind::fill, dtype, 1, stage_.parameters})},
                  std::span<const BufferId>{}, gradient_);
}

/// With overlap_param_gather the new weights of the step before arrive bucket by bucket, in forward order.
void StageWriter::gather_parameters() {
    gathered_.assign(buckets_.buckets.size(), 0);
    if (!sharded() || !plan_.strategy.overlap_param_gather) return;
    for (auto b = static_cast<std::uint32_t>(buckets_.buckets.size()); b-- > 0;) {
        gathered_[b] = builder_.buffer(0, Keep::scratch);
        if (alone(b)) continue;
        builder_.emit(
            Lane::data, intern_.label("gather weights", Phase::forward),
            Collective{CollectiveKind::all_gather, group_of(b), buckets_.buckets[b].parameters * weight_bytes()}, {},
            {gathered_[b]});
    }
}

void StageWriter::find_last_gradients() {
    last_input_.assign(stage_.chunks.size(), 0);
    last_weights_.assign(stage_.chunks.size(), 0);
    for (std::size_t i = 0; i < slots_.size(); ++i) {
        if (slots_[i].hands_gradient_on()) last_input_[slots_[i].chunk] = i;
        if (slots_[i].completes_gradient()) last_weights_[slots_[i].chunk] = i;
    }
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
        if (overlap && more) post_receives(ends[w], ends[w + 1]);
        for (std::size_t i = begin(w); i < ends[w]; ++i) {
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
        case SlotWork::update: return finish_gradients();
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

void StageWriter::forward(const Slot& slot) {
    const auto& chunk = stage_.chunks[slot.chunk];
    const auto mb = static_cast<std::int32_t>(slot.micro_batch);
    std::vector<BufferId> reads;
    if (boundary_.receives(slot)) reads.push_back(boundary_.input(slot));
    auto& saved = saved_[{slot.chunk, slot.micro_batch}];
    for (std::size_t i = 0; i < chunk.size(); ++i) {
        const LayerBlocks& blocks = *chunk[i].blocks;
        Saved& kept = saved.emplace_back();
        kept.all = builder_.buffer(blocks.saved_bytes - blocks.weight_saved_bytes, Keep::activation);
        std::vector<BufferId> writes{kept.all};
        if (blocks.weight_gradient != LayerBlocks::none)
            writes.push_back(kept.for_weights = builder_.buffer(blocks.weight_saved_bytes, Keep::activation));
        if (slot.micro_batch == 0 && !gathered_.empty() && sharded() && plan_.strategy.overlap_param_gather)
            each_bucket(slot.chunk, i, [&](std::uint32_t bucket) { reads.push_back(gathered_[bucket]); });
        if (i + 1 == chunk.size() && boundary_.sends(slot))
            writes.push_back(outputs_[number(slot)] = boundary_.output());
        offload_.before(slot, i, following(slot), reads, writes);
        builder_.emit(Lane::compute, intern_.label("forward", Phase::forward, mb, chunk[i].layer),
                      What{Call{blocks.forward}}, reads, writes);
        offload_.behind(slot, i, kept.all);
        reads.clear();
    }
}

/// The backward of a chunk, or where it is in two parts the first of them.
void StageWriter::backward(const Slot& slot) {
    const auto& chunk = stage_.chunks[slot.chunk];
    const auto mb = static_cast<std::int32_t>(slot.micro_batch);
    const bool whole = slot.work == SlotWork::backward;
    const char* const name = whole ? "backward" : "input gradient";
    auto& saved = saved_.at({slot.chunk, slot.micro_batch});
    std::vector<BufferId> reads;
    if (boundary_.receives(slot)) reads.push_back(boundary_.input(slot));
    for (std::size_t i = chunk.size(); i-- > 0;) {
        const LayerBlocks& blocks = *chunk[i].blocks;
        std::vector<BufferId> writes;
        offload_.before(slot, i, following(slot), reads, writes);
        reads.push_back(offload_.back(slot, i, saved[i].all));
        if (blocks.weight_gradient != LayerBlocks::none) {
            reads.push_back(saved[i].for_weights);
            writes.push_back(saved[i].output_gradient =
                                 builder_.buffer(blocks.output_gradient_bytes, Keep::activation));
        }
        if (last_of_inputs(slot))
            each_bucket(slot.chunk, i, [&](std::uint32_t bucket) { writes.push_back(gradient_[bucket]); });
        if (i == 0 && boundary_.sends(slot)) writes.push_back(outputs_[number(slot)] = boundary_.output());
        builder_.emit(Lane::compute, intern_.label(name, Phase::backward, mb, chunk[i].layer),
                      What{Call{whole ? blocks.backward : blocks.input_gradient}}, reads, writes);
        reads.clear();
        if (whole) reduce_closed_by(slot, i);
    }
    if (whole) saved_.erase({slot.chunk, slot.micro_batch});
}

void StageWriter::weight_gradient(const Slot& slot) {
    const auto& chunk = stage_.chunks[slot.chunk];
    const auto saved = saved_.extract({slot.chunk, slot.micro_batch}).mapped();
    for (std::size_t i = chunk.size(); i-- > 0;) {
        if (const std::uint32_t block = chunk[i].blocks->weight_gradient; block != LayerBlocks::none) {
            std::vector<BufferId> writes;
            if (last_of_weights(slot))
                each_bucket(slot.chunk, i, [&](std::uint32_t bucket) { writes.push_back(gradient_[bucket]); });
            const auto mb = static_cast<std::int32_t>(slot.micro_batch);
            builder_.emit(Lane::compute, intern_.label("weight gradient", Phase::backward, mb, chunk[i].layer),
                          What{Call{block}}, std::vector<BufferId>{saved[i].for_weights, saved[i].output_gradient},
                          writes);
        }
        reduce_closed_by(slot, i);
    }
}

/// The buckets that are complete with a layer's last gradients.
void StageWriter::reduce_closed_by(const Slot& slot, std::size_t position) {
    if (!last_of_weights(slot) || !plan_.strategy.overlap_grad_reduce) return;
    each_bucket(slot.chunk, position, [&](std::uint32_t bucket) {
        const GradientBucket& closing = buckets_.buckets[bucket];
        if (closing.chunk == slot.chunk && closing.position == position) reduce(bucket);
    });
}

void StageWriter::reduce(std::uint32_t bucket) {
    if (alone(bucket)) return;
    const std::uint64_t bytes =
        buckets_.buckets[bucket].parameters * kernels::size_of(plan_.training.precision.grad_reduce);
    reduced_[bucket] = builder_.buffer(0, Keep::scratch);
    builder_.emit(
        Lane::data, intern_.label("gradient reduction", Phase::gradient),
        Collective{sharded() ? CollectiveKind::reduce_scatter : CollectiveKind::all_reduce, group_of(bucket), bytes},
        {gradient_[bucket]}, {reduced_[bucket]});
}

/// Each tensor rank has seen only its part of the sequence (Megatron-LM's allreduce_layernorm_grads: one call for all).
void StageWriter::reduce_replicated() {
    if (!plan_.strategy.sequence_parallel || plan_.strategy.tensor == 1) return;
    const std::uint64_t bytes = stage_.replicated_parameters * kernels::size_of(plan_.training.precision.grad_reduce);
    const BufferId summed = builder_.buffer(0, Keep::scratch);
    builder_.emit(Lane::compute, intern_.label("norm gradient reduction", Phase::gradient),
                  Collective{CollectiveKind::all_reduce, {Axis::tensor}, bytes}, reduced_, std::span(&summed, 1));
    reduced_.push_back(summed);
}

/// Reductions run one after the other, and no bucket of experts holds a word embedding.
BufferId StageWriter::last_reduced() const {
    std::size_t last = reduced_.size() - 1;
    while (last < buckets_.buckets.size() && buckets_.buckets[last].experts) --last;
    return reduced_[last];
}

void StageWriter::finish_gradients() {
    if (!plan_.strategy.overlap_grad_reduce)
        for (std::uint32_t b = 0; b < buckets_.buckets.size(); ++b) reduce(b);
    reduce_replicated();
    std::vector<BufferId> ready = reduced_;
    ready.push_back(exchange_embedding_gradients(plan_, blocks_, stage_, builder_, intern_, last_reduced()));
    emit_optimizer(plan_, stage_, builder_, intern_, ready);
}

}  // namespace

Program stage_program(const Plan& plan, const ModelBlocks& blocks, const Stage& stage, Intern& intern) {
    return StageWriter(plan, blocks, stage, intern).write();
}

}  // namespace orrery::strategies
