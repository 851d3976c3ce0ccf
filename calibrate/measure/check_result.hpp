// Right before fast: every kernel and collective is run once against its known result before it is timed.
#pragma once

#include <string>

#include "calibrate/measure/subject.hpp"
#include "kernels/communicator.hpp"
#include "kernels/device.hpp"

namespace orrery::calibrate {

/// The shape that stands for a kernel's in its check: sizes above some hundred are cut down, with the remainder by 64
/// kept, since libraries choose their code by it. A check then takes milliseconds.
kernels::Kernel reduced(const kernels::Kernel& kernel);

/// What is wrong with the kernel's result on this device; "" when it is right.
std::string kernel_fault(kernels::Device& device, const kernels::Kernel& kernel);

/// The same for a collective; all ranks call it and get the same answer: each sends rank + 1 + i mod 7 as element i.
std::string collective_fault(kernels::Device& device, kernels::Communicator& communicator,
                             const CollectiveShape& shape);

}  // namespace orrery::calibrate
