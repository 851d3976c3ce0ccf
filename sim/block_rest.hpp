// What is left of a block behind each of its operations.
#pragma once

#include <vector>

#include "sim/costs.hpp"

namespace orrery::sim {

/// From an operation on to the block's end: seconds of the host, of the device where the host is ahead, and what those
/// of the device are.
struct BlockRest {
    double host = 0, device = 0;
    Shares shares;
};

/// One for each operation of a block that is called beside nothing; none where some stand on other lanes than
/// `compute`, since what is left then depends on what runs there.
std::vector<BlockRest> block_rests(const strategies::StepProgram& step, const Costs& costs, std::uint32_t block);

}  // namespace orrery::sim
