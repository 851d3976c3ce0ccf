// Memory of a device or its host, released at the end.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/device.hpp"

namespace orrery::calibrate {

class Block {
public:
    /// Throws DeviceError when there is too little memory.
    Block(kernels::Device& device, std::uint64_t bytes, bool host = false)
        : device_(&device), host_(host), memory_(host ? device.allocate_host(bytes) : device.allocate(bytes)) {}
    ~Block() {
        if (host_)
            device_->release_host(memory_);
        else
            device_->release(memory_);
    }
    Block(const Block&) = delete;
    Block& operator=(const Block&) = delete;

    [[nodiscard]] std::byte* at(std::uint64_t offset) const { return static_cast<std::byte*>(memory_) + offset; }

private:
    kernels::Device* device_;
    bool host_;
    void* memory_;
};

}  // namespace orrery::calibrate
