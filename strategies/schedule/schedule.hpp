// The schedules: in which order one pipeline stage works through micro-batches. To add one: its file, and here its
// value, its functions and its row.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "strategies/schedule/slot.hpp"

namespace orrery::strategies {

enum class ScheduleKind : std::uint8_t { gpipe, one_f_one_b, interleaved, zb_h1 };

/// GPipe (Huang et al. 2019): all forwards, then all backwards in reverse order.
std::vector<Slot> gpipe(const PipelineShape& shape, std::uint32_t stage);
/// One forward, one backward (PipeDream-Flush; SC'21, figure 4 top).
std::vector<Slot> one_f_one_b(const PipelineShape& shape, std::uint32_t stage);
/// Interleaved 1F1B (SC'21, figure 4 bottom): micro_batches a multiple of pipeline; with one chunk plain 1F1B.
std::vector<Slot> interleaved(const PipelineShape& shape, std::uint32_t stage);
/// Handcrafted schedule 1 of zero bubble pipelines (Qi et al. 2023, arXiv:2401.10241, section 2.1).
std::vector<Slot> zb_h1(const PipelineShape& shape, std::uint32_t stage);

/// (p - 1) (F + B + W): every stage waits while the pipeline fills and drains (SC'21, section 2.2.1).
double flush_bubble(const PipelineShape& shape, const WorkSeconds& seconds);
/// The same over the number of chunks (SC'21, section 2.2.2).
double interleaved_bubble(const PipelineShape& shape, const WorkSeconds& seconds);
/// (p - 1) (F + B - W) where W is the shortest work (Qi et al. 2023, table 1); else the shortest stands for it.
double zb_h1_bubble(const PipelineShape& shape, const WorkSeconds& seconds);

/// Micro-batches after which a stage that is full does the same again (Schedule::round).
constexpr std::uint32_t every_micro_batch(const PipelineShape& /*shape*/) { return 1; }
constexpr std::uint32_t every_pipeline(const PipelineShape& shape) { return shape.chunks > 1 ? shape.pipeline : 1; }
constexpr std::uint32_t never_steady(const PipelineShape& /*shape*/) { return 0; }

struct Schedule {
    ScheduleKind kind;
    std::string_view name;   ///< the value of a strategy's key `schedule`
    std::string_view title;  ///< in reports
    /// The slots of a stage in [0, pipeline). verify_schedule() says what must hold of them.
    std::vector<Slot> (*slots)(const PipelineShape& shape, std::uint32_t stage);
    /// Seconds that a stage does nothing in a step, where nothing but works takes time and there are at least as many
    /// micro-batches as stages.
    double (*bubble)(const PipelineShape& shape, const WorkSeconds& seconds);
    /// Micro-batches of one round of the steady pipeline; 0: it has none in which a micro-batch ends for each that
    /// begins.
    std::uint32_t (*round)(const PipelineShape& shape);
    bool chunked = false;          ///< a stage may hold several chunks; micro-batches are then a multiple of stages
    bool splits_backward = false;  ///< into input and weight gradients; what the latter need is kept until then
    /// Sends and receives never stop the host: what a stage does while it waits for a tensor is the schedule's point.
    bool overlaps_p2p = false;
};

inline constexpr std::array schedules{
    Schedule{ScheduleKind::gpipe, "gpipe", "GPipe", gpipe, flush_bubble, never_steady},
    Schedule{ScheduleKind::one_f_one_b, "1f1b", "1F1B", one_f_one_b, flush_bubble, every_micro_batch},
    Schedule{ScheduleKind::interleaved, "interleaved", "interleaved 1F1B", interleaved, interleaved_bubble,
             every_pipeline,
             /*chunked=*/true},
    Schedule{ScheduleKind::zb_h1, "zb-h1", "ZB-H1", zb_h1, zb_h1_bubble, every_micro_batch,
             /*chunked=*/false, /*splits_backward=*/true, /*overlaps_p2p=*/true},
};

/// In the order of the table, which is that of the enumeration.
inline constexpr auto schedule_names = [] {
    std::array<std::string_view, schedules.size()> names;
    for (std::size_t i = 0; i < names.size(); ++i) names[i] = schedules[i].name;
    return names;
}();
static_assert(
    [] {
        for (std::size_t i = 0; i < schedules.size(); ++i)
            if (schedules[i].kind != static_cast<ScheduleKind>(i)) return false;
        return true;
    }(),
    "a schedule's row stands at its value");

/// Throws std::logic_error for a value without a row, which no reader lets through.
const Schedule& schedule_of(ScheduleKind kind);

}  // namespace orrery::strategies
