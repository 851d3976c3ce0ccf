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
#include "strategies/weight_visits.hpp"

namespace orrery::strategies {

/// Writes two kinds of gatherings. Where ranks keep whole weights but update shares of them, and overlap_param_gather
/// is on, new weights arrive bucket by bucket at the step's beginning, in forward order. Where they keep shares, those
/// of a unit (weight_visits.hpp) are gathered for each visit into buffers that are gone behind it, as PyTorch's FSDP
/// and DeepSpeed's stage 3 do: asked for FullSharding::prefetch visits before their turn (0: behind the gradients that
/// the visit before has sent off), and not before all but so many of the units there, or one, have been given back
/// (limit_all_gathers: two at once, torch/distributed/fsdp/_limiter_utils.py). Without that limit a forward's are all
/// asked for at once, since the host is ahead; a backward's still wait in line with its gradients. Under ZeRO++ they
/// move quantized or come from a secondary partition (zero_plus_plus.hpp); what its forward leaves to the backward that
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
    [[nodiscard]] bool always_there() const { return visits_.empty(); }
    [[nodiscard]] bool arrive_for(const Slot& slot) const {
        return !early_.empty() && slot.micro_batch == 0 && slot.work == SlotWork::forward;
    }

private:
    using LayerPart = std::pair<std::int32_t, bool>;          // the first layer of a unit, experts
    using UnitPlace = std::pair<std::uint32_t, std::size_t>;  // chunk, position
    [[nodiscard]] bool shares_weights() const {
        return !moves(mesh_, dense_.weights, dense_.used, dense_.replicas).empty();
    }
    /// The parameters of a unit.
    [[nodiscard]] WeightCount weights(const Visit& visit, bool experts) const;
    [[nodiscard]] std::uint64_t parameters(const Visit& visit) const {
        return weights(visit, false).all + weights(visit, true).all;
    }
    [[nodiscard]] std::span<const PlacedLayer> layers(const Visit& visit) const {
        return std::span(stage_.chunks[visit.slot->chunk]).subspan(visit.begin, visit.calls());
    }
    [[nodiscard]] std::size_t ahead(std::size_t visit) const;
    void ask_up_to(std::size_t end);
    void gather(std::size_t visit);
    BufferId gather(std::size_t visit, const Label& label, const Move& move, WeightCount amount,
                    std::span<const BufferId> shares);
    void copy_out(std::size_t visit);
    void copy_out(const Label& label, BufferId& gathered);
    [[nodiscard]] Label label_of(const Visit& visit) const;
    void bring(std::size_t visit);
    void fetch(std::size_t visit, bool read);
    void takes(const Visit& visit, bool experts);

    const Plan& plan_;
    const Stage& stage_;
    const GradientBuckets& buckets_;
    Builder& builder_;
    Intern& intern_;
    Mesh mesh_;
    Ownership dense_, experts_;
    std::vector<BufferId> early_;                       // by bucket; empty: they do not arrive so
    std::vector<Visit> visits_;                         // in program order; empty: weights are whole
    std::vector<std::vector<BufferId>> gathered_;       // by visit
    std::map<BufferId, std::uint64_t> casts_;           // of what is gathered to be copied: room beside the copies
    std::map<UnitPlace, std::vector<BufferId>> there_;  // by unit: where those lie that stay
    std::vector<BufferId> done_;                        // by visit: what its last call writes
    std::size_t asked_ = 0;                             // visits whose weights are there or on their way
    std::size_t calls_ = 0;                             // of the visit at hand, so far
    ArrivingShares arriving_;
    std::map<LayerPart, std::uint16_t> details_;  // what their gatherings take
    std::map<std::int32_t, BufferId> secondary_;  // by layer: what says that its part is kept
};

}  // namespace orrery::strategies
