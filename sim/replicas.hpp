// Replicas that do the same until they meet, simulated as one until then.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "sim/folding.hpp"
#include "sim/tape.hpp"

namespace orrery::sim {

/// The traffic without the groups that no program joins in its first half; equal where there are none.
Traffic before_replicas_meet(const strategies::StepProgram& step, const Traffic& traffic);

/// What the classes of a coarser folding did: holds for the members of each until `until`, a moment at which nothing
/// that crosses a link was under way.
struct KnownStart {
    const Folding* folding;
    const std::vector<RankClass>* classes;  ///< with spans
    double until = 0;                       ///< seconds

    /// Whether an operation had begun by then, or a host sync ended.
    [[nodiscard]] bool knows(const Tape::Op& op, const Span& span) const {
        return (op.kind == Tape::Kind::sync ? span.end : span.begin) < until;
    }
};

/// The last such moment up to `latest`. fine: of the same step, whose links count too.
double last_quiet_moment(const Folding& fine, const Folding& coarse, const Tapes& tapes,
                         const std::vector<RankClass>& classes, double latest);

}  // namespace orrery::sim
