// The schedules: in which order one pipeline stage works through micro-batches. To add one: its file, and here its
// value, its functions and its row.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "strategies/schedule/slot.hpp"

namespace orrery::strategies {

enum class ScheduleKind : std::uint8_t {
    gpipe,
    one_f_one_b,
    interleaved,
    zb_h1,
    zb_h2,
    zb_v,
    v_half,
    v_min,
    chimera,
    dual_pipe,
    dual_pipe_v,
    pipedream,
    pipedream_2bw,
    pipedream_vertical_sync
};

/// GPipe (Huang et al. 2019): all forwards, then all backwards in reverse order.
std::vector<Slot> gpipe(const PipelineShape& shape, std::uint32_t stage);
/// One forward, one backward (PipeDream-Flush; SC'21, figure 4 top).
std::vector<Slot> one_f_one_b(const PipelineShape& shape, std::uint32_t stage);
/// Interleaved 1F1B (SC'21, figure 4 bottom): micro_batches a multiple of pipeline; with one chunk plain 1F1B.
std::vector<Slot> interleaved(const PipelineShape& shape, std::uint32_t stage);
/// Handcrafted schedule 1 of zero bubble pipelines (Qi et al. 2023, arXiv:2401.10241, section 2.1).
std::vector<Slot> zb_h1(const PipelineShape& shape, std::uint32_t stage);
/// Schedule 2 of the same (section 2.2), whose steps follow each other without a flush: each stage updates its weights
/// with its own last gradient, and what all stages must agree on (norm, overflow) is validated afterwards (section 4).
std::vector<Slot> zb_h2(const PipelineShape& shape, std::uint32_t stage);
/// Two chunks in a V, by blocks that repeat (Qi et al. 2024, arXiv:2405.15362, section 3): V-ZB, V-Half, V-Min.
std::vector<Slot> zb_v(const PipelineShape& shape, std::uint32_t stage);
std::vector<Slot> v_half(const PipelineShape& shape, std::uint32_t stage);
std::vector<Slot> v_min(const PipelineShape& shape, std::uint32_t stage);
/// Two pipelines of 1F1B in opposite directions (Li and Hoefler, SC'21, arXiv:2107.06925, section 3): basic units of as
/// many micro-batches as there are stages, of which there is an even number, one behind the other.
std::vector<Slot> chimera(const PipelineShape& shape, std::uint32_t stage);
/// DualPipe, or where the chunks lie in a V DualPipeV (DeepSeek-AI 2024, arXiv:2412.19437, section 3.2.1, figure 5;
/// repository deepseek-ai/DualPipe).
std::vector<Slot> dual_pipe(const PipelineShape& shape, std::uint32_t stage);
/// 1F1B that goes on over the steps: an update follows the last backward of its step, and nothing waits for the
/// pipeline to drain (PipeDream: Narayanan et al., SOSP'19, section 3.2; PipeDream-2BW: arXiv:2006.09503, section 3.1).
std::vector<Slot> steady_one_f_one_b(const PipelineShape& shape, std::uint32_t stage);

/// (p - 1) (F + B + W): every stage waits while the pipeline fills and drains (SC'21, section 2.2.1).
double flush_bubble(const PipelineShape& shape, const WorkSeconds& seconds);
/// The same over the number of chunks (SC'21, section 2.2.2).
double interleaved_bubble(const PipelineShape& shape, const WorkSeconds& seconds);
/// (p - 1) (F + B - W) where W is the shortest work (Qi et al. 2023, table 1); else the shortest stands for it.
double zb_h1_bubble(const PipelineShape& shape, const WorkSeconds& seconds);
/// (p - 1) (F + B - 2 W) where W is the shortest work (table 1); else the shortest stands for it.
double zb_h2_bubble(const PipelineShape& shape, const WorkSeconds& seconds);
/// Of works that take equally long, as the building blocks suppose; of others a lower bound, by the shortest of them.
double zb_v_bubble(const PipelineShape& shape, const WorkSeconds& seconds);
double v_half_bubble(const PipelineShape& shape, const WorkSeconds& seconds);
double v_min_bubble(const PipelineShape& shape, const WorkSeconds& seconds);
/// (p - 2) longest, of forward and backward: D - 2 bubbles (Li and Hoefler, table 2) where both take equally long.
/// Where they do not, every basic unit but the first adds p - 2 times what lies between them (section 3.5).
double chimera_bubble(const PipelineShape& shape, const WorkSeconds& seconds);
/// (PP / 2 - 1) (F&B + B - 3 W), of PP virtual stages and B a whole backward (arXiv:2412.19437, table 2), of works that
/// take equally long; of others a lower bound, by the shortest of them.
double dual_pipe_bubble(const PipelineShape& shape, const WorkSeconds& seconds);
/// None: a step begins before the last has left the pipeline.
double no_bubble(const PipelineShape& shape, const WorkSeconds& seconds);

/// Micro-batches after which a stage that is full does the same again (Schedule::round).
constexpr std::uint32_t every_micro_batch(const PipelineShape& /*shape*/) { return 1; }
constexpr std::uint32_t every_pipeline(const PipelineShape& shape) { return shape.chunks > 1 ? shape.pipeline : 1; }
constexpr std::uint32_t never_steady(const PipelineShape& /*shape*/) { return 0; }
constexpr std::uint32_t every_step(const PipelineShape& shape) { return shape.micro_batches; }

/// Versions of a stage's weights that are there at once (Schedule::versions).
constexpr std::uint32_t one_version(const PipelineShape& /*shape*/, std::uint32_t /*stage*/) { return 1; }
/// One for each micro-batch that waits for its backward, whose weights are those of its forward, and no more than
/// steps between them (Narayanan et al., SOSP'19, section 3.3).
constexpr std::uint32_t stashed_versions(const PipelineShape& shape, std::uint32_t stage) {
    const std::uint32_t under_way = shape.pipeline - stage;
    return 1 + (under_way - 1 + shape.micro_batches - 1) / shape.micro_batches;
}
/// As many on every stage as on the first, since all take what was the first one's newest (the same, "vertical sync").
constexpr std::uint32_t versions_of_first(const PipelineShape& shape, std::uint32_t /*stage*/) {
    return stashed_versions(shape, 0);
}
/// The one that new micro-batches take and the one before (arXiv:2006.09503, section 3.1); a pipeline of one stage
/// needs no other.
constexpr std::uint32_t two_versions(const PipelineShape& shape, std::uint32_t /*stage*/) {
    return shape.pipeline > 1 ? 2 : 1;
}

/// Which of them a micro-batch's forward and backward on a stage read, counted from the first: how often the stage has
/// updated its weights before (Schedule::version). The newest that there is as its forward begins.
constexpr std::uint32_t newest_version(const PipelineShape& shape, std::uint32_t stage, std::uint32_t micro_batch) {
    const std::uint32_t ahead = shape.pipeline - 1 - stage;
    return micro_batch < ahead ? 0 : (micro_batch - ahead) / shape.micro_batches;
}
/// The one that a micro-batch took on the first stage, on every stage (SOSP'19, section 3.3, vertical sync).
constexpr std::uint32_t newest_of_first(const PipelineShape& shape, std::uint32_t /*stage*/,
                                        std::uint32_t micro_batch) {
    return newest_version(shape, 0, micro_batch);
}
/// All of a step's the same, on every stage: those of the step before (arXiv:2006.09503, equation 1).
constexpr std::uint32_t version_before(const PipelineShape& shape, std::uint32_t stage, std::uint32_t micro_batch) {
    const std::uint32_t step = micro_batch / shape.micro_batches;
    return two_versions(shape, stage) == 1 || step == 0 ? step : step - 1;
}

/// What a schedule asks of the shape. stages, micro_batches: their number is a multiple of these; least: of
/// micro-batches.
struct Demand {
    std::uint32_t stages = 1, micro_batches = 1, least = 1;
};
constexpr Demand any_shape(const PipelineShape& /*shape*/) { return {}; }
constexpr Demand whole_rounds(const PipelineShape& shape) {
    return {.micro_batches = shape.chunks > 1 ? shape.pipeline : 1};
}
/// Qi et al. 2023, section 2.2: as many as the first stage has forwards ahead of its first backward.
constexpr Demand twice_the_forwards(const PipelineShape& shape) { return {.least = 2 * shape.pipeline - 1}; }
/// Li and Hoefler, sections 3.1 and 3.5.
constexpr Demand whole_units(const PipelineShape& shape) { return {.stages = 2, .micro_batches = shape.pipeline}; }
/// deepseek-ai/DualPipe, dualpipe.py and dualpipev.py: two for each stage; in two directions half of them in each.
constexpr Demand two_for_each_stage(const PipelineShape& shape) {
    return {.stages = shape.copies(), .micro_batches = shape.copies(), .least = 2 * shape.pipeline};
}

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
    bool chunked = false;  ///< a stage may hold several chunks of one model
    Backwards backwards = Backwards::whole;
    /// Sends and receives never stop the host: what a stage does while it waits for a tensor is the schedule's point.
    bool overlaps_p2p = false;
    /// How several chunks lie on the stages, and how many a stage must hold; 0: any number.
    ChunkOrder order = ChunkOrder::wraps;
    std::uint32_t chunks = 0;
    Demand (*demand)(const PipelineShape& shape) = any_shape;
    bool pairs = false;  ///< forwards and backwards of the steady pipeline are pairs, whatever runs beside what in them
    /// Steps have no flush between them: a stage's update comes while micro-batches of other steps are under way in
    /// others, or in itself, whose gradients are then of weights that are some updates old. What is said of a step is
    /// its share of many.
    bool asynchronous = false;
    std::uint32_t (*versions)(const PipelineShape& shape, std::uint32_t stage) = one_version;
    /// Of a schedule with several.
    std::uint32_t (*version)(const PipelineShape& shape, std::uint32_t stage, std::uint32_t micro_batch) = nullptr;

