#include "strategies/hazards.hpp"

#include <algorithm>
#include <limits>

namespace orrery::strategies {

namespace {
constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

}  // namespace

Hazards::Hazards(const Program& program) {
    /// Readers of a buffer since its last write are a list, the last one first.
    struct Reader {
        std::uint32_t op, before;
    };
    struct Use {
        std::uint32_t writer = none, last_reader = none;
    };
    std::vector<Use> uses(program.buffers.size());
    std::vector<Reader> readers;
    readers.reserve(program.operands.size());
    edges_.reserve(program.operands.size());
    begin_.reserve(program.ops.size() + 1);
    begin_.push_back(0);
    for (std::uint32_t i = 0; i < program.ops.size(); ++i) {
        const Op& op = program.ops[i];
        // A host sync belongs to no lane: it must wait for whatever it reads, wherever that ran.
        const bool of_no_lane = std::holds_alternative<HostSync>(op.what);
        const auto wait_for = [&](std::uint32_t other) {
            if (other == none || other == i) return;
            if (of_no_lane || program.ops[other].lane != op.lane) edges_.push_back(other);
        };
        for (const BufferId id : program.reads(op)) {
            wait_for(uses[id].writer);
            readers.push_back({i, uses[id].last_reader});
            uses[id].last_reader = static_cast<std::uint32_t>(readers.size() - 1);
        }
        for (const BufferId id : program.writes(op)) {
            wait_for(uses[id].writer);
            for (std::uint32_t at = uses[id].last_reader; at != none; at = readers[at].before) wait_for(readers[at].op);
            uses[id] = {.writer = i};
        }
        const auto first = edges_.begin() + static_cast<std::ptrdiff_t>(begin_.back());
        if (edges_.end() - first > 1) {
            std::sort(first, edges_.end());
            edges_.erase(std::unique(first, edges_.end()), edges_.end());
        }
        begin_.push_back(static_cast<std::uint32_t>(edges_.size()));
    }
}

}  // namespace orrery::strategies
