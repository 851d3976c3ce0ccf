#include "kernels/cuda/nvml.hpp"

#include <array>

#include "kernels/cuda/library_function.hpp"

namespace orrery::kernels::cuda {

namespace {

// nvml.h is not in the CUDA toolkit: what is used of it, from NVIDIA's NVML API reference. 0 is NVML_SUCCESS.
using Gpu = void*;
constexpr unsigned clock_sm = 1, clock_memory = 2;  // nvmlClockType_t
constexpr unsigned sensor_gpu = 0;                  // nvmlTemperatureSensors_t

struct Reason {
    unsigned long long bit;
    std::string_view name;
};

// nvmlClocksEventReasons. Left out: 0x1 idle, 0x2 applications' clocks setting, 0x100 display clocks.
constexpr std::array<Reason, 6> reasons{{
    {0x4, power_cap},
    {0x8, "hardware slowdown"},
    {0x10, "sync boost"},
    {0x20, "software thermal"},
    {0x40, "hardware thermal"},
    {0x80, "power brake"},
}};

}  // namespace

std::vector<std::string> throttle_names(unsigned long long mask) {
    std::vector<std::string> names;
    for (const Reason& reason : reasons)
        if ((mask & reason.bit) != 0) names.emplace_back(reason.name);
    return names;
}

struct Nvml::Library {
    void* handle = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    int (*init)() = nullptr;
    int (*shutdown)() = nullptr;
    int (*driver_version)(char*, unsigned) = nullptr;
    int (*gpu_by_pci)(const char*, Gpu*) = nullptr;
    int (*clock)(Gpu, unsigned, unsigned*) = nullptr;  // MHz
    int (*power)(Gpu, unsigned*) = nullptr;            // milliwatts
    int (*temperature)(Gpu, unsigned, unsigned*) = nullptr;
    int (*throttle)(Gpu, unsigned long long*) = nullptr;

    Library() {
        if (handle == nullptr) return;
        find(handle, init, "nvmlInit_v2");
        find(handle, shutdown, "nvmlShutdown");
        find(handle, driver_version, "nvmlSystemGetDriverVersion");
        find(handle, gpu_by_pci, "nvmlDeviceGetHandleByPciBusId_v2");
        find(handle, clock, "nvmlDeviceGetClockInfo");
        find(handle, power, "nvmlDeviceGetPowerUsage");
        find(handle, temperature, "nvmlDeviceGetTemperature");
        find(handle, throttle, "nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons");
        usable = init != nullptr && shutdown != nullptr && gpu_by_pci != nullptr && init() == 0;
    }
    ~Library() {
        if (usable) shutdown();
        if (handle != nullptr) dlclose(handle);
    }
    Library(const Library&) = delete;
    Library& operator=(const Library&) = delete;

    bool usable = false;
};

Nvml::Nvml(const std::string& pci) : library_(std::make_unique<Library>()) {
    if (!library_->usable) return;
    std::array<char, 96> text{};
    if (library_->driver_version != nullptr && library_->driver_version(text.data(), text.size()) == 0)
        driver_ = text.data();
    if (library_->gpu_by_pci(pci.c_str(), &gpu_) != 0) gpu_ = nullptr;
}

Nvml::~Nvml() = default;

ClockReading Nvml::read() const {
    ClockReading reading;
    if (gpu_ == nullptr) return reading;
    unsigned value = 0;
    const auto answers = [&](auto* function, auto... arguments) {
        return function != nullptr && function(gpu_, arguments..., &value) == 0;
    };
    if (answers(library_->clock, clock_sm)) reading.core_hertz = value * 1e6;
    if (answers(library_->clock, clock_memory)) reading.memory_hertz = value * 1e6;
    if (answers(library_->power)) reading.watts = value * 1e-3;
    if (answers(library_->temperature, sensor_gpu)) reading.celsius = value;
    unsigned long long mask = 0;
    if (library_->throttle != nullptr && library_->throttle(gpu_, &mask) == 0) reading.throttled = throttle_names(mask);
    return reading;
}

}  // namespace orrery::kernels::cuda
