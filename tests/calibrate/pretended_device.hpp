// A device that computes nothing and tells the time it would have taken: with known noise, clocks and throttling.
#pragma once

#include <cstdlib>
#include <functional>
#include <map>
#include <random>

#include "calibrate/measure/campaign.hpp"
#include "kernels/device.hpp"

namespace orrery::calibrate {

struct Pretence {
    std::string kind = "cuda";
    double noise = 0.01;               ///< relative standard deviation of a run
    double cold_factor = 1;            ///< a run on operands that are not in the cache takes this much longer
    std::uint32_t throttled_from = 0;  ///< samples from this one ...
    std::uint32_t throttled_to = 0;    ///< ... to before this one are throttled, and take half as long again
    std::string_view reason = "hardware thermal";  ///< why
    double gap = 0;                                ///< seconds between kernels
    double launch = 0;         ///< seconds from a mark on an idle stream to the kernel launched behind it
    double slowed_beside = 1;  ///< factor on a stream while the other has work
};

/// 10 TFLOP/s, 1 TB/s after 2 us; streams run at once. Its clock is its own.
class PretendedDevice final : public kernels::Device {
public:
    explicit PretendedDevice(Pretence pretence);

    /// What one run of the kernel takes without noise, with its operands in the cache.
    static double seconds_of(const kernels::Kernel& kernel);
    /// Whether a second run on the same operands finds them in the cache.
    [[nodiscard]] bool stays_cached(const kernels::Kernel& kernel) const;

    [[nodiscard]] const kernels::DeviceFacts& facts() const override { return facts_; }
    [[nodiscard]] bool supports(const kernels::Kernel&) const override { return true; }
    [[nodiscard]] void* allocate(std::uint64_t bytes) override { return std::malloc(bytes); }
    void release(void* memory) noexcept override { std::free(memory); }
    [[nodiscard]] void* allocate_host(std::uint64_t bytes) override { return std::malloc(bytes); }
    void release_host(void* memory) noexcept override { std::free(memory); }
    void launch(const kernels::Kernel& kernel, std::span<void* const> operands, kernels::Stream stream,
                const kernels::Settings& settings) override;
    void copy(kernels::CopyKind kind, void* to, const void* from, std::uint64_t bytes, kernels::Stream stream) override;
    void wait(kernels::Stream waiting, kernels::Stream on) override;
    void synchronize() override;
    [[nodiscard]] Mark mark(kernels::Stream stream) override;
    [[nodiscard]] double seconds(Mark from, Mark to) override;
    void wait_for(kernels::Stream waiting, Mark mark) override;
    void finish(Mark) override {}
    [[nodiscard]] double moment(Mark mark) override { return marks_.at(mark); }
    void forget(std::span<const Mark> marks) override;
    [[nodiscard]] kernels::ClockReading clocks() override;
    void hold(kernels::Stream stream) override;
    void proceed() override { held_ = false; }
    [[nodiscard]] double core_hertz_behind(kernels::Stream) override { return throttled() ? 1.1e9 : 0; }

    /// Of the latest launch.
    [[nodiscard]] const kernels::Settings& settings() const { return settings_; }
    [[nodiscard]] std::uint32_t holds() const { return holds_; }
    [[nodiscard]] std::uint32_t launches() const { return launches_; }
    /// Wall time that goes with the device's, no involuntary switches, sleeping that only counts.
    Surroundings surroundings();
    [[nodiscard]] double slept() const { return slept_; }

private:
    [[nodiscard]] bool throttled() const;
    void queue(double seconds, kernels::Stream stream);

    Pretence pretence_;
    kernels::DeviceFacts facts_;
    std::mt19937_64 random_{3};
    std::map<kernels::Stream, double> busy_until_;
    std::map<Mark, double> marks_;
    Mark next_mark_ = 1;
    bool held_ = false, idle_ = true;                       ///< idle: nothing was launched since all had ended
    std::uint32_t samples_ = 0, launches_ = 0, holds_ = 0;  ///< samples: pairs of clock readings
    bool first_reading_ = true;
    const void* last_operand_ = nullptr;
    kernels::Settings settings_;
    double slept_ = 0;
};

}  // namespace orrery::calibrate
