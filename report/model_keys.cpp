#include "report/model_keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "base/enum_table.hpp"
#include "base/text.hpp"
#include "models/catalog.hpp"

namespace orrery::report {

namespace {

using Json = nlohmann::ordered_json;

constexpr EnumNames<models::NormKind> norms{"layernorm", "rmsnorm"};
constexpr EnumNames<models::PositionKind> positions{"learned", "rope", "alibi", "none"};

/// The catalog's model of that name; nullptr when there is none.
const models::ModelSpec* of_catalog(std::string_view name) {
    const auto& all = models::catalog();
    const auto found = std::ranges::find(all, name, &models::ModelSpec::name);
    return found == all.end() ? nullptr : &*found;
}

template <class Enum>
std::string word(const EnumNames<Enum>& words, Enum value) {
    return std::string(words[value]);
}

}  // namespace

nlohmann::ordered_json model_keys(const models::ModelSpec& m) {
    Json model = {{"name", m.name}};
    // The catalog knows the family of its models, and scenario files may not say it again.
    if (of_catalog(m.name) == nullptr) model["model_type"] = models::name(m.family);
    model.update(Json{{"num_hidden_layers", m.layers},
                      {"hidden_size", m.hidden},
                      {"num_attention_heads", m.heads},
                      {"num_key_value_heads", m.kv_heads},
                      {"head_dim", m.head_dim},
                      {"intermediate_size", m.ffn},
                      {"vocab_size", m.vocab},
                      {"type_vocab_size", m.token_types},
                      {"sliding_window", m.attention_window},
                      {"swiglu", m.gated},
                      {"causal", m.causal},
                      {"tie_word_embeddings", m.tied_embeddings},
                      {"add_bias_linear", m.linear_bias},
                      {"add_qkv_bias", m.qkv_bias},
                      {"use_parallel_residual", m.parallel_residual},
                      {"post_norm", m.post_norm},
                      {"mlm_head", m.mlm_head},
                      {"embed_layernorm", m.embedding_norm},
                      {"qk_layernorm", m.qk_norm},
                      {"normalization", word(norms, m.norm)},
                      {"position_embedding_type", word(positions, m.position)}});
    if (m.experts > 0)
        model.update(Json{{"num_experts", m.experts},
                          {"num_experts_per_tok", m.experts_per_token},
                          {"moe_intermediate_size", m.expert_ffn},
                          {"moe_shared_expert_intermediate_size", m.shared_expert_ffn},
                          {"moe_layer_freq", m.moe_layer_freq}});
    if (m.max_positions > 0) model["max_position_embeddings"] = m.max_positions;
    return model;
}

std::string model_title(const models::ModelSpec& model) {
    constexpr std::size_t most = 3;  // changes that are shown
    const models::ModelSpec* const shipped = of_catalog(model.name);
    if (shipped == nullptr || *shipped == model) return model.name;
    const Json was = model_keys(*shipped), is = model_keys(model);
    std::vector<std::string> changes;
    for (const auto& [key, value] : is.items())
        if (!was.contains(key) || was[key] != value) changes.push_back(fmt::format("{} {}", key, value.dump()));
    if (changes.empty()) return model.name;
    const std::size_t more = changes.size() > most ? changes.size() - most : 0;
    changes.resize(changes.size() - more);
    return fmt::format("{} with {}{}", model.name, join(changes), more > 0 ? fmt::format(" and {} more", more) : "");
}

}  // namespace orrery::report
