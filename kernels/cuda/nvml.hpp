// Clocks, power, temperature and throttle reasons of one GPU, by NVIDIA's management library.
#pragma once

#include <memory>
#include <string>

#include "kernels/device.hpp"

namespace orrery::kernels::cuda {

/// The library belongs to the driver, not to the toolkit: it is opened at run time, and its absence is no error.
class Nvml {
public:
    /// pci: "0000:17:00.0", the bus id of the GPU to read.
    explicit Nvml(const std::string& pci);
    ~Nvml();
    Nvml(const Nvml&) = delete;
    Nvml& operator=(const Nvml&) = delete;

    /// All zero when the library or the GPU does not answer.
    [[nodiscard]] ClockReading read() const;
    /// "580.159.04"; "" when unknown.
    [[nodiscard]] const std::string& driver() const { return driver_; }

private:
    struct Library;
    std::unique_ptr<Library> library_;
    void* gpu_ = nullptr;
    std::string driver_;
};

/// Names of the reasons in a bit mask of nvmlDeviceGetCurrentClocksEventReasons. Idle clocks and clocks that an
/// application or an administrator set are no throttling.
std::vector<std::string> throttle_names(unsigned long long mask);

}  // namespace orrery::kernels::cuda
