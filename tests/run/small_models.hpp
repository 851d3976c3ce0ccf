// Models of four layers that train in a moment, and how the plain implementation trains them.
#pragma once

#include <ostream>
#include <vector>

#include "tests/run/reference_model.hpp"

namespace orrery::run {

/// Learned positions, biases, GELU, LayerNorm, tied logits; a vocabulary that needs padding.
models::ModelSpec small_gpt();
/// Rotary positions, grouped heads, SwiGLU, RMSNorm, untied logits, no biases.
models::ModelSpec small_llama();

/// One rank, fp32, four micro-batches of two sequences of eight tokens; clipped below the norm of these gradients, so
/// that clipping acts.
strategies::Plan plan_of(const models::ModelSpec& spec);
/// Ten steps at this rate lower the loss clearly.
RunSettings fast();
inline constexpr std::uint32_t steps = 10;
/// Trained once for each name of a model.
const std::vector<ReferenceStep>& reference_of(const models::ModelSpec& spec);

/// What a test makes of a plan.
struct Case {
    const char* name;
    void (*change)(strategies::Plan&);
};
void PrintTo(const Case& one, std::ostream* out);

}  // namespace orrery::run
