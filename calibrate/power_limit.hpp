// What a GPU's power limit leaves of its clock, by what it computes.
#pragma once

#include "calibrate/predictor.hpp"
#include "calibrate/roofline.hpp"

namespace orrery::calibrate {

/// A GPU at its power limit lowers its clock until it draws no more. What its units draw goes with operations a second
/// and the square of the voltage, which near the top of the range goes with the clock: so that (clock^2 x rate) is the
/// same for every mix of kernels that is held back. A profile holds one such mix, a large product without a pause:
/// sustained_gemm of the best rate of its table at sustained_clock of the highest clock. The mean is that over tens of
/// milliseconds; what kernels draw beside their operations is left out.
class PowerLimit {
public:
    /// share: of the power that computing takes by the board's design, which held back the profile's mix.
    explicit PowerLimit(const Predictor& predictor, double share = 1);

    /// Whether the profile tells the clock of its long run; else estimates stay as they are.
    [[nodiscard]] bool known() const { return sustained_clock_ > 0; }
    /// Clock over the highest, at most 1, of what computes `rate` operations a second in the mean (half_operations).
    [[nodiscard]] double clock(double rate) const;
    /// Operations of a kernel as so many in 16 bits: those of a format with twice the peak on tensor cores draw half;
    /// those of fp32, which run on the vector units at a fifteenth of the rate, are few and counted as they are. 0 of
    /// kernels other than products and attention.
    [[nodiscard]] double half_operations(const kernels::Kernel& kernel) const;
    /// Seconds of a kernel at a clock: fused attention takes longer in proportion, and products run no faster than the
    /// best of their table does there: all of its rate at the highest clock, sustained_gemm of it at sustained_clock,
    /// and a power of the clock through both between.
    [[nodiscard]] double seconds(const Estimate& estimate, double clock) const;

private:
    Machine machine_;
    double sustained_clock_, sustained_rate_, share_;
};

}  // namespace orrery::calibrate
