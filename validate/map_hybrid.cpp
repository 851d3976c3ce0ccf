// Models of more than one stack or of more than one kind of layer: Megatron-LM's T5 and its hybrids of state-space
// mixers, attention, MLPs and experts.
#include <algorithm>

#include "models/catalog.hpp"
#include "validate/map_row.hpp"
#include "validate/recipes.hpp"

namespace orrery::validate {

namespace {

/// The pattern as printed, behind each slash the layers of one further token; empty: none is.
std::string whole_pattern(const Row& row) {
    for (const char* path : {"switches.hybrid-layer-pattern", "switches.hybrid-override-pattern"})
        if (const auto text = row.text(path)) return std::string(*text);
    return "";
}

std::string printed_pattern(const Row& row) {
    const std::string whole = whole_pattern(row);
    return whole.substr(0, whole.find('/'));
}

std::string further_layers(const Row& row) {
    const std::string whole = whole_pattern(row);
    const auto slash = whole.find('/');
    if (slash == std::string::npos) return "*E";  // Nemotron 3's (Megatron-Bridge, mtp_hybrid_override_pattern)
    const std::string further = whole.substr(slash + 1);
    return further.substr(0, further.find('/'));
}

}  // namespace

void map_further_tokens(const Row& row, models::ModelSpec& spec) {
    spec.further_tokens = row.count("switches.mtp-num-layers").value_or(further_tokens_of_recipe(row));
    if (spec.further_tokens > 0 && spec.family == models::Family::mamba) spec.further_pattern = further_layers(row);
}

models::ModelSpec megatron_t5() {
    models::ModelSpec spec = models::find("gpt2");
    spec.family = models::Family::t5;
    spec.causal = false;
    spec.logits_bias = true;
    return spec;
}

std::string layer_pattern(const Row& row) {
    std::string pattern = printed_pattern(row);
    std::erase(pattern, '|');
    return pattern;
}

std::vector<std::uint32_t> pattern_stages(const Row& row) {
    const std::string pattern = printed_pattern(row);
    std::vector<std::uint32_t> layers;
    if (pattern.find('|') == std::string::npos) return layers;
    layers.push_back(0);
    for (const char c : pattern) c == '|' ? layers.push_back(0) : static_cast<void>(++layers.back());
    return layers;
}

void map_mixers(const Row& row, models::ModelSpec& spec) {
    const std::string pattern = layer_pattern(row);
    if (!pattern.empty()) {
        // Not printed: Megatron-LM's defaults (transformer_config.py, mamba_*; mamba_mixer.py, d_conv, expand and
        // chunk_size).
        const auto stated = [&](const char* path, std::uint32_t otherwise) {
            return row.count(path).value_or(otherwise);
        };
        models::MambaSpec& mamba = spec.mamba;
        mamba.state = stated("switches.mamba-state-dim", 128);
        mamba.head_dim = std::max(1U, stated("switches.mamba-head-dim", 64));
        mamba.groups = stated("switches.mamba-num-groups", 8);
        mamba.heads = stated("switches.mamba-num-heads", 2 * spec.hidden / mamba.head_dim);
        mamba.window = 4;
        mamba.chunk = 128;
        spec.family = models::Family::mamba;
        spec.layer_pattern = pattern;
        spec.layers = static_cast<std::uint32_t>(pattern.size());
    }
    if (spec.family == models::Family::mamba && spec.layer_pattern.size() != spec.layers)
        throw Skip("model dimensions not published: layers");
}

}  // namespace orrery::validate
