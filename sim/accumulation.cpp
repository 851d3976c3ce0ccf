#include "sim/accumulation.hpp"

#include <algorithm>

#include "hardware/compute_capability.hpp"
#include "sim/memory_rate.hpp"
#include "strategies/shard_copies.hpp"

namespace orrery::sim {

namespace {

bool measured_as_trained(const calibrate::Profile& profile) {
    constexpr auto of_weights = kernels::GemmPass::weight_gradient;
    return std::ranges::any_of(profile.gemm, [](const auto& table) { return table.pass == of_weights; }) ||
           std::ranges::any_of(profile.batched_gemm, [](const auto& table) { return table.pass == of_weights; });
}

/// A multiprocessor of Hopper holds one tile at a time.
bool one_tile_at_a_time(int compute_capability) { return hardware::is_hopper(compute_capability); }

}  // namespace

double accumulation_seconds(const kernels::Kernel& kernel, double alone, const strategies::Plan& plan,
                            const hardware::Gpu& gpu, const calibrate::Predictor& predictor) {
    const auto* const product = std::get_if<kernels::Gemm>(&kernel);
    if (product == nullptr || product->pass != kernels::GemmPass::weight_gradient) return 0;
    if (gpu.multiprocessors == 0) return 0;
    if (!strategies::adds_inside(plan) || measured_as_trained(predictor.profile())) return 0;
    const double written = std::max(2U, kernels::size_of(product->dtype));
    const double moved = 2.0 * std::max(2U, kernels::size_of(plan.training.precision.grad_reduce));
    const double elements = static_cast<double>(product->batch) * product->m * product->n;
    const double rate = stream_rate(predictor);
    const double further = elements * std::max(0.0, moved - written);
    if (one_tile_at_a_time(gpu.compute_capability)) return further / rate;
    return std::max(0.0, (static_cast<double>(kernels::bytes(kernel)) + further) / rate - alone);
}

}  // namespace orrery::sim
