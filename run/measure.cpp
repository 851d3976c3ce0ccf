#include "run/measure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <sstream>

#include "base/error.hpp"
#include "base/host_name.hpp"
#include "base/statistics.hpp"
#include "run/clock.hpp"
#include "run/plan_file.hpp"
#include "strategies/build.hpp"
#include "strategies/schedule/schedule.hpp"

namespace orrery::run {

namespace {

using strategies::StepProgram;

/// Every rank's numbers, on every rank.
std::vector<std::vector<double>> gathered(kernels::Communicator* world, const std::vector<double>& own) {
    if (world == nullptr) return {own};
    std::string text;
    for (const double value : own) text += fmt::format("{} ", value);
    std::vector<std::vector<double>> all;
    for (const std::string& part : world->texts(text)) {
        std::istringstream in(part);
        auto& values = all.emplace_back();
        for (double value = 0; in >> value;) values.push_back(value);
    }
    return all;
}

/// The mean over the ranks that have one, if any has.
std::optional<double> mean_loss(kernels::Communicator* world, const std::optional<double>& own) {
    double total = 0;
    std::size_t count = 0;
    for (const auto& values : gathered(world, own ? std::vector{*own} : std::vector<double>{}))
        for (const double loss : values) {
            total += loss;
            ++count;
        }
    if (count == 0) return std::nullopt;
    return total / static_cast<double>(count);
}

/// What marks cost on a stream, as a step sets them: device seconds of each.
struct MarkCost {
    double mean = 0;     ///< what it adds to a lane
    double between = 0;  ///< median between two neighbours: how long an operation seems that does nothing
};

MarkCost cost_of_marks(kernels::Device& device, kernels::Stream stream) {
    constexpr std::size_t count = 400;
    std::vector<kernels::Device::Mark> marks;
    const auto set = [&] {
        for (std::size_t i = 0; i < count; ++i) marks.push_back(device.mark(stream));
    };
    device.streams_are_threads() ? device.run(set, stream) : set();
    device.synchronize();
    std::vector<double> seconds;
    for (std::size_t i = 1; i < count; ++i) seconds.push_back(device.seconds(marks[i - 1], marks[i]));
    const double mean = device.seconds(marks.front(), marks.back()) / (count - 1);
    device.forget(marks);
    return {mean, median(std::move(seconds))};
}

/// What one rank remembers of a step: its spans on rank 0's clock.
struct Taken {
    double start = 0, end = 0;
    double host = 0;  ///< to queue it
    std::vector<Span> spans;
};

class Measurement {
public:
    Measurement(kernels::Device& device, kernels::Communicator* world, const RunPlan& plan, const MeasureHooks& hooks)
        : device_(device),
          world_(plan.settings.only_rank ? nullptr : world),
          plan_(in_one_window(plan)),
          hooks_(hooks),
          program_(strategies::build(plan_.plan)),
          executor_(device, world, plan_.plan, program_, plan_.settings) {
        executor_.follow(hooks.progress);
        if (hooks.steps_only) executor_.time_steps_only();
    }

    MeasuredRun run() && {
        const ClockOffset before = offset();
        const double first = now(device_);
        take_steps();
        const double last = now(device_);
        const ClockOffset after = offset();
        // Clocks that drift do so evenly over a run.
        for (Taken& step : taken_) {
            const double share = last > first ? (step.start - first) / (last - first) : 0;
            const double shift = before.seconds + share * (after.seconds - before.seconds);
            step.start -= shift;
            step.end -= shift;
        }
        const std::vector<double> origins = step_times();
        MeasuredRank own = own_rank(origins);
        own.clock_offset = before.seconds;
        own.clock_uncertainty = std::max(before.uncertainty, after.uncertainty);
        collect(own);
        return std::move(result_);
    }

private:
    [[nodiscard]] ClockOffset offset() { return world_ == nullptr ? ClockOffset{} : clock_offset(device_, *world_); }

    void take_steps() {
        result_.warmup = plan_.settings.warmup;
        result_.alone = plan_.settings.only_rank.has_value();
        result_.plan = plan_text(plan_.plan);
        result_.seed = plan_.settings.seed;
        for (std::uint32_t i = 0; i < plan_.settings.steps; i += program_.steps) {
            if (hooks_.progress != nullptr) hooks_.progress->record().step = i;
            StepResult step = executor_.step();
            taken_.push_back({step.origin, step.origin + step.seconds, step.host, std::move(step.spans)});
            for (std::uint32_t k = 0; k < program_.steps; ++k) {
                const auto own = k < step.losses.size() ? std::optional(step.losses[k]) : std::nullopt;
                result_.steps.push_back(
                    {step.seconds / program_.steps, mean_loss(world_, own), step.loss_scale, step.skipped});
                if (hooks_.on_step) hooks_.on_step(i + k, result_.steps.back());
            }
        }
    }

