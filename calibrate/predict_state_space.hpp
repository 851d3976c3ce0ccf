// Times of the kernels of a state-space scan: streams, or products.
#pragma once

#include <string>

#include "calibrate/predict_pointwise.hpp"
#include "calibrate/predictor.hpp"
#include "calibrate/roofline.hpp"

namespace orrery::calibrate {

/// No profile has measured one: what this device's tables say of bytes and of operations.
class StateSpacePredictor {
public:
    /// Keeps a reference to the other predictor.
    StateSpacePredictor(const Profile& profile, const PointwisePredictor& pointwise);

    /// Of a scan's kernel: an addition that moves as many bytes, and then its operations at a rate that exponentials
    /// between the products bound (constant state_space_products); without the constant the longer of the two, at the
    /// rate of products in a long run. Of a convolution: the addition, over the share of its rate that convolutions
    /// reach (state_space_convolution).
    [[nodiscard]] Estimate estimate(const kernels::StateSpace& kernel) const;
    [[nodiscard]] std::string explain(const kernels::StateSpace& kernel) const;

private:
    [[nodiscard]] double rate(kernels::Dtype dtype) const;  ///< flop/s of a scan
    [[nodiscard]] double seconds(const kernels::StateSpace& kernel, double moved) const;

    Machine machine_;
    double beside_;       ///< state_space_products; 0: unknown
    double convolution_;  ///< state_space_convolution; 1: unknown
    double half_rate_;    ///< flop/s of 16-bit products in a long run
    const PointwisePredictor& pointwise_;
};

}  // namespace orrery::calibrate
