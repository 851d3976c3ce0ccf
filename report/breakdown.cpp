#include "report/breakdown.hpp"

#include <algorithm>
#include <iterator>

namespace orrery::report {

std::size_t bounding_stage(const std::vector<sim::Breakdown>& stages) {
    const auto least = std::ranges::min_element(stages, {}, &sim::Breakdown::bubble);
    return stages.empty() ? 0 : static_cast<std::size_t>(std::distance(stages.begin(), least));
}

std::size_t fullest_stage(const sim::MemoryUse& p) {
    const auto spare = [&](std::size_t stage) {
        return static_cast<double>(p.capacity(stage)) - static_cast<double>(p.memory[stage].peak);
    };
    std::size_t fullest = 0;
    for (std::size_t stage = 1; stage < p.memory.size(); ++stage)
        if (spare(stage) < spare(fullest)) fullest = stage;
    return fullest;
}

}  // namespace orrery::report