    [[nodiscard]] constexpr bool splits_backward() const { return backwards != Backwards::whole; }
};

inline constexpr std::array schedules{
    Schedule{ScheduleKind::gpipe, "gpipe", "GPipe", gpipe, flush_bubble, never_steady},
    Schedule{ScheduleKind::one_f_one_b, "1f1b", "1F1B", one_f_one_b, flush_bubble, every_micro_batch},
    Schedule{ScheduleKind::interleaved, "interleaved", "interleaved 1F1B", interleaved, interleaved_bubble,
             every_pipeline,
             /*chunked=*/true, Backwards::whole, /*overlaps_p2p=*/false, ChunkOrder::wraps, /*chunks=*/0, whole_rounds},
    Schedule{ScheduleKind::zb_h1, "zb-h1", "ZB-H1", zb_h1, zb_h1_bubble, every_micro_batch,
             /*chunked=*/false, Backwards::split, /*overlaps_p2p=*/true},
    Schedule{ScheduleKind::zb_h2, "zb-h2", "ZB-H2", zb_h2, zb_h2_bubble, every_step, /*chunked=*/false,
             Backwards::split, /*overlaps_p2p=*/true, ChunkOrder::wraps, /*chunks=*/0, twice_the_forwards,
             /*pairs=*/false, /*asynchronous=*/true},
    Schedule{ScheduleKind::zb_v, "zb-v", "ZB-V", zb_v, zb_v_bubble, never_steady, /*chunked=*/true, Backwards::split,
             /*overlaps_p2p=*/true, ChunkOrder::turns, /*chunks=*/2},
    Schedule{ScheduleKind::v_half, "v-half", "V-Half", v_half, v_half_bubble, never_steady, /*chunked=*/true,
             Backwards::split, /*overlaps_p2p=*/true, ChunkOrder::turns, /*chunks=*/2},
    Schedule{ScheduleKind::v_min, "v-min", "V-Min", v_min, v_min_bubble, never_steady, /*chunked=*/true,
             Backwards::split, /*overlaps_p2p=*/true, ChunkOrder::turns, /*chunks=*/2},
    Schedule{ScheduleKind::chimera, "chimera", "Chimera", chimera, chimera_bubble, never_steady, /*chunked=*/false,
             Backwards::whole, /*overlaps_p2p=*/true, ChunkOrder::opposes, /*chunks=*/2, whole_units},
    Schedule{ScheduleKind::dual_pipe, "dualpipe", "DualPipe", dual_pipe, dual_pipe_bubble, never_steady,
             /*chunked=*/false, Backwards::either, /*overlaps_p2p=*/true, ChunkOrder::opposes, /*chunks=*/2,
             two_for_each_stage, /*pairs=*/true},
    Schedule{ScheduleKind::dual_pipe_v, "dualpipe-v", "DualPipeV", dual_pipe, dual_pipe_bubble, never_steady,
             /*chunked=*/true, Backwards::either, /*overlaps_p2p=*/true, ChunkOrder::turns, /*chunks=*/2,
             two_for_each_stage, /*pairs=*/true},
    Schedule{ScheduleKind::pipedream, "pipedream", "PipeDream", steady_one_f_one_b, no_bubble, every_step,
             /*chunked=*/false, Backwards::whole, /*overlaps_p2p=*/true, ChunkOrder::wraps, /*chunks=*/0, any_shape,
             /*pairs=*/false, /*asynchronous=*/true, stashed_versions, newest_version},
    Schedule{ScheduleKind::pipedream_2bw, "pipedream-2bw", "PipeDream-2BW", steady_one_f_one_b, no_bubble, every_step,
             /*chunked=*/false, Backwards::whole, /*overlaps_p2p=*/true, ChunkOrder::wraps, /*chunks=*/0, any_shape,
             /*pairs=*/false, /*asynchronous=*/true, two_versions, version_before},
    Schedule{ScheduleKind::pipedream_vertical_sync, "pipedream-vertical-sync", "PipeDream, vertical sync",
             steady_one_f_one_b, no_bubble, every_step, /*chunked=*/false, Backwards::whole, /*overlaps_p2p=*/true,
             ChunkOrder::wraps, /*chunks=*/0, any_shape, /*pairs=*/false, /*asynchronous=*/true, versions_of_first,
             newest_of_first},
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
