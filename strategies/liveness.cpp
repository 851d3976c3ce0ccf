#include "strategies/liveness.hpp"

#include <algorithm>
#include <span>

namespace orrery::strategies {

std::vector<Uses> uses(const Program& program) {
    std::vector<Uses> lives(program.buffers.size());
    for (std::uint32_t i = 0; i < program.ops.size(); ++i) {
        const Op& op = program.ops[i];
        const std::span operands(program.operands.data() + op.operands, std::size_t{op.reads} + op.writes);
        for (const BufferId id : operands) {
            lives[id].first = std::min(lives[id].first, i);
            lives[id].last = i;
        }
    }
    return lives;
}

}  // namespace orrery::strategies
