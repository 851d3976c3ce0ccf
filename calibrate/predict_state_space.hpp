// Times of the kernels of a state-space scan: streams, or products.
#pragma once

#include <string>

#include "calibrate/predict_pointwise.hpp"
#include "calibrate/predictor.hpp"
#include "calibrate/roofline.hpp"

namespace orrery::calibrate {

/// No profile has measured one: its roofline, of bytes and of operations, with what this device's tables say of both.
class StateSpacePredictor {
public:
    /// Keeps a reference to the other predictor.
    StateSpacePredictor(const Profile& profile, const PointwisePredictor& pointwise);

    /// The longer of an addition that moves as many bytes and of its operations at the rate of products in a long run,
    /// over the share of it that such kernels reach (constants state_space_scan and state_space_convolution).
    [[nodiscard]] Estimate estimate(const kernels::StateSpace& kernel) const;
    [[nodiscard]] std::string explain(const kernels::StateSpace& kernel) const;

private:
    /// Of what bounds a kernel, how much it reaches.
    [[nodiscard]] double reached(const kernels::StateSpace& kernel) const;
    [[nodiscard]] double products(const kernels::StateSpace& kernel) const;

    double half_rate_;           ///< flop/s of 16-bit products in a long run
    double scan_, convolution_;  ///< share that a scan's kernels and convolutions reach of what bounds them
    Machine machine_;
    const PointwisePredictor& pointwise_;
};

}  // namespace orrery::calibrate
