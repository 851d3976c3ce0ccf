#include "sim/kernel_price.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <variant>

#include "base/normal.hpp"
#include "base/units.hpp"
#include "sim/accumulation.hpp"
#include "sim/costs.hpp"
#include "sim/narrow_kernels.hpp"

namespace orrery::sim {

namespace {

/// A device without a datasheet's rate is the one that the profile measured.
double memory_share(const hardware::Gpu& gpu, const calibrate::Predictor& predictor) {
    const double rate = gpu.memory_bytes_per_second;
    return rate > 0 ? predictor.constant("memory_bytes_per_second") / rate : 1.0;
}

/// Of a kernel over that of the table.
double relative_rate(const kernels::Kernel& kernel, const hardware::AttentionRates& attention) {
    const auto* fused = std::get_if<kernels::Attention>(&kernel);
    if (fused == nullptr) return 1;
    return fused->backward ? attention.backward : attention.forward;
}

}  // namespace

KernelPrices::KernelPrices(const strategies::StepProgram& step, const strategies::Plan& plan, const hardware::Gpu& gpu,
                           const calibrate::Predictor& predictor, std::uint32_t gpus_per_node)
    : plan_(plan),
      predictor_(predictor),
      compute_capability_(gpu.compute_capability),
      memory_(memory_share(gpu, predictor)),
      slowest_(1 + predictor.constant_or("board_spread", 0) * expected_maximum(step.mesh.ranks())),
      attention_(hardware::attention_rates(plan.training.attention_kernel, gpu.compute_capability)),
      caches_(step, predictor, std::min(gpus_per_node, step.mesh.ranks())) {}

KernelPrice KernelPrices::of(const kernels::Kernel& kernel) const {
    KernelPrice price;
    price.estimate = predictor_.kernel(kernel);
    price.profile = caches_.seconds(price.estimate);
    if (is_memory_bound(kernel))
        price.memory = memory_;
    else
        price.slowest = slowest_;
    price.attention_rate = relative_rate(kernel, attention_);
    price.narrow = narrow_seconds_share(kernel, plan_, compute_capability_);
    price.sums = accumulation_seconds(kernel, price.alone(), plan_, compute_capability_, predictor_);
    return price;
}

std::string KernelPrice::explain() const {
    std::string text;
    const auto factor = [&](double value, const char* what) {
        if (value != 1) text += fmt::format("  {}: x{:.3f}\n", what, value);
    };
    factor(estimate.seconds > 0 ? profile / estimate.seconds : 1,
           "operands from caches and memory as this step leaves them");
    factor(memory, "the device's memory beside the profile's");
    factor(slowest, "the slowest of the ranks' boards (board_spread)");
    factor(1 / attention_rate, "the plan's attention_kernel beside the table's");
    factor(narrow, "fp8 and fp4 by the recipe of their scales (hardware/README.md)");
    if (sums > 0) text += fmt::format("  added to sums of gradients: {} more\n", format_seconds(sums));
    return text;
}

}  // namespace orrery::sim
