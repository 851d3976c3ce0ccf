// Weights of one stage that come from the ranks that keep, or have updated, parts of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "strategies/gradient_buckets.hpp"
#include "strategies/intern.hpp"
#include "strategies/ownership.hpp"
#include "strategies/schedule/slot.hpp"
#include "strategies/weight_offload.hpp"

namespace orrery::strategies {

/// Writes two kinds of gatherings. Where ranks keep whole weights but update shares of them, and overlap_param_gather
/// is on, new weights arrive bucket by bucket at the step's beginning, in forward order. Where they keep shares, a
/// layer's weights are gathered for each of its calls, beside the call before, into buffers that are gone behind it
/// (FSDP's backward_prefetch and limit_all_gathers; DeepSpeed's stage 3): two layers' are there at once at most. Where
/// logits read the word embedding too, its layer's stay from its forward to its backward (FSDP's root is not freed
/// behind the forward: torch/distributed/fsdp/_runtime_utils.py, _post_forward_reshard). Under ZeRO++ they move
/// quantized or come from a secondary partition (zero_plus_plus.hpp); what its forward leaves to the backward that
/// follows at once is then not gathered again, as DeepSpeed does not release what its trace needs next. Shares in host
/// memory or on drives come to the device before (weight_offload.hpp), those of one rank in place of a gathering.
class WeightGathers {
public:
    WeightGathers(const Plan& plan, const Stage& stage, std::span<const Slot> slots, const GradientBuckets& buckets,
                  Builder& builder, Intern& intern);

    void begin();
    /// To be told of each call before it is written, in program order; adds to what it reads and writes.
    void before(const Slot& slot, std::size_t position, std::vector<BufferId>& reads, std::vector<BufferId>& writes);
    /// And of a forward's call behind it: what is kept of a layer's weights is copied when they are used first, and the
    /// host waits for that (partition_parameters.py, _partition_param_sec).
    void behind();
    /// Whether they are there for all calls, but for those of `slot` that wait for new ones.
    [[nodiscard]] bool always_there() const { return uses_.empty(); }
    [[nodiscard]] bool arrive_for(const Slot& slot) const {
        return !early_.empty() && slot.micro_batch == 0 && slot.work == SlotWork::forward;
    }

private:
    struct Use {
        const Slot* slot;
        std::size_t position;
        bool first = false;  ///< of a step, and a secondary partition is kept
        bool lent = false;   ///< its weights are still there
    };
    using LayerPart = std::pair<std::int32_t, bool>;  // layer, experts
    [[nodiscard]] bool shares_weights() const {
        return !moves(mesh_, dense_.weights, dense_.used, dense_.replicas).empty();
    }
    void find_uses(std::span<const Slot> slots);
    void gather(std::size_t use);
    void gather(std::size_t use, const PlacedLayer& layer);
    BufferId gather(std::size_t use, const Label& label, const Move& move, std::uint64_t parameters,
                    std::span<const BufferId> shares);
    [[nodiscard]] const PlacedLayer& layer_of(const Use& use) const {
        return stage_.chunks[use.slot->chunk][use.position];
    }
    void lend(std::size_t use, const PlacedLayer& layer);
    [[nodiscard]] Label label_of(const Use& use) const;
    void bring(std::size_t use);
    void fetch(std::size_t use, bool read);
    void takes(std::int32_t layer, bool experts);

    const Plan& plan_;
    const Stage& stage_;
    const GradientBuckets& buckets_;
    Builder& builder_;
    Intern& intern_;
    Mesh mesh_;
    Ownership dense_, experts_;
    std::vector<BufferId> early_;                  // by bucket; empty: they do not arrive so
    std::vector<Use> uses_;                        // calls in program order; empty: weights are whole
    std::vector<std::vector<BufferId>> gathered_;  // by use
    bool lends_ = false;                           // a layer reads the first one's words
    std::vector<BufferId> lent_;                   // where they are gathered
    std::vector<BufferId> done_;                   // by use: what its call writes
    ArrivingShares arriving_;
    std::map<LayerPart, std::uint16_t> details_;  // what their gatherings take
    std::map<std::int32_t, BufferId> secondary_;  // by layer: what says that its part is kept
};

}  // namespace orrery::strategies
