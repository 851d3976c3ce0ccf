// Numbers in a device's memory, launches on them, and what came out against double precision.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "kernels/device.hpp"

namespace orrery::kernels::settings_checks {

using Floats = std::vector<float>;
using Doubles = std::vector<double>;
using Ids = std::vector<std::int32_t>;
inline constexpr std::uint64_t seed = 77;

/// Numbers in device memory.
template <class T>
class OnDevice {
public:
    OnDevice(Device& device, const std::vector<T>& values)
        : device_(device), count_(values.size()), memory_(device.allocate(count_ * sizeof(T))) {
        device.copy(CopyKind::host_to_device, memory_, values.data(), count_ * sizeof(T), 0);
        device.synchronize();
    }
    ~OnDevice() { device_.release(memory_); }
    OnDevice(const OnDevice&) = delete;
    OnDevice& operator=(const OnDevice&) = delete;
    [[nodiscard]] T* at(std::size_t i = 0) const { return static_cast<T*>(memory_) + i; }
    [[nodiscard]] std::vector<T> back() const {
        std::vector<T> values(count_);
        device_.copy(CopyKind::device_to_host, values.data(), memory_, count_ * sizeof(T), 0);
        device_.synchronize();
        return values;
    }

private:
    Device& device_;
    std::size_t count_;
    void* memory_;
};

inline Floats normal(std::size_t count, std::uint64_t with) {
    std::mt19937_64 random(with);
    std::normal_distribution<float> draw;
    Floats values(count);
    for (float& value : values) value = draw(random);
    return values;
}

inline void expect_close(const Floats& found, const Doubles& expected) {
    ASSERT_EQ(found.size(), expected.size());
    double largest = 0;
    for (const double value : expected) largest = std::max(largest, std::abs(value));
    for (std::size_t i = 0; i < found.size(); ++i)
        ASSERT_NEAR(static_cast<double>(found[i]), expected[i], 3e-5 * largest) << "element " << i;
}

inline void launch(Device& device, const Kernel& kernel, const std::vector<void*>& operands, const Settings& settings) {
    SCOPED_TRACE(to_text(kernel));
    ASSERT_TRUE(device.supports(kernel));
    device.launch(kernel, operands, 0, settings);
    device.synchronize();
}

inline Pointwise over(PointwiseKind kind, std::uint64_t rows, std::uint64_t cols) {
    return {kind, Dtype::fp32, rows, cols};
}

}  // namespace orrery::kernels::settings_checks
