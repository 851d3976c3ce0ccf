// Schedules of two chunks in a V (Qi et al. 2024, arXiv:2405.15362, section 3).
//
// A micro-batch's works lie on a grid of equal steps in the same pattern, the building block, and blocks follow each
// other every six steps: as many as a stage has works of a micro-batch. From stage to stage the first chunk's forward
// moves by `down` steps, the second's by `up`, and backwards likewise, so that the time between a work's forward and
// its backward, and with it what is kept, is the block's length: 2 (down + up) (p - 1) steps and a little. Weight
// gradients fill what is left of the grid.
#include <algorithm>
#include <array>
#include <optional>
#include <stdexcept>
#include <vector>

#include "strategies/schedule/schedule.hpp"

namespace orrery::strategies {

namespace {

constexpr std::uint32_t works = 6;  // of a stage and micro-batch: forward, input and weight gradient of two chunks

/// Steps from one stage to the next: forward of the first and of the second chunk. Backward of the second as forward of
/// the first, and the other way around.
struct Slopes {
    std::uint32_t down, up;
};

/// What a work waits behind the last of its chain: of the second forward, the second backward and the first.
using Gaps = std::array<std::uint32_t, 3>;

/// A stage's steps of the works that others wait for: both forwards, the backward of the second chunk, of the first.
std::array<std::uint32_t, 4> block(const Slopes& slopes, const Gaps& gaps, std::uint32_t stages, std::uint32_t stage) {
    const std::uint32_t last = stages - 1, back = last - stage;
    const std::uint32_t turn = slopes.down * last + gaps[0], top = turn + slopes.up * last + gaps[1];
    const std::uint32_t bottom = top + slopes.down * last + gaps[2];
    return {slopes.down * stage, turn + slopes.up * back, top + slopes.down * stage, bottom + slopes.up * back};
}

/// Whether no two works of a stage ever fall on one step.
bool fits(const Slopes& slopes, const Gaps& gaps, std::uint32_t stages) {
    for (std::uint32_t stage = 0; stage < stages; ++stage) {
        std::array<bool, works> taken{};
        for (const std::uint32_t step : block(slopes, gaps, stages, stage)) {
            if (taken.at(step % works)) return false;
            taken.at(step % works) = true;
        }
    }
    return true;
}

/// The shortest block that fits, of equally short ones that with the earliest works.
Gaps shortest_gaps(const Slopes& slopes, std::uint32_t stages) {
    std::optional<Gaps> best;
    const auto length = [](const Gaps& gaps) { return gaps[0] + gaps[1] + gaps[2]; };
    for (std::uint32_t a = 1; a <= works; ++a)
        for (std::uint32_t b = 1; b <= works; ++b)
            for (std::uint32_t c = 1; c <= works; ++c) {
                const Gaps gaps{a, b, c};
                if ((!best || length(gaps) < length(*best)) && fits(slopes, gaps, stages)) best = gaps;
            }
    if (!best) throw std::logic_error("no building block fits");
    return *best;
}

struct Placed {
    std::uint64_t step;
    Slot slot;
};

std::vector<Slot> repeated(const Slopes& slopes, const PipelineShape& shape, std::uint32_t stage) {
    using enum SlotWork;
    constexpr std::array<std::pair<SlotWork, std::uint32_t>, 4> order{
        {{forward, 0}, {forward, 1}, {input_gradient, 1}, {input_gradient, 0}}};
    const auto steps = block(slopes, shortest_gaps(slopes, shape.pipeline), shape.pipeline, stage);
    std::vector<Placed> grid;
    for (std::uint32_t m = 0; m < shape.micro_batches; ++m)
        for (std::size_t i = 0; i < order.size(); ++i)
            grid.push_back({steps.at(i) + std::uint64_t{works} * m, {order.at(i).first, order.at(i).second, m}});
    const auto earlier = [](const Placed& a, const Placed& b) { return a.step < b.step; };
    std::ranges::sort(grid, earlier);
    std::vector<bool> taken(grid.back().step + works * std::size_t{shape.micro_batches} + 1);
    for (const Placed& each : grid) taken[each.step] = true;
    for (std::size_t i = 0, count = grid.size(); i < count; ++i) {
        if (grid[i].slot.work != input_gradient) continue;
        Placed weights{grid[i].step + 1, {weight_gradient, grid[i].slot.chunk, grid[i].slot.micro_batch, false}};
        while (taken[weights.step]) ++weights.step;
        taken[weights.step] = true;
        grid.push_back(weights);
    }
    std::ranges::sort(grid, earlier);
    std::vector<Slot> slots;
    slots.reserve(grid.size() + 1);
    for (const Placed& each : grid) slots.push_back(each.slot);
    slots.push_back({update});
    return slots;
}

/// The shortest of a chunk's works.
double of_a_chunk(const WorkSeconds& seconds) {
    return std::min({seconds.forward, seconds.input_gradient, seconds.weight_gradient}) / 2;
}

}  // namespace

std::vector<Slot> zb_v(const PipelineShape& shape, std::uint32_t stage) { return repeated({4, 2}, shape, stage); }
std::vector<Slot> v_half(const PipelineShape& shape, std::uint32_t stage) { return repeated({2, 1}, shape, stage); }
std::vector<Slot> v_min(const PipelineShape& shape, std::uint32_t stage) { return repeated({1, 1}, shape, stage); }

// By ideal_run, of 1 to 16 stages: none of the three waits in the middle, so that these are the ends of the V.

double zb_v_bubble(const PipelineShape& shape, const WorkSeconds& seconds) {
    return shape.pipeline == 1 ? 0 : (2 * shape.pipeline - 3) * of_a_chunk(seconds);
}

double v_half_bubble(const PipelineShape& shape, const WorkSeconds& seconds) {
    return (7 * shape.pipeline / 2 - 3) * of_a_chunk(seconds);
}

double v_min_bubble(const PipelineShape& shape, const WorkSeconds& seconds) {
    const std::uint32_t apart = shape.pipeline % 3 == 0 ? 2 : 0;  // backwards would meet, and come two steps later
    return shape.pipeline == 1 ? 0 : (4 * shape.pipeline - 5 + apart) * of_a_chunk(seconds);
}

}  // namespace orrery::strategies
