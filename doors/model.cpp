#include "doors/model.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>

#include "documents/write_fields.hpp"
#include "doors/documents/flatten.hpp"
#include "models/catalog.hpp"
#include "models/model_fields.hpp"

namespace orrery::doors {

bool is_listed(const std::string& name) {
    const auto all = models::catalog();
    return std::ranges::find(all, name, &models::ModelSpec::name) != all.end();
}

void put_model(const models::ModelSpec& spec, const Origin& origin, Draft& draft) {
    nlohmann::ordered_json model = documents::write_fields(models::model_fields(), spec);
    if (model.contains("dropout")) {  // a scenario's training says it
        draft.set("/training/dropout", model["dropout"], origin);
        model.erase("dropout");
    }
    // The catalog knows the family of its models, and a scenario may not say it again.
    if (is_listed(spec.name)) model.erase("model_type");
    draft.set("/model", std::move(model), origin);
    if (!spec.takes_images()) return;  // an image is as many tokens as it has patches
    draft.set_default("/training/seq_length", spec.image.tokens(), origin);
    if (spec.text.layers > 0) draft.set_default("/training/decoder_seq", spec.max_positions, origin);
}

namespace {

/// Of a config.json, or of the catalog where no file has such a name.
bool is_of_catalog(const std::string& named) { return is_listed(named) && !std::filesystem::exists(named); }

models::ModelSpec read_model(const std::string& named) {
    return is_of_catalog(named) ? models::find(named) : models::import_hugging_face(named);
}

/// Whether transformers' code of such a model has queries, keys and values, and a gate and its matrix, as one product.
struct Joined {
    bool heads, gate;
};
Joined joined(const std::string& named, const models::ModelSpec& spec) {
    if (is_of_catalog(named)) return {spec.family == models::Family::gpt, false};
    // Those with qkv_proj, c_attn, query_key_value, Wqkv; and with gate_up_proj.
    constexpr std::array<std::string_view, 8> joins_heads{"phi3", "qwen",  "gpt2",   "gpt_neox",
                                                          "mpt",  "bloom", "falcon", "gpt_bigcode"};
    const std::string type = read_json(named).value("model_type", "");
    return {std::ranges::find(joins_heads, type) != joins_heads.end(), type == "phi3"};
}

}  // namespace

void put_named_model(const std::string& named, Draft& draft) {
    const Origin origin = is_of_catalog(named) ? Origin{{"", "--model"}, ""} : Origin{{named, ""}, ""};
    try {
        put_model(read_model(named), origin, draft);
    } catch (const Error& error) {
        draft.findings.refuse(error, {error.file(), error.pointer()});
    }
}

void put_transformers_modules(const std::string& named, Draft& draft) {
    const Origin origin{{named, ""}, ""};
    try {
        const models::ModelSpec spec = read_model(named);
        const Joined one = joined(named, spec);
        if (!spec.takes_images()) draft.set_default("/training/cross_entropy", "torch", origin);
        if (spec.norm == models::NormKind::rmsnorm) draft.set_default("/training/fused_rms_norm", false, origin);
        draft.set_default("/training/fuse_attention_qkv", one.heads, origin);
        if (spec.gated) draft.set_default("/training/fuse_attention_ffn", one.gate, origin);
    } catch (const Error&) {
        return;
    }
}

std::optional<models::ModelSpec> named_model(const Draft& draft) {
    const nlohmann::ordered_json* const name = draft.find("/model/name");
    if (name == nullptr || !is_listed(name->get<std::string>())) return std::nullopt;
    return models::find(name->get<std::string>());
}

bool has_experts(const Draft& draft) {
    if (draft.whole("/model/num_experts", 0) > 0) return true;
    const auto named = named_model(draft);
    return named && named->experts > 0;
}

}  // namespace orrery::doors
