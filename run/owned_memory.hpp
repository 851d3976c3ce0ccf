// Memory of a device, or of its host, that lasts as long as its owner.
#pragma once

#include <cstdint>
#include <utility>

#include "kernels/device.hpp"

namespace orrery::run {

template <void* (kernels::Device::*take)(std::uint64_t), void (kernels::Device::*give)(void*) noexcept>
class OwnedMemory {
public:
    OwnedMemory() = default;
    OwnedMemory(kernels::Device& device, std::uint64_t bytes) : device_(&device), memory_((device.*take)(bytes)) {}
    OwnedMemory(OwnedMemory&& other) noexcept
        : device_(other.device_), memory_(std::exchange(other.memory_, nullptr)) {}
    OwnedMemory& operator=(OwnedMemory&& other) noexcept {
        std::swap(device_, other.device_);
        std::swap(memory_, other.memory_);
        return *this;
    }
    ~OwnedMemory() {
        if (memory_ != nullptr) (device_->*give)(memory_);
    }
    template <class T>
    [[nodiscard]] T* as() const {
        return static_cast<T*>(memory_);
    }

private:
    kernels::Device* device_ = nullptr;
    void* memory_ = nullptr;
};

using DeviceMemory = OwnedMemory<&kernels::Device::allocate, &kernels::Device::release>;
/// Where the device copies from and to fastest.
using HostMemory = OwnedMemory<&kernels::Device::allocate_host, &kernels::Device::release_host>;

}  // namespace orrery::run
