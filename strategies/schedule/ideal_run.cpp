#include "strategies/schedule/ideal_run.hpp"

#include <algorithm>
#include <optional>
#include <stdexcept>

namespace orrery::strategies {

namespace {

/// When each work of each (virtual stage, micro-batch) ended.
class Ends {
public:
    explicit Ends(const PipelineShape& shape)
        : shape_(shape),
          forward_(std::size_t{shape.virtual_stages()} * shape.all_micro_batches()),
          gradient_(forward_.size()) {}

    /// When what a slot of a stage takes is there; nothing: not yet.
    [[nodiscard]] std::optional<double> inputs(const Slot& slot, std::uint32_t stage) const {
        const std::uint32_t here = number(slot, stage), behind = here + 1;
        switch (slot.work) {
            case SlotWork::forward: return here == 0 ? 0.0 : at(forward_, here - 1, slot);
            case SlotWork::backward:
            case SlotWork::input_gradient: {
                const auto own = at(forward_, here, slot);
                if (!own || behind == shape_.virtual_stages()) return own;
                const auto gradient = at(gradient_, behind, slot);
                return gradient ? std::optional(std::max(*own, *gradient)) : std::nullopt;
            }
            case SlotWork::weight_gradient: return at(gradient_, here, slot);
            case SlotWork::update: return 0.0;
        }
        throw std::logic_error("a work without a name");
    }

    void ended(const Slot& slot, std::uint32_t stage, double when) {
        const std::size_t at = std::size_t{number(slot, stage)} * shape_.all_micro_batches() + slot.micro_batch;
        if (slot.work == SlotWork::forward) forward_[at] = when;
        if (slot.hands_gradient_on()) gradient_[at] = when;
    }

private:
    using Times = std::vector<std::optional<double>>;

    [[nodiscard]] std::uint32_t number(const Slot& slot, std::uint32_t stage) const {
        return shape_.virtual_stage(slot.chunk, stage);
    }
    [[nodiscard]] std::optional<double> at(const Times& times, std::uint32_t virtual_stage, const Slot& slot) const {
        return times[std::size_t{virtual_stage} * shape_.all_micro_batches() + slot.micro_batch];
    }

    PipelineShape shape_;
    Times forward_, gradient_;
};

double seconds_of(const Slot& slot, const WorkSeconds& seconds) {
    switch (slot.work) {
        case SlotWork::forward: return seconds.forward;
        case SlotWork::backward: return seconds.backward();
        case SlotWork::input_gradient: return seconds.input_gradient;
        case SlotWork::weight_gradient: return seconds.weight_gradient;
        case SlotWork::update: return 0;
    }
    throw std::logic_error("a work without a name");
}

/// Slots of one stage that begin and end together: a pair or one.
std::span<const Slot> together(const std::vector<Slot>& slots, std::size_t from) {
    const bool pair = slots[from].pairs && from + 1 < slots.size();
    return std::span(slots).subspan(from, pair ? 2 : 1);
}

}  // namespace

IdealRun ideal_run(std::span<const std::vector<Slot>> stages, const PipelineShape& shape, const WorkSeconds& seconds) {
    Ends ends(shape);
    IdealRun run{.ended = std::vector<std::size_t>(stages.size())};
    std::vector<double> free(stages.size()), busy(stages.size());
    /// Whether what comes next on a stage could begin.
    const auto advance = [&](std::uint32_t s) {
        const std::span<const Slot> next = together(stages[s], run.ended[s]);
        double begin = free[s], works = next.size() == 2 ? -seconds.saved : 0;
        for (const Slot& slot : next) {
            const auto inputs = ends.inputs(slot, s);
            if (!inputs) return false;
            begin = std::max(begin, *inputs);
            works += seconds_of(slot, seconds);
        }
        busy[s] += works / shape.chunks_on_the_way();
        free[s] = begin + works / shape.chunks_on_the_way();
        for (const Slot& slot : next) ends.ended(slot, s, free[s]);
        run.ended[s] += next.size();
        run.seconds = std::max(run.seconds, free[s]);
        return true;
    };
    for (bool moved = true; moved;) {
        moved = false;
        for (std::uint32_t s = 0; s < stages.size(); ++s)
            while (run.ended[s] < stages[s].size() && advance(s)) moved = true;
    }
    for (const double of : busy) run.idle = std::max(run.idle, run.seconds - of);
    return run;
}

}  // namespace orrery::strategies
