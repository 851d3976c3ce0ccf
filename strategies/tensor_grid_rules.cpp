#include "strategies/tensor_grid_rules.hpp"

#include <fmt/format.h>

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "strategies/plan.hpp"
#include "strategies/refusal.hpp"
#include "strategies/zero_plus_plus.hpp"

namespace orrery::strategies {

namespace {

using std::uint64_t;

constexpr uint64_t most_ranks = 65536;
constexpr const char* mode_key = "/strategy/tensor_mode";

std::string_view shape_of(TensorMode mode) {
    return mode == TensorMode::three_d ? "a cube" : mode == TensorMode::two_d ? "a square" : "tensor_depth squares";
}

bool has_shape(const Strategy& strategy, uint64_t ranks) {
    const TensorGrid grid = grid_of(strategy.tensor_mode, static_cast<std::uint32_t>(ranks), strategy.tensor_depth);
    return uint64_t{grid.row} * grid.column * grid.depth == ranks;
}

/// What is divided by the square of the grid's side: a rank holds one of as many parts of biases and norms (2d, 2.5d:
/// Linear2D and LayerNorm2D), or the rows of a weight are in as many (3d: Linear3D).
auto widths_of(const models::ModelSpec& model) {
    const uint64_t head = model.head_dim;
    return std::to_array<std::pair<uint64_t, std::string_view>>(
        {{model.hidden, "columns of the residual stream (hidden)"},
         {model.ffn, "columns of the MLP (ffn)"},
         {model.heads * head, "columns of all heads"},
         {(model.heads + uint64_t{2} * model.kv_heads) * head, "columns of queries, keys and values"}});
}
auto heads_of(const models::ModelSpec& model) {
    return std::to_array<std::pair<uint64_t, std::string_view>>(
        {{model.heads, "heads"}, {model.kv_heads, "key-value heads"}});
}

bool divides_model(const models::ModelSpec& model, uint64_t side) {
    for (const auto& [count, name] : heads_of(model))
        if (count % side != 0) return false;
    for (const auto& [width, name] : widths_of(model))
        if (width % (side * side) != 0) return false;
    return true;
}

void check_shape(const Plan& plan) {
    const Strategy& strategy = plan.strategy;
    if (strategy.tensor_mode != TensorMode::two_and_half_d && strategy.tensor_depth != 1)
        refuse("/strategy/tensor_depth", fmt::format("{}, but tensor_mode is not 2.5d", strategy.tensor_depth),
               "set tensor_mode to \"2.5d\", or leave it out", Source::origin_of_key);
    if (strategy.tensor_depth > strategy.tensor)
        refuse("/strategy/tensor_depth",
               fmt::format("{} squares of {} tensor ranks", strategy.tensor_depth, strategy.tensor),
               nearest_divisors(strategy.tensor_depth, strategy.tensor), Source::colossal_groups);
    if (strategy.tensor_mode == TensorMode::one_d || has_shape(strategy, strategy.tensor)) return;
    refuse("/strategy/tensor",
           fmt::format("{} ranks are not {}, as tensor_mode demands", strategy.tensor, shape_of(strategy.tensor_mode)),
           nearest_legal(strategy.tensor, most_ranks, [&](uint64_t ranks) { return has_shape(strategy, ranks); }),
           Source::colossal_groups);
}

/// Decoders whose layers are products, norms, attention and activations one behind the other.
void check_model(const models::ModelSpec& model) {
    using models::Family;
    const auto only = [&](bool holds, std::string_view what) {
        if (holds) return;
        refuse(mode_key, fmt::format("a grid of tensor ranks, but {} {}", model.name, what),
               "set it to \"1d\", or name a plain GPT or Llama model", Source::not_modelled);
    };
    only(model.family == Family::gpt || model.family == Family::llama, "is no decoder of words");
    only(model.experts == 0, "has experts");
    only(model.layer_pattern.empty(), "has layers of one branch");
    only(model.kv_lora_rank == 0, "has latent attention");
    only(!model.parallel_residual, "adds attention and MLP at once");
    only(!model.qk_norm, "has norms of queries and keys");
    only(model.further_tokens == 0, "predicts further tokens");
}

void check_widths(const Plan& plan) {
    const TensorGrid grid = plan.tensor_grid();
    const uint64_t side = grid.row, tensor = plan.strategy.tensor;
    const auto fits = [&](uint64_t ranks) {
        if (!has_shape(plan.strategy, ranks)) return false;
        const TensorGrid other =
            grid_of(plan.strategy.tensor_mode, static_cast<std::uint32_t>(ranks), plan.strategy.tensor_depth);
        return divides_model(plan.model, other.row);
    };
    const auto check = [&](uint64_t width, uint64_t parts, std::string_view name) {
        if (width % parts == 0) return;
        refuse("/strategy/tensor",
               fmt::format("{} ranks are a grid of {} a side, and {} does not divide the {} {}", tensor, side, parts,
                           width, name),
               nearest_legal(tensor, most_ranks, fits), Source::colossal_layers);
    };
    for (const auto& [count, name] : heads_of(plan.model)) check(count, side, name);
    for (const auto& [width, name] : widths_of(plan.model)) check(width, side * side, name);
    const uint64_t parts = grid.token_parts(), sequences = plan.training.micro_batch;
    if (sequences % parts != 0)
        refuse("/training/micro_batch_size",
               fmt::format("{} sequences are divided among {} rows of tensor ranks", sequences, parts),
               nearest_multiples(sequences, parts), Source::colossal_layers);
}

void check_neighbours(const Plan& plan) {
    const Strategy& strategy = plan.strategy;
    const Training& training = plan.training;
    const auto only = [](bool holds, std::string_view key, std::string message, std::string hint) {
        if (!holds) refuse(key, std::move(message), std::move(hint), Source::not_modelled);
    };
    const std::string grid = "beside a grid of tensor ranks", or_1d = ", or tensor_mode to \"1d\"";
    only(!strategy.sequence_parallel, "/strategy/sequence_parallel",
         "true " + grid + ", which hold parts of the tokens anyway", "set it to false" + or_1d);
    only(strategy.context == 1, "/strategy/context",
         fmt::format("{} {}: blocks are of whole sequences", strategy.context, grid), "set it to 1" + or_1d);
    only(!strategy.tensor_comm_overlap, "/strategy/tp_comm_overlap",
         "true " + grid + ": Transformer Engine's buffers are of one width", "leave it out" + or_1d);
    only(strategy.compression == Compression::none, "/strategy/compression", "compression " + grid,
         "leave it out" + or_1d);
    only(!is_zero_plus_plus(strategy), "/strategy/sharding", "ZeRO++ " + grid, "leave its keys out" + or_1d);
    only(!is_narrow(training.precision.compute), "/training/precision",
         fmt::format("{} {}, whose blocks are sent as they are", kernels::name(training.precision.compute), grid),
         "set it to bf16 or fp16" + or_1d);
    only(training.lora_rank == 0, "/training/lora_rank", "adapters " + grid, "leave it out");
    only(training.optimizer != Optimizer::muon, "/training/optimizer",
         "muon " + grid + ", each of which holds a block of a matrix", "take another" + or_1d);
    only(!training.broadcast_data, "/training/broadcast_data", "true " + grid + ": Megatron-LM's, which has none",
         "set it to false" + or_1d);
    only(training.fused_rms_norm, "/training/fused_rms_norm", "a norm of several kernels " + grid, "set it to true");
    only(training.kernel_fusion != KernelFusion::primitives, "/training/kernel_fusion",
         "primitives " + grid + ": TensorFlow has none", "set it to \"operators\"" + or_1d);
}

}  // namespace

void check_tensor_grid(const Plan& plan) {
    check_shape(plan);
    if (!plan.tensor_grid().divides()) return;
    check_model(plan.model);
    check_neighbours(plan);
    check_widths(plan);
}

}  // namespace orrery::strategies
