#include "strategies/checkpoint_names.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "strategies/partition/tensor.hpp"

namespace orrery::strategies {

namespace {

using enum CheckpointName;

/// A linear layer of the model and the names of its products, one behind the other, where they are apart.
struct Row {
    std::string_view piece;
    std::array<CheckpointNames, 3> products;
};
constexpr Row rows[] = {
    {"qkv", {query_proj, key_proj, value_proj}},
    {"latent", {query_wa_proj, kv_wa_proj}},
    {"queries", {query_proj}},
    {"keys_values", {CheckpointNames(key_proj) | value_proj}},
    {"projection", {out_proj}},
    {"up", {mlpwi_0, mlpwi_1}},
    {"down", {mlpwo}},
    {"experts up", {moe_mlpwi_0, moe_mlpwi_1}},
    {"experts down", {moe_mlpwo}},
};

constexpr CheckpointNames heads = CheckpointNames(query_proj) | key_proj | value_proj,
                          mlp = CheckpointNames(mlpwi_0) | mlpwi_1 | mlpwo, nothing = {};
constexpr CheckpointPreset presets[] = {
    {"minimal", heads | out_proj | mlp, nothing},
    {"minimal_with_context", heads | context | out_proj | mlp, nothing},
    {"minimal_flash", heads | context | out_proj | mlp, nothing},
    {"minimal_with_quantization", heads | out_proj | mlp, nothing},
    {"minimal_with_context_and_quantization", heads | context | out_proj | mlp, nothing},
    {"save_dot_with_context_except_mlp", heads | context | out_proj, nothing},
    {"save_dot_except_mlpwi", heads | out_proj | mlpwo, nothing},
    {"save_dot_except_mlp", heads | out_proj, nothing},
    {"save_qkv_out_proj", heads | out_proj, nothing},
    {"save_qkv_proj", heads, nothing},
    {"save_out_proj", out_proj, nothing},
    {"qkv_proj_offloaded", nothing, heads},
    {"minimal_offloaded", nothing, heads | out_proj | mlp},
};

}  // namespace

std::string to_text(CheckpointNames names) { return set_to_text(names, checkpoint_names); }

CheckpointNames with_experts(CheckpointNames names) {
    for (const auto& [dense, of_experts] :
         {std::pair{mlpwi_0, moe_mlpwi_0}, {mlpwi_1, moe_mlpwi_1}, {mlpwo, moe_mlpwo}})
        if (names.has(dense)) names |= of_experts;
    return names;
}

const CheckpointPreset* find_checkpoint_preset(std::string_view name) {
    const auto* const found = std::ranges::find(presets, name, &CheckpointPreset::name);
    return found == std::end(presets) ? nullptr : found;
}

std::optional<CheckpointNames> checkpoint_names_in(std::string_view text) {
    return set_named<CheckpointNames, CheckpointName>(text, checkpoint_names);
}

std::vector<CheckpointNames> names_of_products(const Piece& piece) {
    const auto* const row = std::ranges::find(rows, piece.name, &Row::piece);
    if (row == std::end(rows)) return {};
    const std::size_t apart = piece.results.products.size();
    if (apart > 1) return {row->products.begin(), row->products.begin() + std::min(apart, row->products.size())};
    CheckpointNames all;
    for (const CheckpointNames& product : row->products) all |= product;
    return {all};
}

}  // namespace orrery::strategies
