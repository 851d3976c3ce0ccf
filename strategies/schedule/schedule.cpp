#include "strategies/schedule/schedule.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace orrery::strategies {

double flush_bubble(const PipelineShape& shape, const WorkSeconds& seconds) {
    return (shape.pipeline - 1) * seconds.sum();
}

double interleaved_bubble(const PipelineShape& shape, const WorkSeconds& seconds) {
    return flush_bubble(shape, seconds) / shape.chunks;
}

const Schedule& schedule_of(ScheduleKind kind) {
    const auto at = static_cast<std::size_t>(kind);
    if (at >= schedules.size()) throw std::logic_error("no schedule has number " + std::to_string(at));
    return schedules[at];
}

}  // namespace orrery::strategies
