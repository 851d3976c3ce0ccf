#include "sim/kernel_price.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include "base/normal.hpp"
#include "base/units.hpp"
#include "hardware/attention_kernels.hpp"
#include "hardware/instinct_attention.hpp"
#include "hardware/power.hpp"
#include "sim/accumulation.hpp"
#include "sim/costs.hpp"
#include "sim/expert_tiles.hpp"
#include "sim/memory_rate.hpp"
#include "sim/narrow_kernels.hpp"

namespace orrery::sim {

namespace {

/// Of a kernel over that of the table.
double relative_rate(const kernels::Kernel& kernel, hardware::AttentionKernel which, const hardware::Gpu& gpu) {
    const auto* fused = std::get_if<kernels::Attention>(&kernel);
    if (fused == nullptr) return 1;
    const hardware::AttentionShape shape{
        .head_dim = fused->head_dim, .window = fused->window, .seq = double(fused->seq), .dropout = fused->dropout};
    const hardware::AttentionRates rates = hardware::vendor(gpu.socket) == hardware::Vendor::amd
                                               ? hardware::instinct_attention_rates(which, gpu.socket)
                                               : hardware::attention_rates(which, gpu.compute_capability, shape);
    return fused->backward ? rates.backward : rates.forward;
}

/// How often each of the step's kernels runs on a device, in all its programs together; without the optimizer's, which
/// run when a board has long forgotten the others.
std::vector<std::uint64_t> kernel_counts(const strategies::StepProgram& step) {
    std::vector<std::uint64_t> kernels(step.kernels.size()), calls(step.blocks.size());
    const auto count = [&](const strategies::Op& op, std::uint64_t times) {
        if (op.label.phase == strategies::Phase::optimizer) return;
        if (const auto* compute = std::get_if<strategies::Compute>(&op.what)) kernels[compute->kernel] += times;
    };
    for (const strategies::Program& program : step.programs)
        for (std::uint32_t i = 0; i < program.ops.size(); ++i) {
            const strategies::Op& op = program.ops[i];
            const std::uint64_t times = program.rounds.times(i);
            if (const auto* call = std::get_if<strategies::Call>(&op.what)) calls[call->block] += times * call->times;
            count(op, times);
        }
    for (std::size_t block = 0; block < calls.size(); ++block)
        for (const strategies::Op& op : step.blocks[block].ops) count(op, calls[block]);
    return kernels;
}

/// Of the power that computing takes by the board's design: what it draws beside that it draws in any case.
double power_share(const hardware::Gpu& gpu, const calibrate::Predictor& predictor) {
    if (gpu.power_limit_watts == 0) return 1;
    if (predictor.constant_or("sustained_clock", 0) == 0)
        throw Error("", "/cluster/gpu_power_limit",
                    fmt::format("given, but the profile of a {} does not know its clock under load", gpu.name),
                    "leave it out, or calibrate on such a GPU");
    const hardware::Power power = hardware::power_of(gpu.name);
    return (gpu.power_limit_watts - power.idle) / (power.gpu - power.idle);
}

}  // namespace

KernelPrices::KernelPrices(const strategies::StepProgram& step, const strategies::Plan& plan, const hardware::Gpu& gpu,
                           const calibrate::Predictor& predictor, std::uint32_t gpus_per_node, StepClock clock)
    : plan_(plan),
      gpu_(gpu),
      predictor_(predictor),
      memory_(memory_share(gpu, predictor)),
      stream_(stream_rate(predictor)),
      slowest_(1 + predictor.constant_or("board_spread", 0) * expected_maximum(step.mesh.ranks())),
      caches_(step, predictor, std::min(gpus_per_node, step.mesh.ranks())),
      limit_(predictor, power_share(gpu, predictor)),
      clock_(limit_.known() && clock == StepClock::of_the_program ? step_clock(step) : 1) {}

/// A lower clock takes longer for the same operations, whose rate then allows a higher one: what both agree on. Each
/// round brings them closer by a factor of two and more.
double KernelPrices::step_clock(const strategies::StepProgram& step) const {
    constexpr int rounds = 12;
    const std::vector<std::uint64_t> counts = kernel_counts(step);
    std::vector<std::pair<KernelPrice, double>> prices;
    double operations = 0;
    for (std::size_t k = 0; k < counts.size(); ++k) {
        const auto times = static_cast<double>(counts[k]);
        if (times > 0) prices.emplace_back(at(step.kernels[k], 1), times);
        operations += times * limit_.half_operations(step.kernels[k]);
    }
    double clock = 1;
    for (int round = 0; round < rounds; ++round) {
        double seconds = 0;
        for (auto& [price, times] : prices) {
            price.clock = limit_.seconds(price.estimate, clock) / price.estimate.seconds;
            seconds += times * price.seconds();
        }
        clock = seconds > 0 ? limit_.clock(operations / seconds) : 1;
    }
    return clock;
}

KernelPrice KernelPrices::of(const kernels::Kernel& kernel) const { return at(kernel, clock_); }

/// Where it takes less.
void KernelPrices::align(KernelPrice& price, const PaddedProduct& aligned) const {
    const calibrate::Estimate estimate = predictor_.kernel(aligned.product);
    double copies = 0;
    for (const kernels::Pointwise& copy : aligned.copies) copies += memory_ * predictor_.kernel(copy).seconds;
    if (estimate.seconds + copies > price.estimate.seconds) return;
    price.estimate = estimate;
    price.copies = copies;
}

/// A product of few operations a byte waits for memory on a board whose memory is slower than that of the table's, as
/// long as its operands take there.
double KernelPrices::memory_of(const kernels::Kernel& kernel, const KernelPrice& price) const {
    if (is_memory_bound(kernel)) return memory_;
    const double seconds = price.estimate.seconds * price.clock;
    if (memory_ <= 1 || seconds <= 0) return 1;
    return std::max(1.0, memory_ * std::min(1.0, kernels::bytes(kernel) / stream_ / seconds));
}

KernelPrice KernelPrices::at(const kernels::Kernel& kernel, double clock) const {
    KernelPrice price;
    price.estimate = predictor_.kernel(kernel);
    if (const auto aligned = padded(kernel, plan_.training)) align(price, *aligned);
    price.profile = caches_.seconds(price.estimate);
    if (price.estimate.seconds > 0) price.clock = limit_.seconds(price.estimate, clock) / price.estimate.seconds;
    price.memory = memory_of(kernel, price);
    if (!is_memory_bound(kernel)) price.slowest = slowest_;
    price.attention_rate = relative_rate(kernel, plan_.training.attention_kernel, gpu_);
    price.narrow = narrow_seconds_share(kernel, plan_, gpu_.compute_capability);
    price.tiles = tiled_share(kernel, plan_, gpu_);
    price.sums = accumulation_seconds(kernel, price.alone(), plan_, gpu_, predictor_);
    return price;
}

std::string KernelPrice::explain() const {
    std::string text;
    const auto factor = [&](double value, const char* what) {
        if (value != 1) text += fmt::format("  {}: x{:.3f}\n", what, value);
    };
    factor(estimate.seconds > 0 ? profile / estimate.seconds : 1,
           "operands from caches and memory as this step leaves them");
    factor(clock, "at the clock that the power limit leaves this step, beside a long run of products");
    factor(memory, "the device's memory beside the profile's");
    factor(slowest, "the slowest of the ranks' boards (board_spread)");
    factor(1 / attention_rate, "the plan's attention_kernel beside the table's");
    factor(narrow, "fp8 and fp4 by the recipe of their scales (hardware/README.md)");
    factor(tiles, "experts' rows and sizes in whole tiles of MaxText's megablox");
    if (copies > 0) text += fmt::format("  operands copied to aligned rows: {} more\n", format_seconds(copies));
    if (sums > 0) text += fmt::format("  added to sums of gradients: {} more\n", format_seconds(sums));
    return text;
}

}  // namespace orrery::sim