    /// A step lasts from the first rank's start to the last rank's end. Returns the starts.
    std::vector<double> step_times() {
        std::vector<double> starts, ends;
        for (const Taken& step : taken_) starts.push_back(step.start);
        for (const Taken& step : taken_)
            if (program_.steps == 1) ends.push_back(step.end);
        // Without flushes a step ends with its update.
        if (program_.steps > 1)
            for (const std::uint32_t update : executor_.updates())
                ends.push_back(taken_.front().start + taken_.front().spans[update].end);
        const auto all_starts = gathered(world_, starts), all_ends = gathered(world_, ends);
        for (const auto& other : all_starts)
            for (std::size_t i = 0; i < starts.size(); ++i) starts[i] = std::min(starts[i], other[i]);
        for (const auto& other : all_ends)
            for (std::size_t i = 0; i < ends.size(); ++i) ends[i] = std::max(ends[i], other[i]);
        for (std::size_t i = 0; i < ends.size(); ++i)
            result_.steps[i].seconds = ends[i] - (i < starts.size() ? starts[i] : ends[i - 1]);
        return starts;
    }

    MeasuredRank own_rank(const std::vector<double>& origins) {
        MeasuredRank own;
        own.rank = executor_.rank();
        own.host = host_name();
        own.device = plan_.settings.kernel_seconds.empty() ? device_.facts().name : "emulated: kernels sleep";
        own.software = device_.facts().software;
        own.memory = executor_.memory();
        const std::size_t items = hooks_.steps_only ? 0 : executor_.items().size();
        const MarkCost marks = cost_of_marks(device_, 1);
        own.overhead = static_cast<double>(executor_.marks()) * marks.mean;
        own.empty = marks.between;
        std::vector<double> queueing;
        for (std::size_t i = program_.steps > 1 ? 0 : result_.warmup; i < taken_.size(); ++i)
            queueing.push_back(taken_[i].host);
        own.queueing = median(std::move(queueing));
        for (std::size_t op = 0; op < items; ++op) {
            std::vector<double> begins, ends, durations, device;
            for (std::size_t i = program_.steps > 1 ? 0 : result_.warmup; i < taken_.size(); ++i) {
                const Span& span = taken_[i].spans[op];
                const double shift = taken_[i].start - origins[i];
                begins.push_back(span.begin + shift);
                ends.push_back(span.end + shift);
                durations.push_back(span.end - span.begin);
                device.push_back(span.device);
            }
            own.ops.push_back(
                {median(begins), median(ends), median(durations), median(device), half_quartile_range(durations)});
        }
        return own;
    }

    void collect(const MeasuredRank& own) {
        if (world_ == nullptr) {
            result_.ranks.push_back(own);
            return;
        }
        result_.communication = world_->software();
        result_.nodes = world_->nodes();
        const auto texts = world_->texts(rank_to_json(own));
        if (world_->rank() == 0)
            for (const std::string& text : texts) result_.ranks.push_back(rank_from_json(text));
    }

    kernels::Device& device_;
    kernels::Communicator* world_;  ///< whom times are exchanged with: null for a rank alone
    RunPlan plan_;
    const MeasureHooks& hooks_;
    StepProgram program_;
    Executor executor_;
    std::vector<Taken> taken_;
    MeasuredRun result_;
};

}  // namespace

RunPlan in_one_window(RunPlan plan) {
    if (strategies::schedule_of(plan.plan.strategy.schedule).asynchronous) plan.plan.window_steps = plan.settings.steps;
    return plan;
}

MeasuredRun measure(kernels::Device& device, kernels::Communicator* world, const RunPlan& plan,
                    const MeasureHooks& hooks) {
    if (plan.settings.steps <= plan.settings.warmup)
        throw Error(
            fmt::format("{} steps, of which {} are warm-up, leave none", plan.settings.steps, plan.settings.warmup),
            "take more steps");
    return Measurement(device, world, plan, hooks).run();
}

}  // namespace orrery::run
