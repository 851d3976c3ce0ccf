// Parts of a layer that selective recomputation names: Megatron-Core's recompute_modules.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

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

class ModuleSet {
public:
    constexpr ModuleSet() = default;
    constexpr ModuleSet(Module module) : bits_(static_cast<std::uint8_t>(1U << static_cast<unsigned>(module))) {}

    [[nodiscard]] constexpr bool has(Module module) const { return meets(ModuleSet(module)); }
    [[nodiscard]] constexpr bool meets(ModuleSet other) const { return (bits_ & other.bits_) != 0; }
    [[nodiscard]] constexpr bool empty() const { return bits_ == 0; }
    /// A number for each set, 0 for none.
    [[nodiscard]] constexpr std::uint8_t bits() const { return bits_; }
    constexpr ModuleSet& operator|=(ModuleSet other) {
        bits_ |= other.bits_;
        return *this;
    }
    friend constexpr ModuleSet operator|(ModuleSet a, ModuleSet b) { return a |= b; }
    friend constexpr ModuleSet operator&(ModuleSet a, ModuleSet b) {
        ModuleSet both;
        both.bits_ = a.bits_ & b.bits_;
        return both;
    }
    constexpr bool operator==(const ModuleSet&) const = default;

private:
    std::uint8_t bits_ = 0;
};

/// Modules whose results are thrown away as well, and brought back with what they keep inside (Megatron-LM,
/// CheckpointWithoutOutput): of the others the input alone is kept, and the result goes on.
inline constexpr ModuleSet without_output = ModuleSet(Module::mla_up_proj) | Module::layernorm | Module::moe_act;

/// "layernorm,moe_act".
std::string to_text(ModuleSet modules);

/// "layernorm,moe_act": names between commas or blanks, in any order; nothing where one is unknown, or there is none.
std::optional<ModuleSet> modules_named(std::string_view text);

}  // namespace orrery::strategies
