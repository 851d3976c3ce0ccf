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

/// Two layers of an encoder and two of a decoder: biases of positions by distance, ReLU, RMSNorm, tied logits.
models::ModelSpec small_t5();
/// As Megatron-LM has it: learned positions, biases, one of the logits too, GELU, LayerNorm.
models::ModelSpec small_megatron_t5();

/// One rank, fp32, four micro-batches of two sequences of eight tokens, and six that are decoded; clipped below the
/// norm of these gradients, so that clipping acts.
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
