// Filling operands: the same seed gives the same values on every device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/device.hpp"
#include "kernels/operands.hpp"

namespace orrery::kernels {

/// Values of one operand in host memory, rounded to its format. They depend on the operand, the seed and `position`
/// (the operand's place in operands(kernel)) alone. Fill::forward is not filled here and comes out poisoned.
std::vector<std::byte> host_values(const Operand& operand, std::uint64_t seed, std::size_t position);

/// The operands of a kernel in device memory, which is allocated here and released at the end.
class OperandMemory {
public:
    /// Allocates only, in the formats that the settings make the operands. Throws Error as operands() does and
    /// DeviceError when the device has too little memory.
    OperandMemory(Device& device, const Kernel& kernel, const Settings& settings = {});
    ~OperandMemory();
    OperandMemory(OperandMemory&& other) noexcept;
    OperandMemory& operator=(OperandMemory&&) = delete;

    [[nodiscard]] const std::vector<Operand>& operands() const { return operands_; }
    /// As Device::launch takes them.
    [[nodiscard]] std::span<void* const> pointers() const { return pointers_; }

    /// Fills every operand; those of Fill::forward by running forward_of(kernel) on the device. Synchronises.
    /// Returns what was written, in host memory.
    std::vector<std::vector<std::byte>> fill(std::uint64_t seed);

    /// One operand in host memory. Synchronises.
    [[nodiscard]] std::vector<std::byte> download(std::size_t position) const;

private:
    void upload(std::size_t position, const std::vector<std::byte>& values);
    void fill_from_forward(std::vector<std::vector<std::byte>>& values, std::uint64_t seed);

    Device* device_;
    Kernel kernel_;
    std::vector<Operand> operands_;
    std::vector<void*> pointers_;
};

}  // namespace orrery::kernels
