// A Transformer trained in plain double precision, one sequence after the other, by reverse-mode differentiation of
// whole matrices: written without anything of run/ but the initial values.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "run/place.hpp"
#include "strategies/plan.hpp"

namespace orrery::run {

struct ReferenceStep {
    double loss = 0;                                       ///< mean over all tokens of the global batch
    double gradient_norm = 0;                              ///< before clipping
    std::map<std::string, std::vector<double>> gradients;  ///< before clipping, by parameter, whole; of the first step
};

/// Trains for `steps` steps with the plan's model, batch and clipping, and the settings' tokens and Adam.
std::vector<ReferenceStep> train_reference(const strategies::Plan& plan, const RunSettings& settings,
                                           std::uint32_t steps);

/// What steps that follow each other without a flush do: by parameter.
struct WithoutFlushes {
    /// How often it has been updated as a micro-batch, counted over all steps, reads it.
    std::function<std::uint32_t(const std::string& parameter, std::uint32_t micro_batch)> version;
    std::function<std::uint32_t(const std::string& parameter)>
        stage;                  ///< whose gradients are clipped by their own norm
    std::size_t versions = 16;  ///< the last so many are asked for
};
/// gradient_norm: of all stages.
std::vector<ReferenceStep> train_reference(const strategies::Plan& plan, const RunSettings& settings,
                                           std::uint32_t steps, const WithoutFlushes& as);

/// The loss of the first step's batch when one element of one parameter is moved by `delta` from its initial value.
double reference_loss(const strategies::Plan& plan, const RunSettings& settings, const std::string& parameter,
                      std::size_t element, double delta);

}  // namespace orrery::run
