// Parts of a layer that selective recomputation names: Megatron-Core's recompute_modules.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/enum_set.hpp"

namespace orrery::strategies {

/// Megatron-LM, transformer_config.py, recompute_modules.
enum class Module : std::uint8_t {
    core_attn,       ///< scores, probabilities and what they weigh
    mla_up_proj,     ///< latent attention: from its norm to rotated queries and keys
    layernorm,       ///< the norms before attention and before the MLP
    moe_act,         ///< the activation of experts
    mlp,             ///< the MLP of a layer without experts
    shared_experts,  ///< the MLP that every token takes beside its experts
    moe,             ///< all of a layer's experts, with the exchange of tokens
};
inline constexpr std::array<std::string_view, 7> module_names{"core_attn", "mla_up_proj",    "layernorm", "moe_act",
                                                              "mlp",       "shared_experts", "moe"};

using ModuleSet = EnumSet<Module, std::uint8_t>;

/// Modules whose results are thrown away as well, and brought back with what they keep inside (Megatron-LM,
/// CheckpointWithoutOutput): of the others the input alone is kept, and the result goes on.
inline constexpr ModuleSet without_output = ModuleSet(Module::mla_up_proj) | Module::layernorm | Module::moe_act;

/// "layernorm,moe_act".
std::string to_text(ModuleSet modules);

/// "layernorm,moe_act": names between commas or blanks, in any order; nothing where one is unknown, or there is none.
std::optional<ModuleSet> modules_named(std::string_view text);

}  // namespace orrery::strategies
