#include "strategies/checkpoint_names.hpp"

#include <algorithm>

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

}  // namespace

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
