// Plans small enough to count by hand.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "strategies/plan.hpp"
#include "strategies/step_program.hpp"

namespace orrery::strategies {

/// GPT with dropout: 4 layers, hidden 64, 4 heads of 16, MLP of 256, 1,000 words, 128 positions, tied logits.
models::ModelSpec tiny_gpt();
/// Llama: 4 layers, hidden 64, 4 heads of 16 over 2 key-value heads, gated MLP of 192, 1,000 words, untied logits.
models::ModelSpec tiny_llama();
/// BERT with its head: post-norm, segment table, norm behind the embedding.
models::ModelSpec tiny_bert();

/// tiny_llama with DeepSeek's attention: keys of 24 columns, 8 of which rotate, values of 16.
models::ModelSpec latent_llama();

/// tiny_gpt in bf16 with unfused attention, 128 tokens, micro-batches of 2, four micro-batches a rank.
Plan tiny_plan(std::uint32_t tensor = 1, std::uint32_t pipeline = 1, std::uint32_t data = 1);

/// tiny_llama whose four layers have 8 experts of 96, two a token; 256 tokens a micro-batch.
Plan moe_plan(std::uint32_t tensor = 1, std::uint32_t pipeline = 1, std::uint32_t data = 4, std::uint32_t expert = 4);

/// Pointer of the key at which a plan is refused, with a remedy; "accepted" where it is not.
std::string refused_at(const Plan& plan);

/// Of the kernels of a step, over all calls: one rank of each role.
double kernel_flops(const StepProgram& step);

/// Calls and bytes by kind.
using Exchanged = std::map<kernels::CollectiveKind, std::pair<std::uint64_t, std::uint64_t>>;

/// Of a program's collectives, all or those along these axes.
Exchanged exchanged(const Program& program, std::optional<AxisSet> axes = std::nullopt);

}  // namespace orrery::strategies
