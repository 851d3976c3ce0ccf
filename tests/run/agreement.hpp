// How near a trained model must come to the reference, in fp32 and in 16 bits.
#pragma once

#include <vector>

#include "tests/run/ranks.hpp"
#include "tests/run/reference_model.hpp"

namespace orrery::run {

/// Of losses, relative; of a gradient's elements, of its largest.
inline constexpr double single_error = 2e-5;

/// bf16, models of four layers: of a gradient's norm, and of losses after so many steps, relative.
double half_gradient_error();
double half_loss_error(std::uint32_t steps);

/// All of the reference's losses, within `error` of them.
void expect_losses(const Trained& trained, const std::vector<ReferenceStep>& reference, double error);

/// Every parameter's gradient, clipped to a norm of `most`. Adam and clipping hide a wrong scale of gradients: these do
/// not. Within `error` of its largest element everywhere.
void expect_gradient_elements(const Trained& trained, const ReferenceStep& reference, double most, double error);
/// The norm of the difference within `error` of the norm.
void expect_gradient_norms(const Trained& trained, const ReferenceStep& reference, double most, double error);

}  // namespace orrery::run
