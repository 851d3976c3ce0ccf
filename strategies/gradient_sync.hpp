// Gradients of one stage, from the backwards that form them to the update.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "strategies/bucket_copies.hpp"
#include "strategies/gradient_buckets.hpp"
#include "strategies/intern.hpp"
#include "strategies/ownership.hpp"
#include "strategies/schedule/slot.hpp"

namespace orrery::strategies {

/// Writes the collectives that turn gradients as they are formed into gradients as they are summed over micro-batches
/// (behind every backward), and these into what the optimizer takes (once a step), bucket by bucket. Which there are
/// says the ownership. With overlap_grad_reduce they run beside the backward. Without, those of every backward take
/// their turn in it, bucket by bucket (DeepSpeed without overlap_comm reduces on the stream of the layers:
/// runtime/zero/stage_1_and_2.py, average_tensor), those of once a step run behind it. Where sums lie in host memory
/// (Plan::sums_on_host; DeepSpeed's runtime/zero/stage3.py, partition_grads) each micro-batch's shares go there, from
/// the second on with the sum so far, which is copied to the device, added, and copied back; the whole sum goes on to
/// the drives, in fp32, where states lie on them.
class GradientSync {
public:
    GradientSync(const Plan& plan, const Stage& stage, std::span<const Slot> slots, Builder& builder, Intern& intern);

    /// The buffers that last for the step, and the kernel that zeroes them.
    void begin();
    /// The same kernel for another step, where one program has several.
    void begin_step();
    /// Adds what the call of a slot's layer, by its position in its chunk, writes.
    void formed(const Slot& slot, std::size_t position, std::vector<BufferId>& writes);
    /// Behind the slot's last call for that layer.
    void behind(const Slot& slot, std::size_t position);
    /// Adds what the layers' next call waits for, since its turn comes behind a bucket's.
    void take_turn(std::vector<BufferId>& reads);
    /// What the last reduction makes that was written beside the backward; empty: there is none yet.
    [[nodiscard]] const std::vector<BufferId>& under_way() const { return under_way_; }
    /// What is left to do when all slots have run. Returns what the optimizer reads; last_dense() is then the last of
    /// them that holds no experts.
    std::vector<BufferId> finish();
    [[nodiscard]] BufferId last_dense() const;

    [[nodiscard]] const GradientBuckets& buckets() const { return buckets_; }
    /// Whether backwards form nothing that is exchanged behind each of them: only those that are last are told apart.
    [[nodiscard]] bool once_a_step() const {
        return !plan_.sums_on_host() && dense_scatters_.empty() && expert_scatters_.empty();
    }
    /// Whether no later slot of its chunk and step adds to gradients, of inputs or of weights.
    [[nodiscard]] bool is_last(const Slot& slot) const { return last_[number(slot)]; }

private:
    using Formed = std::pair<std::uint32_t, std::uint32_t>;  // bucket, micro-batch

    [[nodiscard]] const Ownership& owners(std::uint32_t bucket) const {
        return buckets_.buckets[bucket].experts ? experts_ : dense_;
    }
    [[nodiscard]] const std::vector<Move>& scatters(std::uint32_t bucket) const {
        return buckets_.buckets[bucket].experts ? expert_scatters_ : dense_scatters_;
    }
    [[nodiscard]] const std::vector<Move>& reductions(std::uint32_t bucket) const {
        return buckets_.buckets[bucket].experts ? expert_reductions_ : dense_reductions_;
    }
    [[nodiscard]] std::uint64_t bytes_of(std::uint32_t bucket) const;
    void takes(std::uint32_t bucket, const std::array<StateView, 2>& operands, bool summed, bool goes_on);
    BufferId moves_into(std::uint32_t bucket, bool goes_on);
    BufferId emit(const std::vector<Move>& list, std::uint32_t bucket, BufferId from, bool summed);
    void forms(std::uint32_t bucket, std::uint32_t micro_batch, std::vector<BufferId>& writes);
    [[nodiscard]] bool by_micro_batch(std::uint32_t bucket) const {
        return plan_.sums_on_host() || !scatters(bucket).empty();
    }
    [[nodiscard]] std::uint64_t share_of(std::uint32_t bucket) const;
    void scatter(std::uint32_t bucket, std::uint32_t micro_batch, bool last);
    BufferId add_on_device(std::uint32_t bucket, std::int32_t micro_batch, BufferId formed);
    BufferId sum_on_host(std::uint32_t bucket, std::uint32_t micro_batch, BufferId formed, bool last);
    [[nodiscard]] std::vector<ParameterShape> shapes_in(std::uint32_t bucket) const;
    /// Whether copies of the bucket are reduced, and whether those of sums are.
    [[nodiscard]] bool copied(std::uint32_t bucket) const {
        return copies_sums(bucket) || (copies_into_buckets(plan_) && !scatters(bucket).empty());
    }
    [[nodiscard]] bool copies_sums(std::uint32_t bucket) const {
        return copies_into_buckets(plan_) && !reductions(bucket).empty();
    }
    BufferId exchange_quantized(std::uint32_t bucket, BufferId formed);
    void reduce(std::uint32_t bucket);
    void reduce_replicated();
    [[nodiscard]] std::size_t number(const Slot& slot) const { return static_cast<std::size_t>(&slot - slots_.data()); }

    const Plan& plan_;
    const Stage& stage_;
    std::span<const Slot> slots_;
    Builder& builder_;
    Intern& intern_;
    Mesh mesh_;
    Ownership dense_, experts_;
    std::vector<Move> dense_scatters_, expert_scatters_;      // of what each backward formed
    std::vector<Move> dense_reductions_, expert_reductions_;  // of sums
    GradientBuckets buckets_;
    BucketCopies copies_;
    std::vector<bool> last_;                     // by slot: completes its chunk's gradients of a step
    std::vector<BufferId> gradient_, reduced_;   // by bucket
    std::uint64_t kept_ = 0;                     // elements of all of them
    std::map<Formed, BufferId> formed_;          // of buckets that are scattered behind every backward
    std::map<std::uint32_t, BufferId> on_host_;  // by bucket: sums that lie in host memory
    std::map<std::pair<std::uint32_t, bool>, std::uint16_t> scatters_;  // by bucket: what its collectives take
    std::vector<BufferId> under_way_, in_turn_;
};

}  // namespace orrery::strategies
