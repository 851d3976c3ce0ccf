// Who simulates the points of a question, side by side: threads of this process, or those of other processes too.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "planning/journal.hpp"
#include "strategies/plan.hpp"

namespace orrery::planning {

/// One thing to simulate.
struct Work {
    struct Plan {
        strategies::Strategy strategy;
        std::uint32_t micro_batch = 1;
    };
    std::uint64_t point = 0;   ///< of the question's grid
    std::optional<Plan> plan;  ///< where the question is a search: which plan on that point's cluster
};

/// Throws Error for what makes the work impossible.
using Simulate = std::function<Answer(const Work&)>;

/// Those that simulate side by side, one work at a time each, made of what simulates in this process (from any number
/// of threads at once).
using Crew = std::function<std::vector<Simulate>(const Simulate& here)>;

/// So many threads of this process.
Crew crew_of(unsigned threads);

/// A work as a JSON line (without its end), and back: for processes that share no memory. Throws Error for a line that
/// is none.
std::string to_line(const Work& work);
Work work_from_line(std::string_view line);

}  // namespace orrery::planning
