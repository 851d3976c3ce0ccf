// The largest steps that are taken: what a step program is written of stays in memory, and its shapes in 32 bits.
#pragma once

#include <cstdint>

#include "models/model_spec.hpp"

namespace orrery::strategies {

/// Ranks of a plan.
inline constexpr std::uint32_t most_ranks = 1U << 20U;
/// Tokens of one micro-batch: more are no longer one kernel.
inline constexpr std::uint32_t most_tokens = 1U << 26U;
/// Forwards of layers in a step: about 30 operations each, 80 bytes an operation, 2.4 GB.
inline constexpr double most_passes = 1'000'000;

/// Forwards of layers in so many micro-batches.
inline double layer_passes(const models::ModelSpec& model, double micro_batches) {
    return micro_batches * (double{1} * model.layers + model.decoder_layers + model.text.layers);
}

}  // namespace orrery::strategies
