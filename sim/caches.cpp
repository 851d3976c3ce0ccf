#include "sim/caches.hpp"

#include <algorithm>

#include "strategies/memory.hpp"

namespace orrery::sim {

Caches::Caches(const strategies::StepProgram& step, const calibrate::Predictor& predictor, std::uint32_t ranks) {
    const auto& constants = predictor.profile().constants;
    const auto found = constants.find("cache_bytes");
    if (found == constants.end()) return;
    const std::vector<std::uint64_t> of_blocks = strategies::block_peaks(step);
    std::uint64_t most = 0;
    for (std::uint32_t role = 0; role < step.programs.size(); ++role)
        most = std::max(most, strategies::memory(step, role, of_blocks).peak);
    const double held = static_cast<double>(most) * ranks;
    if (held > 0) towards_cold_ = std::max(0.0, 1 - 2 * found->second.value / held);
}

}  // namespace orrery::sim
