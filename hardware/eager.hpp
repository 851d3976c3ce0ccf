// Whether kernels are called from Python, one by one.
#pragma once

#include "hardware/host_time.hpp"

namespace orrery::hardware {

/// PyTorch's, whoever wrote the layers; not a graph that an executor walks, nor the runtime of `orrery run`.
constexpr bool is_eager(Software software) { return software != Software::tensorflow && software != Software::orrery; }

}  // namespace orrery::hardware
