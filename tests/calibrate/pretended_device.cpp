#include "tests/calibrate/pretended_device.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/operands.hpp"

namespace orrery::calibrate {

PretendedDevice::PretendedDevice(Pretence pretence)
    : pretence_(std::move(pretence)),
      facts_{.kind = pretence_.kind,
             .name = "pretended device",
             .software = "none",
             .memory_bytes = 1ULL << 36U,
             .cache_bytes = 1U << 20U,
             .multiprocessors = 1} {}

double PretendedDevice::seconds_of(const kernels::Kernel& kernel) {
    return 2e-6 + kernels::flops(kernel) / 10e12 + kernels::bytes(kernel) / 1e12;
}

bool PretendedDevice::stays_cached(const kernels::Kernel& kernel) const {
    return kernels::footprint(kernel) <= facts_.cache_bytes;
}

bool PretendedDevice::throttled() const {
    return samples_ >= pretence_.throttled_from && samples_ < pretence_.throttled_to;
}

/// A stream that works while another is busy is slowed for that long.
void PretendedDevice::queue(double seconds, kernels::Stream stream) {
    if (pretence_.noise > 0) {
        std::normal_distribution<double> noise(1, pretence_.noise);
        seconds *= std::max(0.1, noise(random_));
    }
    if (throttled()) seconds *= 1.5;
    for (const auto& [other, until] : busy_until_)
        if (other != stream && until > busy_until_[stream]) seconds *= pretence_.slowed_beside;
    if (idle_ && !held_) busy_until_[stream] += pretence_.launch;
    idle_ = false;
    busy_until_[stream] += seconds + pretence_.gap;
}

void PretendedDevice::launch(const kernels::Kernel& kernel, std::span<void* const> operands, kernels::Stream stream,
                             const kernels::Settings& settings) {
    ++launches_;
    settings_ = settings;
    const bool hot = operands[0] == last_operand_ && stays_cached(kernel);
    last_operand_ = operands[0];
    queue(seconds_of(kernel) * (hot ? 1 : pretence_.cold_factor), stream);
}

void PretendedDevice::copy(kernels::CopyKind, void*, const void*, std::uint64_t bytes, kernels::Stream stream) {
    queue(3e-6 + static_cast<double>(bytes) / 50e9, stream);
}

void PretendedDevice::wait(kernels::Stream waiting, kernels::Stream on) {
    busy_until_[waiting] = std::max(busy_until_[waiting], busy_until_[on]);
}

void PretendedDevice::wait_for(kernels::Stream waiting, Mark mark) {
    busy_until_[waiting] = std::max(busy_until_[waiting], marks_.at(mark));
}

void PretendedDevice::forget(std::span<const Mark> marks) {
    for (const Mark mark : marks) marks_.erase(mark);
}

void PretendedDevice::hold(kernels::Stream) {
    held_ = true;
    ++holds_;
}

void PretendedDevice::synchronize() {
    if (held_) throw kernels::DeviceError("waits for work that is held back", "");
    idle_ = true;
    double last = 0;
    for (const auto& [stream, until] : busy_until_) last = std::max(last, until);
    for (auto& [stream, until] : busy_until_) until = last;
}

PretendedDevice::Mark PretendedDevice::mark(kernels::Stream stream) {
    marks_[next_mark_] = busy_until_[stream];
    return next_mark_++;
}

double PretendedDevice::seconds(Mark from, Mark to) { return marks_.at(to) - marks_.at(from); }

kernels::ClockReading PretendedDevice::clocks() {
    kernels::ClockReading reading{.core_hertz = 1.5e9};
    if (throttled()) {
        reading.core_hertz = 1.0e9;
        reading.throttled = {std::string(pretence_.reason)};
    }
    samples_ += first_reading_ ? 0 : 1;
    first_reading_ = !first_reading_;
    return reading;
}

Surroundings PretendedDevice::surroundings() {
    return {[this] {
                double last = 0;
                for (const auto& [stream, until] : busy_until_) last = std::max(last, until);
                return last + slept_;
            },
            [] { return std::uint64_t{0}; }, [this](double seconds) { slept_ += seconds; }};
}

}  // namespace orrery::calibrate
