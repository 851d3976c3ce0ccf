// Results of a layer that a checkpoint may keep by name: jax.ad_checkpoint.checkpoint_name, in MaxText's words.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/enum_set.hpp"

namespace orrery::strategies {

struct Piece;

/// MaxText, configs/base.yml (remat_policy), and where layers/attentions.py, attention_mla.py, linears.py and moe.py
/// give them: queries, keys and values as attention takes them, behind their norms and rotation.
enum class CheckpointName : std::uint8_t {
    decoder_layer_input,  ///< which is kept anyway
    query_proj,
    key_proj,
    value_proj,
    query_wa_proj,  ///< latent attention: what queries are made of, if that is narrow
    kv_wa_proj,     ///< what keys and values are made of
    context,        ///< results of fused attention, with their log-sum-exps
    out_proj,
    mlpwi_0,  ///< the gate of a gated MLP; of another all of its first product, with mlpwi_1
    mlpwi_1,
    mlpwo,
    moe_mlpwi_0,  ///< of experts
    moe_mlpwi_1,
    moe_mlpwo,
};
inline constexpr std::array<std::string_view, 14> checkpoint_names{"decoder_layer_input",
                                                                   "query_proj",
                                                                   "key_proj",
                                                                   "value_proj",
                                                                   "query_wa_proj",
                                                                   "kv_wa_proj",
                                                                   "context",
                                                                   "out_proj",
                                                                   "mlpwi_0",
                                                                   "mlpwi_1",
                                                                   "mlpwo",
                                                                   "moe_mlpwi_0",
                                                                   "moe_mlpwi_1",
                                                                   "moe_mlpwo"};

using CheckpointNames = EnumSet<CheckpointName, std::uint16_t>;

/// Names between commas; nothing where one is unknown, or there is none.
std::optional<CheckpointNames> checkpoint_names_in(std::string_view text);

std::string to_text(CheckpointNames names);

/// With the names of experts' products beside those of a dense layer's, which MaxText gives them as well
/// (layers/moe.py).
CheckpointNames with_experts(CheckpointNames names);

/// What a policy with a name of its own keeps on the device, and in host memory: MaxText's remat_policy
/// (layers/decoders.py, get_remat_policy; maxtext_utils.py, get_save_and_offload_names), praxis's
/// AutodiffCheckpointType.
struct CheckpointPreset {
    std::string_view name;
    CheckpointNames saved, offloaded;
};
/// nullptr for another name.
const CheckpointPreset* find_checkpoint_preset(std::string_view name);

/// Of each of the products that a piece is, in order, the names of what it leaves: all of them have to be kept for it
/// to be. Empty for a piece without named products.
std::vector<CheckpointNames> names_of_products(const Piece& piece);

}  // namespace orrery::strategies
