// What the host does around a model's modules for those who share their parameters.
#pragma once

#include "hardware/host_time.hpp"
#include "kernels/kernel.hpp"
#include "strategies/plan.hpp"

namespace orrery::sim {

/// Seconds of the host around a kernel's module beside what handing it out takes: DeepSpeed's third stage fetches and
/// releases the parameters of each linear layer by hooks in Python, forward and backward, and puts its gradients into
/// buckets. Products that no weights take part in have none, and a rank's experts are one module
/// (z3_leaf_modules).
double hook_seconds(const kernels::Kernel& kernel, const strategies::Plan& plan, hardware::HostProcessor host);

}  // namespace orrery::sim
