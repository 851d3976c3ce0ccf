// What a kernel of a step takes on the device, factor by factor: what the profile says of it, and what the step makes
// of that.
#pragma once

#include <cstdint>
#include <string>

#include "calibrate/power_limit.hpp"
#include "calibrate/predictor.hpp"
#include "hardware/gpu.hpp"
#include "sim/caches.hpp"
#include "sim/padded_products.hpp"
#include "strategies/plan.hpp"
#include "strategies/step_program.hpp"

namespace orrery::sim {

struct KernelPrice {
    double profile = 0;         ///< seconds by the profile, with what this step's caches hold
    double memory = 1;          ///< of what waits for memory: the profile's over that of the device
    double clock = 1;           ///< of products and attention: at the clock of this step's mix over that of a long run
    double slowest = 1;         ///< of others: the slowest of the ranks' boards, for which all wait (board_spread)
    double attention_rate = 1;  ///< of fused attention: the rate of what runs over the table's
    double narrow = 1;          ///< of what fp8 and fp4 take by how their scales come about (narrow_kernels)
    double tiles = 1;           ///< of experts' products on TPUs: multiplications executed over those asked for
    double sums = 0;            ///< seconds more of a weight gradient that is added to a sum (accumulation)
    double copies = 0;          ///< seconds more of operands that are copied to aligned rows (padded_products)
    calibrate::Estimate estimate;  ///< what the profile says, and how well it knows

    /// Alone on the device, without the gap behind it.
    [[nodiscard]] double seconds() const { return alone() + sums + copies; }
    [[nodiscard]] double alone() const {
        return profile * clock * (memory * slowest / attention_rate) * narrow * tiles;
    }
    /// A line for each factor that is not 1, "  the plan's attention_kernel beside the table's: x1.166\n".
    [[nodiscard]] std::string explain() const;
};

/// Of a GPU whose power is limited: what all of the program's kernels leave it, or what it has at most. Of a part of a
/// step, whose mix is another than the whole's, only the highest says what kernels take at least.
enum class StepClock : std::uint8_t { of_the_program, highest };

/// The kernels of one step.
class KernelPrices {
public:
    /// gpus_per_node: of the cluster. Throws Error where the profile lacks what a kernel of the step needs.
    KernelPrices(const strategies::StepProgram& step, const strategies::Plan& plan, const hardware::Gpu& gpu,
                 const calibrate::Predictor& predictor, std::uint32_t gpus_per_node,
                 StepClock clock = StepClock::of_the_program);

    [[nodiscard]] KernelPrice of(const kernels::Kernel& kernel) const;

    /// Over the highest, as a power limit leaves it to what the step computes (PowerLimit); 1 where none is known.
    [[nodiscard]] double clock() const { return clock_; }

private:
    [[nodiscard]] KernelPrice at(const kernels::Kernel& kernel, double clock) const;
    void align(KernelPrice& price, const PaddedProduct& aligned) const;
    [[nodiscard]] double memory_of(const kernels::Kernel& kernel, const KernelPrice& price) const;
    [[nodiscard]] double step_clock(const strategies::StepProgram& step) const;

    const strategies::Plan& plan_;
    const hardware::Gpu& gpu_;
    const calibrate::Predictor& predictor_;
    double memory_, stream_, slowest_;
    Caches caches_;
    calibrate::PowerLimit limit_;
    double clock_;
};

}  // namespace orrery::sim
