#include "strategies/schedule/verify_schedule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "strategies/schedule/ideal_run.hpp"

namespace orrery::strategies {

namespace {

std::string text(const Slot& slot, const PipelineShape& shape) {
    constexpr std::array letters{'F', 'B', 'I', 'W', 'U'};
    const char letter = letters.at(static_cast<std::size_t>(slot.work));
    if (slot.work == SlotWork::update) return {letter};
    return shape.chunks > 1 ? fmt::format("{}{}.{}", letter, slot.micro_batch, slot.chunk)
                            : fmt::format("{}{}", letter, slot.micro_batch);
}

class Checker {
public:
    Checker(std::span<const std::vector<Slot>> stages, const PipelineShape& shape) : stages_(stages), shape_(shape) {}

    std::vector<std::string> check() && {
        if (stages_.size() != shape_.pipeline)
            return {fmt::format("{} stages have slots, the pipeline has {}", stages_.size(), shape_.pipeline)};
        for (std::uint32_t s = 0; s < stages_.size(); ++s) check_stage(s);
        if (problems_.empty()) check_progress();
        if (!problems_.empty()) problems_.push_back(picture());
        return std::move(problems_);
    }

private:
    /// What has been done for one chunk's micro-batch.
    struct Done {
        bool forward = false, input = false, weight = false;
    };

    template <class... Args>
    void problem(std::uint32_t stage, std::size_t slot, fmt::format_string<Args...> format, Args&&... args) {
        problems_.push_back(
            fmt::format("stage {}, slot {}: {}", stage, slot, fmt::format(format, std::forward<Args>(args)...)));
        marks_.insert({stage, slot});
    }

    void check_stage(std::uint32_t stage) {
        const std::vector<Slot>& slots = stages_[stage];
        std::vector<Done> done(std::size_t{shape_.chunks} * shape_.all_micro_batches());
        std::size_t exchanged = slots.size();  // one past the last exchange
        while (exchanged > 0 && !(slots[exchanged - 1].exchange && slots[exchanged - 1].work != SlotWork::update))
            --exchanged;
        std::uint32_t updates = 0;
        for (std::size_t i = 0; i < slots.size(); ++i) {
            const Slot& slot = slots[i];
            if (updates == shape_.steps) problem(stage, i, "{} follows the update", text(slot, shape_));
            if (slot.work == SlotWork::update) {
                if (updates < shape_.steps) check_all_done(stage, i, updates, done);
                ++updates;
                continue;
            }
            if (slot.chunk >= shape_.chunks || slot.micro_batch >= shape_.all_micro_batches()) {
                problem(stage, i, "{} is none of {} micro-batches in {} chunks", text(slot, shape_),
                        shape_.all_micro_batches(), shape_.chunks);
                continue;
            }
            if (!shape_.goes_through(slot.chunk, stage, slot.micro_batch)) {
                problem(stage, i, "{}, but its way is the other one", text(slot, shape_));
                continue;
            }
            check_order(stage, i, done[number(slot.chunk, slot.micro_batch)]);
            if (i >= exchanged && slot.work != SlotWork::weight_gradient)
                problem(stage, i, "what {} makes never leaves: no exchange follows", text(slot, shape_));
        }
        if (updates == 0) problem(stage, slots.size(), "no update");
        if (updates > 0 && updates < shape_.steps)
            problem(stage, slots.size(), "{} updates of {} steps", updates, shape_.steps);
    }

    [[nodiscard]] std::size_t number(std::uint32_t chunk, std::uint32_t micro_batch) const {
        return std::size_t{chunk} * shape_.all_micro_batches() + micro_batch;
    }

    void check_order(std::uint32_t stage, std::size_t i, Done& done) {
        const Slot& slot = stages_[stage][i];
        const std::string name = text(slot, shape_);
        if (slot.work == SlotWork::forward) {
            if (done.forward) problem(stage, i, "{} a second time", name);
            done.forward = true;
        }
        if (slot.hands_gradient_on()) {
            if (!done.forward) problem(stage, i, "{} before its forward", name);
            if (done.input) problem(stage, i, "{}, but the gradient of its input is there already", name);
            done.input = true;
        }
        if (slot.completes_gradient()) {
            if (!done.input) problem(stage, i, "{} before the gradient of its input", name);
            if (done.weight) problem(stage, i, "{}, but the gradient of its weights is there already", name);
            done.weight = true;
        }
    }

    /// Of the micro-batches of one step; no gradient of a later one may be in its update.
    void check_all_done(std::uint32_t stage, std::size_t i, std::uint32_t step, const std::vector<Done>& done) {
        const std::uint32_t first = step * shape_.micro_batches, end = first + shape_.micro_batches;
        for (std::uint32_t c = 0; c < shape_.chunks; ++c) {
            for (std::uint32_t m = end; m < shape_.all_micro_batches(); ++m)
                if (done[number(c, m)].weight)
                    problem(stage, i, "the update comes behind the gradients of micro-batch {}, of a later step", m);
            for (std::uint32_t m = first; m < end; ++m) {
                if (!shape_.goes_through(c, stage, m)) continue;
                const Done& of = done[number(c, m)];
                if (of.forward && of.input && of.weight) continue;
                problem(stage, i, "the update comes before the {} of micro-batch {} in chunk {}",
                        !of.forward ? "forward"
                        : !of.input ? "gradients"
                                    : "weight gradient",
                        m, c);
            }
        }
    }

    void check_progress() {
        const IdealRun run = ideal_run(stages_, shape_, {1, 1, 1});
        for (std::uint32_t s = 0; s < stages_.size(); ++s)
            if (run.ended[s] < stages_[s].size())
                problem(s, run.ended[s], "{} waits for ever", text(stages_[s][run.ended[s]], shape_));
    }

    /// The columns around the first mark.
    [[nodiscard]] std::string picture() const {
        constexpr std::size_t beside = 10;
        std::size_t first_mark = marks_.begin()->second, longest = 0;
        for (const auto& [stage, slot] : marks_) first_mark = std::min(first_mark, slot);
        for (const auto& slots : stages_) longest = std::max(longest, slots.size() + 1);
        const std::size_t from = first_mark < beside ? 0 : first_mark - beside;
        const std::size_t to = std::min(longest, first_mark + beside + 1);
        std::string lines;
        for (std::uint32_t s = 0; s < stages_.size(); ++s) {
            lines += fmt::format("stage {:<4}{}", s, from > 0 ? "..." : "");
            for (std::size_t i = from; i < to; ++i) {
                const std::string name = i < stages_[s].size() ? text(stages_[s][i], shape_) : "";
                lines += fmt::format("{:>8}", marks_.contains({s, i}) ? '[' + name + ']' : name + ' ');
            }
            lines += to < longest ? " ...\n" : "\n";
        }
        return lines;
    }

    std::span<const std::vector<Slot>> stages_;
    PipelineShape shape_;
    std::vector<std::string> problems_;
    std::set<std::pair<std::uint32_t, std::size_t>> marks_;  // stage, slot
};

}  // namespace

std::vector<std::string> verify_schedule(std::span<const std::vector<Slot>> stages, const PipelineShape& shape) {
    return Checker(stages, shape).check();
}

std::vector<std::vector<Slot>> all_stages(const Schedule& schedule, const PipelineShape& shape) {
    std::vector<std::vector<Slot>> stages;
    for (std::uint32_t s = 0; s < shape.pipeline; ++s) stages.push_back(schedule.slots(shape, s));
    return stages;
}

}  // namespace orrery::strategies
