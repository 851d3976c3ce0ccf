// Saved activations of a chunk's first layers, kept in host memory between forward and backward.
//
// Megatron-LM's --cpu-offloading-num-layers by TransformerEngine (pytorch/cpu_offload.py): behind a layer's forward a
// copy to the host begins, beside the next layers; ahead of its backward a copy back, beside the layers above. As
// there, the copies of N layers out of a chunk's L are spread over all L: that of layer k (from 0) must have ended when
// ceil((k + 1) L / N) layers have run, so that a slow link has the time of L layers for N copies and the forward never
// runs further ahead of them than that. Backward mirrors it. With N = L, which TransformerEngine does not allow, a copy
// has one layer's time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "strategies/intern.hpp"
#include "strategies/plan.hpp"
#include "strategies/schedule/slot.hpp"
#include "strategies/stage.hpp"

namespace orrery::strategies {

/// Writes the copies of one stage between its calls, and what calls read so that memory is given back when a copy to
/// the host has ended, and taken again when the copy back begins. Does nothing in a plan without offloading; a schedule
/// that splits the backward has none.
class Offload {
public:
    Offload(const Plan& plan, const Stage& stage, Builder& builder, Intern& intern);

    /// To be told of each call before it is written, in program order: the call of a slot's layer, by its position in
    /// its chunk, with the slot that follows (null: none). Writes copies back that run beside it, and adds to what the
    /// call reads and writes.
    void before(const Slot& slot, std::size_t position, const Slot* next, std::vector<BufferId>& reads,
                std::vector<BufferId>& writes);
    /// Behind a layer's forward call, which wrote `saved`. A backward that follows and needs this very layer first
    /// waits for its copies alone, not for the gradient that it receives: as it would if another micro-batch lay
    /// between.
    void behind(const Slot& slot, std::size_t position, const Slot* next, BufferId saved);
    /// What a layer's backward reads instead of `saved`, if it was offloaded.
    [[nodiscard]] BufferId back(const Slot& slot, std::size_t position, BufferId saved);

private:
    [[nodiscard]] std::uint32_t calls_ahead(std::uint32_t chunk, std::uint32_t number) const;
    /// Behind those that read the data: of an encoder's and a decoder's words there are two.
    [[nodiscard]] std::size_t first(std::uint32_t chunk) const {
        const auto& layers = stage_.chunks[chunk];
        return static_cast<std::size_t>(
            std::ranges::find_if(layers, [](const PlacedLayer& placed) { return placed.layer >= 0; }) - layers.begin());
    }
    [[nodiscard]] bool offloaded(std::uint32_t chunk, std::size_t position) const;
    void reload(const Slot& slot, std::size_t position);
    void reload_beside(const Slot& slot, std::size_t position);

    struct Copying {
        BufferId saved, copied, host;
        std::uint64_t until;  ///< number of the call that waits for the copy
    };
    using Layer = std::pair<std::pair<std::uint32_t, std::uint32_t>, std::size_t>;  // (chunk, micro-batch), position
    static Layer layer(const Slot& slot, std::size_t position) { return {{slot.chunk, slot.micro_batch}, position}; }

    const Stage& stage_;
    Builder& builder_;
    Intern& intern_;
    std::uint32_t layers_;           ///< that are offloaded, of each chunk
    std::vector<std::uint32_t> of_;  ///< layers of each chunk
    std::uint64_t calls_ = 0;
    std::vector<Copying> copying_;
    std::vector<BufferId> done_;  ///< what the last call writes; empty before the first
    std::map<Layer, BufferId> on_host_, reloaded_;
};

}  // namespace orrery::strategies
