// The tensors that cross between pipeline stages.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "strategies/intern.hpp"
#include "strategies/plan.hpp"

namespace orrery::strategies {

/// Emits the sends and receives of one stage and remembers the buffers of tensors on their way to or from a slot.
class Boundary {
public:
    Boundary(const Plan& plan, std::uint32_t stage, Builder& builder, Intern& intern);

    /// Whether a slot's input comes from, or its output goes to, another stage.
    [[nodiscard]] bool receives(bool forward, std::uint32_t chunk) const;
    [[nodiscard]] bool sends(bool forward, std::uint32_t chunk) const;

    /// Posts the receive of a slot's input; returns the buffer.
    BufferId post_receive(bool forward, std::uint32_t chunk, std::uint32_t micro_batch);
    /// The buffer of a posted receive, gathered over the tensor axis when its parts came separately.
    BufferId input(bool forward, std::uint32_t chunk, std::uint32_t micro_batch);
    /// A buffer for a slot's output, then its send; returns a token that the send writes.
    BufferId output() { return builder_.buffer(full_bytes_, Keep::scratch); }
    BufferId send(bool forward, std::uint32_t micro_batch, BufferId what);

private:
    [[nodiscard]] bool scattered() const;

    const Plan& plan_;
    std::uint32_t stage_;
    Builder& builder_;
    Intern& intern_;
    std::uint64_t full_bytes_, wire_bytes_;
    std::map<std::pair<bool, std::pair<std::uint32_t, std::uint32_t>>, BufferId> posted_;
};

}  // namespace orrery::strategies
