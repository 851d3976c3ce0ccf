// Times one subject on a device: warm-up, hot and cold operands, samples until they settle, bad samples dropped.
#pragma once

#include <functional>

#include "calibrate/measure/clock_filter.hpp"
#include "calibrate/measure/record.hpp"
#include "calibrate/measure/stopping.hpp"
#include "calibrate/measure/workload.hpp"

namespace orrery::calibrate {

/// The world that samples are taken in; tests replace it.
struct Surroundings {
    std::function<double()> wall_seconds;
    std::function<std::uint64_t()> involuntary_switches;
    std::function<void(double)> sleep_seconds;
};
Surroundings real_surroundings();

class Sampler {
public:
    /// communicator: null for a single process. All ranks measure the same subjects in the same order.
    Sampler(kernels::Device& device, kernels::Communicator* communicator, StopRule rule,
            Surroundings surroundings = real_surroundings());

    /// The record, without suite. A device that cannot run the subject gives a record with `failure`; throws
    /// DeviceError when it is lost.
    [[nodiscard]] Record measure(const Subject& subject);

private:
    enum class Clock : std::uint8_t { device, wall };
    /// Seconds a run, of `runs` runs one after the other, on the operands of one set or of all in turn.
    /// warm: whether it ran before, so that nothing has to be allocated or chosen any more.
    using Take = std::function<double(std::uint32_t runs, bool warm)>;

    /// Device seconds between two marks, which are forgotten.
    [[nodiscard]] double elapsed(kernels::Device::Mark from, kernels::Device::Mark to);
    [[nodiscard]] double timed(Workload& work, std::uint32_t runs, bool cold, Clock clock, bool warm);
    [[nodiscard]] Summary settle(const Take& take, Clock clock, Record& record);
    void hot_and_cold(Workload& work, Clock clock, Record& record);
    void measure_overlap(const OverlapShape& shape, Record& record);
    void measure_overhead(const OverheadShape& shape, Record& record);
    void measure_sustained(const SustainedShape& shape, Record& record);
    [[nodiscard]] double beside(Workload& timed_work, double alone, Workload& other, double other_alone);
    [[nodiscard]] double agreed(double value) const;
    [[nodiscard]] bool is_cpu() const { return device_.facts().kind == "cpu"; }

    kernels::Device& device_;
    kernels::Communicator* communicator_;
    StopRule rule_;
    Surroundings around_;
    ClockFilter clocks_;
    std::size_t next_set_ = 0;
};

}  // namespace orrery::calibrate
