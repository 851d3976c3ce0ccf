// The tensors that cross between pipeline stages.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "strategies/intern.hpp"
#include "strategies/plan.hpp"
#include "strategies/schedule/slot.hpp"

namespace orrery::strategies {

/// Emits the sends and receives of one stage and remembers the buffers of tensors on their way to or from a slot.
class Boundary {
public:
    Boundary(const Plan& plan, std::uint32_t stage, Builder& builder, Intern& intern);

    /// Whether a slot's input comes from, or its output goes to, another stage: those of weight gradients and of an
    /// update never do.
    [[nodiscard]] bool receives(const Slot& slot) const;
    [[nodiscard]] bool sends(const Slot& slot) const;

    /// Posts the receive of a slot's input; returns the buffer.
    BufferId post_receive(const Slot& slot);
    /// The buffer of a posted receive, gathered over the tensor axis when its parts came separately.
    BufferId input(const Slot& slot);
    /// A buffer for a slot's output, then its send; returns a token that the send writes.
    BufferId output() { return builder_.buffer(full_bytes_, Keep::scratch); }
    BufferId send(const Slot& slot, BufferId what);

private:
    [[nodiscard]] bool scattered() const;
    [[nodiscard]] bool first(std::uint32_t chunk) const { return chunk == 0 && stage_ == 0; }
    [[nodiscard]] bool last(std::uint32_t chunk) const {
        return chunk + 1 == plan_.strategy.virtual_pipeline && stage_ + 1 == plan_.strategy.pipeline;
    }
    Label label(const char* forward, const char* backward, const Slot& slot);

    const Plan& plan_;
    std::uint32_t stage_;
    Builder& builder_;
    Intern& intern_;
    std::uint64_t full_bytes_, wire_bytes_;
    std::map<std::pair<bool, std::pair<std::uint32_t, std::uint32_t>>, BufferId> posted_;
};

}  // namespace orrery::strategies
