// A subject made ready to run: its operands in device memory, as often as it takes to leave the caches.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "calibrate/measure/subject.hpp"
#include "kernels/communicator.hpp"
#include "kernels/device.hpp"

namespace orrery::calibrate {

/// Runs one subject over and over. Sets of operands are independent: run in turn they come from memory (cold), the
/// same one again and again stays in the caches (hot).
class Workload {
public:
    virtual ~Workload() = default;
    /// Queues it once on a stream.
    virtual void run(std::size_t set, kernels::Stream stream) = 0;
    [[nodiscard]] std::size_t sets() const { return sets_; }

protected:
    explicit Workload(std::size_t sets) : sets_(sets) {}

private:
    std::size_t sets_;
};

/// Operands are filled with what the kernel expects (valid indices, probabilities). Throws DeviceError when the device
/// has too little memory, Error for a shape that cannot run or a collective without a communicator.
std::unique_ptr<Workload> kernel_workload(kernels::Device& device, const kernels::Kernel& kernel);
std::unique_ptr<Workload> copy_workload(kernels::Device& device, const CopyShape& copy);
std::unique_ptr<Workload> collective_workload(kernels::Device& device, kernels::Communicator* communicator,
                                              const CollectiveShape& collective);
std::unique_ptr<Workload> beside_workload(kernels::Device& device, kernels::Communicator* communicator,
                                          const Beside& beside);

/// How many sets of `footprint` bytes exceed twice the last-level cache, within a quarter of the memory: 1 to 2048.
std::size_t sets_for(std::uint64_t footprint, const kernels::DeviceFacts& facts);

}  // namespace orrery::calibrate
