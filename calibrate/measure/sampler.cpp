#include "calibrate/measure/sampler.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <thread>

#include "base/error.hpp"
#include "base/overloaded.hpp"
#include "calibrate/measure/host.hpp"

namespace orrery::calibrate {

namespace {

using kernels::ClockReading;
using kernels::Kernel;

/// A sample repeats short work until it lasts about this long: many times the resolution of any of the clocks, and
/// less than a scheduler's time slice.
constexpr double sample_seconds = 500e-6;
constexpr std::uint32_t most_runs = 1000;
/// What is held back until all of it is queued: some kernels are six launches, and a launch queue holds 1,024.
constexpr std::uint32_t most_held = 100;
/// Samples longer than this cannot avoid the scheduler's ticks: an involuntary switch does not drop them.
constexpr double longest_undisturbed = 2e-3;
/// A busy machine interrupts every sample: after so many, they count.
constexpr std::uint32_t most_disturbed = 50;
/// After so many throttled samples in a row, each after a longer pause, the point is given up.
constexpr std::uint32_t most_throttled = 24;
constexpr double first_pause = 1e-3, longest_pause = 0.25;
/// A half-width of zero would mean that none was measured.
constexpr double least_half_width = 1e-4;

std::uint32_t runs_for(double seconds, std::uint32_t most = most_runs) {
    return static_cast<std::uint32_t>(
        std::clamp(std::ceil(sample_seconds / std::max(seconds, 1e-9)), 1.0, static_cast<double>(most)));
}

std::string reasons(const ClockReading& reading) {
    std::string out;
    for (const auto& reason : reading.throttled) out += (out.empty() ? "" : ", ") + reason;
    return out.empty() ? "low clock" : out;
}

}  // namespace

Surroundings real_surroundings() {
    return {wall_seconds, involuntary_switches,
            [](double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }};
}

Sampler::Sampler(kernels::Device& device, kernels::Communicator* communicator, StopRule rule, Surroundings surroundings)
    : device_(device), communicator_(communicator), rule_(rule), around_(std::move(surroundings)) {}

/// The largest over the ranks: what they decide by it, they decide alike.
double Sampler::agreed(double value) const { return communicator_ == nullptr ? value : communicator_->maximum(value); }

double Sampler::elapsed(kernels::Device::Mark from, kernels::Device::Mark to) {
    const double seconds = device_.seconds(from, to);
    device_.forget(std::array{from, to});
    return seconds;
}

double Sampler::timed(Workload& work, std::uint32_t runs, bool cold, Clock clock, bool warm) {
    const auto run_all = [&] {
        for (std::uint32_t i = 0; i < runs; ++i) work.run(cold ? next_set_++ % work.sets() : 0, 0);
    };
    if (clock == Clock::device) {
        // Held back: else the time from the first mark to the first kernel's launch would be in the sample, and kernels
        // shorter than a launch would be timed at the rate of launches.
        const bool held = runs <= most_held && warm;
        if (held) device_.hold(0);
        const auto from = device_.mark(0);
        run_all();
        const auto to = device_.mark(0);
        if (held) device_.proceed();
        device_.synchronize();
        return elapsed(from, to) / runs;
    }
    if (communicator_ != nullptr) communicator_->barrier();
    const double from = around_.wall_seconds();
    run_all();
    device_.synchronize();
    return agreed((around_.wall_seconds() - from) / runs);
}

/// Samples until the rule is content. Ranks that time a collective together drop a sample together.
Summary Sampler::settle(const Take& take, Clock clock, Record& record) {
    (void)take(1, false);  // warm-up: libraries choose their kernels, pages get their place
    const std::uint32_t runs = runs_for(take(1, true), is_cpu() ? most_runs : most_held);
    const auto any = [&](bool value) { return clock == Clock::wall ? agreed(value ? 1 : 0) > 0 : value; };
    Stopping stopping(rule_);
    std::uint32_t throttled_in_a_row = 0;
    while (!stopping.done()) {
        const ClockReading before = device_.clocks();
        const std::uint64_t switches = around_.involuntary_switches();
        const double seconds = take(runs, true);
        const bool switched = is_cpu() && around_.involuntary_switches() != switches;
        const ClockReading after = device_.clocks();
        if (any(!clocks_.accept(before, after))) {
            ++record.throttled;
            if (++throttled_in_a_row >= most_throttled)
                throw Error(fmt::format("every sample was taken at a clock held down ({})", reasons(after)));
            around_.sleep_seconds(
                std::min(longest_pause, std::ldexp(first_pause, static_cast<int>(throttled_in_a_row))));
            continue;
        }
        throttled_in_a_row = 0;
        const bool short_enough = seconds * runs < longest_undisturbed && record.disturbed < most_disturbed;
        if (any(switched && short_enough)) {
            ++record.disturbed;
            continue;
        }
        if (any(ClockFilter::capped(before) || ClockFilter::capped(after))) ++record.capped;
        stopping.add(seconds);
    }
    const double under_load = clock == Clock::device ? device_.core_hertz_behind(0) : 0;
    record.core_hertz = under_load > 0 ? under_load : clocks_.highest_hertz();
    return stopping.summary();
}

/// A CPU's operands may or may not be in its caches: both are measured, and the middle is the value. A GPU's come
/// from memory.
void Sampler::hot_and_cold(Workload& work, Clock clock, Record& record) {
    const auto mode = [&](bool cold) {
        return settle([&](std::uint32_t runs, bool warm) { return timed(work, runs, cold, clock, warm); }, clock,
                      record);
    };
    const Summary cold = mode(true);
    const bool both = is_cpu() && work.sets() > 1;
    const Summary hot = both ? mode(false) : cold;
    record.seconds = (hot.median + cold.median) / 2;
    const double apart = std::abs(cold.median - hot.median) / (cold.median + hot.median);
    record.half_width = std::max({apart, hot.standard_error, cold.standard_error, least_half_width});
    record.half_width = std::min(record.half_width, 0.99);
    record.noise = std::max(hot.noise, cold.noise);
    record.samples = cold.samples + (both ? hot.samples : 0);
    record.settled = hot.settled && cold.settled;
}

/// Seconds a run of the timed work, while the other lasts longer than all of its runs.
double Sampler::beside(Workload& timed_work, double alone, Workload& other, double other_alone) {
    constexpr double together_seconds = 20e-3;
    const auto runs = static_cast<std::uint32_t>(std::clamp(together_seconds / alone, 2.0, 1000.0));
    const auto others = static_cast<std::uint32_t>(std::ceil(2 * runs * alone / other_alone)) + 1;
    constexpr kernels::Stream first = 0, second = 1;
    if (communicator_ != nullptr) communicator_->barrier();
    const auto launch_others = [&](std::uint32_t count) {
        for (std::uint32_t i = 0; i < count; ++i) other.run(next_set_++ % other.sets(), second);
    };
    launch_others(1);
    const auto from = device_.mark(first);
    // Launched in turn, so that neither queue runs dry while the host fills the other.
    std::uint32_t launched = 0;
    for (std::uint32_t i = 0; i < runs; ++i) {
        timed_work.run(i % timed_work.sets(), first);
        const std::uint32_t due = others * (i + 1) / runs;
        launch_others(due - launched);
        launched = due;
    }
    const auto to = device_.mark(first);
    device_.synchronize();
    return agreed(elapsed(from, to) / runs);
}

/// Alone and together in turn, on the same ring of operands: what drifts meanwhile touches both.
void Sampler::measure_overlap(const OverlapShape& shape, Record& record) {
    const auto kernel = kernel_workload(device_, shape.kernel);
    const auto other = beside_workload(device_, communicator_, shape.beside);
    const auto alone = [&](Workload& work) {
        if (communicator_ != nullptr) communicator_->barrier();
        const double once = agreed(timed(work, 1, true, Clock::device, false));
        const std::uint32_t runs = runs_for(once, is_cpu() ? most_runs : most_held);
        return agreed(timed(work, runs, true, Clock::device, true));
    };
    (void)alone(*kernel), (void)alone(*other);  // warm-up
    std::vector<double> seconds, kernel_ratio, beside_ratio;
    for (std::uint32_t i = 0; i < rule_.min_samples; ++i) {
        seconds.push_back(alone(*kernel));
        const double other_alone = alone(*other);
        kernel_ratio.push_back(beside(*kernel, seconds.back(), *other, other_alone) / seconds.back());
        beside_ratio.push_back(beside(*other, other_alone, *kernel, seconds.back()) / other_alone);
    }
    record.seconds = median_of(seconds).median;
    record.samples = rule_.min_samples;
    record.core_hertz = clocks_.highest_hertz();
    const MedianEstimate slowdown = median_of(kernel_ratio);
    record.kernel_slowdown = slowdown.median;
    record.beside_slowdown = median_of(beside_ratio).median;
    record.noise = slowdown.standard_error / slowdown.median;
    record.half_width = std::max(least_half_width, record.noise);
}

/// launch: host time of queueing a kernel that runs at once. gap: two runs of a kernel take the gap longer than one
/// run of twice the size, where time grows in proportion to the size.
void Sampler::measure_overhead(const OverheadShape& shape, Record& record) {
    using kernels::Pointwise;
    const auto fill = [](std::uint64_t rows) {
        return Kernel(Pointwise{kernels::PointwiseKind::scale, kernels::Dtype::fp32, rows, 1024});
    };
    std::vector<double> samples;
    if (shape.kind == OverheadShape::Kind::launch) {
        constexpr std::uint32_t queued = 200;  // below the depth of a launch queue
        const auto tiny = kernel_workload(device_, fill(1));
        for (std::uint32_t i = 0; i <= 4 * rule_.min_samples; ++i) {
            device_.synchronize();
            const double from = around_.wall_seconds();
            for (std::uint32_t j = 0; j < queued; ++j) tiny->run(0, 0);
            samples.push_back((around_.wall_seconds() - from) / queued);
        }
        device_.synchronize();
        samples.erase(samples.begin());
    } else {
        for (const std::uint64_t rows : {1024U, 2048U, 4096U}) {  // 4 to 16 MiB in and out: beyond latency
            Record once = record, twice = record;
            const auto single = kernel_workload(device_, fill(rows)), both = kernel_workload(device_, fill(2 * rows));
            hot_and_cold(*single, Clock::device, once);
            hot_and_cold(*both, Clock::device, twice);
            samples.push_back(std::max(0.0, 2 * once.seconds - twice.seconds));
        }
    }
    const MedianEstimate found = median_of(samples);
    record.samples = static_cast<std::uint32_t>(samples.size());
    record.seconds = found.median;
    record.half_width = record.noise = found.median > 0 ? std::min(0.99, found.standard_error / found.median) : 0;
    record.core_hertz = clocks_.highest_hertz();
}

/// Work without a pause; the second half of it is the sustained rate.
void Sampler::measure_sustained(const SustainedShape& shape, Record& record) {
    const auto work = kernel_workload(device_, Kernel(shape.gemm));
    (void)timed(*work, 1, true, Clock::device, false);
    const double once = timed(*work, 1, true, Clock::device, true);
    const auto runs = static_cast<std::uint32_t>(std::clamp(0.05 / once, 1.0, 10000.0));
    std::vector<double> samples;
    for (double spent = 0; spent < shape.seconds; spent += samples.back() * runs)
        samples.push_back(timed(*work, runs, true, Clock::device, false));  // without a pause before it
    samples.erase(samples.begin(), samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2));
    const MedianEstimate found = median_of(samples);
    record.samples = static_cast<std::uint32_t>(samples.size());
    record.seconds = found.median;
    record.half_width = std::max(least_half_width, found.standard_error / found.median);
    record.noise = record.half_width;
    const double under_load = device_.core_hertz_behind(0);
    record.core_hertz = under_load > 0 ? under_load : device_.clocks().core_hertz;
}

Record Sampler::measure(const Subject& subject) {
    Record record;
    record.subject = subject;
    next_set_ = 0;
    try {
        std::visit(
            Overloaded{[&](const Kernel& k) { hot_and_cold(*kernel_workload(device_, k), Clock::device, record); },
                       [&](const CopyShape& c) { hot_and_cold(*copy_workload(device_, c), Clock::device, record); },
                       [&](const CollectiveShape& c) {
                           hot_and_cold(*collective_workload(device_, communicator_, c), Clock::wall, record);
                       },
                       [&](const OverlapShape& o) { measure_overlap(o, record); },
                       [&](const OverheadShape& o) { measure_overhead(o, record); },
                       [&](const SustainedShape& s) { measure_sustained(s, record); }},
            subject);
    } catch (const Error& error) {
        record.failure = error.what();
    }
    return record;
}

}  // namespace orrery::calibrate
