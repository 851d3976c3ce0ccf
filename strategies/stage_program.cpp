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
          slots_(schedule(plan.strategy, stage.index, plan.micro_batches())) {}

    Program write() && {
        persistent_buffers();
        gather_parameters();
        find_last_backwards();
        micro_batches();
        finish_gradients();
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
    void find_last_backwards();
    void micro_batches();
    [[nodiscard]] const Slot* following(const Slot& slot) const {
        return &slot == &slots_.back() ? nullptr : &slot + 1;
    }
    void forward(const Slot& slot);
    void backward(const Slot& slot, bool last);
    void post_receives(std::size_t from, std::size_t to);
    std::vector<BufferId> send_outputs(std::size_t from, std::size_t to);
    void reduce(std::uint32_t bucket);
    void reduce_replicated();
    [[nodiscard]] BufferId last_reduced() const;
    void finish_gradients();

    const Plan& plan_;
    const ModelBlocks& blocks_;
    const Stage& stage_;
    Intern& intern_;
    Builder builder_;
    Boundary boundary_;
    Offload offload_;
    std::vector<Slot> slots_;
    std::vector<std::size_t> last_backward_;  // [chunk] -> slot
    GradientBuckets buckets_;
    std::vector<BufferId> gradient_, reduced_, gathered_;                             // by bucket
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<BufferId>> saved_;  // (chunk, micro-batch)
    std::map<std::size_t, BufferId> outputs_;                                         // slot -> boundary tensor it made
    std::vector<BufferId> received_;                                                  // by the exchange at hand
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

void StageWriter::find_last_backwards() {
    last_backward_.assign(stage_.chunks.size(), 0);
    for (std::size_t i = 0; i < slots_.size(); ++i)
        if (!slots_[i].forward) last_backward_[slots_[i].chunk] = i;
}

/// Slots between two exchanges run back to back; at an exchange their outputs leave and the next slots' inputs arrive.
/// Without overlap_p2p the host waits for all of it, as Megatron-LM does; with it the next window's receives are
/// already posted and only the kernels that need a tensor wait for it.
void StageWriter::micro_batches() {
    const bool overlap = plan_.strategy.overlap_p2p;
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
            const Slot& slot = slots_[i];
            slot.forward ? forward(slot) : backward(slot, last_backward_[slot.chunk] == i);
            if (overlap) send_outputs(i, i + 1);
        }
        if (overlap) continue;
        std::vector<BufferId> waits = send_outputs(begin(w), ends[w]);
        received_.clear();
        if (more) post_receives(ends[w], ends[w + 1]);
        waits.insert(waits.end(), received_.begin(), received_.end());
        if (!waits.empty())
            builder_.emit(
                Lane::compute,
                intern_.label("boundary exchange", slots_[ends[w] - 1].forward ? Phase::forward : Phase::backward),
                What{HostSync{}}, waits, std::span<const BufferId>{});
    }
}

void StageWriter::post_receives(std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < to; ++i)
        if (boundary_.receives(slots_[i].forward, slots_[i].chunk))
            received_.push_back(boundary_.post_receive(slots_[i].forward, slots_[i].chunk, slots_[i].micro_batch));
}

std::vector<BufferId> StageWriter::send_outputs(std::size_t from, std::size_t to) {
    std::vector<BufferId> tokens;
    for (std::size_t i = from; i < to; ++i)
        if (boundary_.sends(slots_[i].forward, slots_[i].chunk))
            tokens.push_back(boundary_.send(slots_[i].forward, slots_[i].micro_batch, outputs_.extract(i).mapped()));
    return tokens;
}

void StageWriter::forward(const Slot& slot) {
    const auto& chunk = stage_.chunks[slot.chunk];
    const auto mb = static_cast<std::int32_t>(slot.micro_batch);
    std::vector<BufferId> reads;
    if (boundary_.receives(true, slot.chunk)) reads.push_back(boundary_.input(true, slot.chunk, slot.micro_batch));
    auto& saved = saved_[{slot.chunk, slot.micro_batch}];
    for (std::size_t i = 0; i < chunk.size(); ++i) {
        const LayerBlocks& blocks = *chunk[i].blocks;
        saved.push_back(builder_.buffer(blocks.saved_bytes, Keep::activation));
        std::vector<BufferId> writes{saved.back()};
        if (slot.micro_batch == 0 && !gathered_.empty() && sharded() && plan_.strategy.overlap_param_gather)
            each_bucket(slot.chunk, i, [&](std::uint32_t bucket) { reads.push_back(gathered_[bucket]); });
        if (i + 1 == chunk.size() && boundary_.sends(true, slot.chunk)) {
            const BufferId out = boundary_.output();
            writes.push_back(out);
            outputs_[static_cast<std::size_t>(&slot - slots_.data())] = out;
        }
        offload_.before(slot, i, following(slot), reads, writes);
        builder_.emit(Lane::compute, intern_.label("forward", Phase::forward, mb, chunk[i].layer),
                      What{Call{blocks.forward}}, reads, writes);
        offload_.behind(slot, i, saved.back());
        reads.clear();
    }
}

void StageWriter::backward(const Slot& slot, bool last) {
    const auto& chunk = stage_.chunks[slot.chunk];
    const auto mb = static_cast<std::int32_t>(slot.micro_batch);
    auto saved = saved_.extract({slot.chunk, slot.micro_batch}).mapped();
    std::vector<BufferId> reads;
    if (boundary_.receives(false, slot.chunk)) reads.push_back(boundary_.input(false, slot.chunk, slot.micro_batch));
    for (std::size_t i = chunk.size(); i-- > 0;) {
        std::vector<BufferId> writes;
        offload_.before(slot, i, following(slot), reads, writes);
        reads.push_back(offload_.back(slot, i, saved[i]));
        if (last) each_bucket(slot.chunk, i, [&](std::uint32_t bucket) { writes.push_back(gradient_[bucket]); });
        if (i == 0 && boundary_.sends(false, slot.chunk)) {
            const BufferId out = boundary_.output();
            writes.push_back(out);
            outputs_[static_cast<std::size_t>(&slot - slots_.data())] = out;
        }
        builder_.emit(Lane::compute, intern_.label("backward", Phase::backward, mb, chunk[i].layer),
                      What{Call{chunk[i].blocks->backward}}, reads, writes);
        reads.clear();
        if (!last || !plan_.strategy.overlap_grad_reduce) continue;
        each_bucket(slot.chunk, i, [&](std::uint32_t bucket) {
            const GradientBucket& closing = buckets_.buckets[bucket];
            if (closing.chunk == slot.chunk && closing.position == i) reduce(bucket);
        });
    }
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
