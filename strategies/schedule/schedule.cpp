#include "strategies/schedule/schedule.hpp"

namespace orrery::strategies {

std::vector<Slot> schedule(const Strategy& strategy, std::uint32_t stage, std::uint32_t micro_batches) {
    switch (strategy.schedule) {
        case ScheduleKind::gpipe: return gpipe(micro_batches);
        case ScheduleKind::one_f_one_b: return one_f_one_b(strategy.pipeline, stage, micro_batches);
        case ScheduleKind::interleaved:
            if (strategy.virtual_pipeline > 1)
                return interleaved(strategy.pipeline, strategy.virtual_pipeline, stage, micro_batches);
            return one_f_one_b(strategy.pipeline, stage, micro_batches);
    }
    return {};
}

}  // namespace orrery::strategies
