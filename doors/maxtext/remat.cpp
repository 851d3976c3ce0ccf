// What MaxText's checkpoints keep of a layer (layers/decoders.py, get_remat_policy; maxtext_utils.py,
// get_save_and_offload_names).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "doors/maxtext/maxtext.hpp"
#include "doors/model.hpp"
#include "models/catalog.hpp"

namespace orrery::doors::maxtext {

namespace {

/// What a policy saves, in MaxText's words and order.
struct Policy {
    std::string_view name;
    std::vector<std::string_view> saved, offloaded;
};

const std::vector<std::string_view> heads{"query_proj", "key_proj", "value_proj"};
const std::vector<std::string_view> mlp{"mlpwi_0", "mlpwi_1", "mlpwo"};

std::vector<std::string_view> operator+(std::vector<std::string_view> a, const std::vector<std::string_view>& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

const std::vector<Policy>& policies() {
    using Names = std::vector<std::string_view>;
    static const std::vector<Policy> all{
        {"minimal", heads + Names{"out_proj"} + mlp, {}},
        {"minimal_with_context", heads + Names{"context", "out_proj"} + mlp, {}},
        {"minimal_flash", heads + Names{"context", "out_proj"} + mlp, {}},
        {"minimal_with_quantization", heads + Names{"out_proj"} + mlp, {}},
        {"minimal_with_context_and_quantization", heads + Names{"context", "out_proj"} + mlp, {}},
        {"save_dot_with_context_except_mlp", heads + Names{"context", "out_proj"}, {}},
        {"save_dot_except_mlpwi", heads + Names{"out_proj", "mlpwo"}, {}},
        {"save_dot_except_mlp", heads + Names{"out_proj"}, {}},
        {"save_qkv_proj", heads, {}},
        {"save_out_proj", {"out_proj"}, {}},
        {"qkv_proj_offloaded", {}, heads},
        {"minimal_offloaded", {}, heads + Names{"out_proj"} + mlp},
    };
    return all;
}

/// One of our names, or the several that a fused product of MaxText's leaves.
std::vector<std::string_view> ours(std::string_view name) {
    if (name == "qkv_proj") return heads;
    if (name == "kv_proj") return {"key_proj", "value_proj"};
    if (name == "mlpwi") return {"mlpwi_0", "mlpwi_1"};
    return {name};
}

/// Of `custom`, every tensor's own key; without them the defaults of configs/base.yml, which keep the input alone.
Policy custom(const Givens& given, Draft& draft) {
    constexpr std::array tensors{"context",    "query_proj",  "key_proj",    "value_proj",   "qkv_proj",
                                 "kv_proj",    "out_proj",    "mlpwi",       "mlpwi_0",      "mlpwi_1",
                                 "mlpwo",      "moe_mlpwi_0", "moe_mlpwi_1", "moe_mlpwo",    "query_wa_proj",
                                 "kv_wa_proj", "mla_q",       "mla_kv",      "attention_out"};
    Policy policy{"custom", {}, {}};
    for (const char* tensor : tensors) {
        const Given* const said = given.find(tensor);
        if (said == nullptr) continue;
        const std::string where = text_of(said->value);
        if (where == "remat") continue;
        if (where != "device" && where != "offload") {
            draft.findings.refuse(said->origin.place, said->origin.name, "this word is not known here",
                                  "remat, device or offload");
            continue;
        }
        if (std::string_view(tensor).starts_with("mla_") || std::string_view(tensor) == "attention_out") {
            draft.findings.not_modelled(said->origin.place, said->origin.name,
                                        "what this leaves is not kept, and is made again",
                                        "compare with a measurement before you rely on the difference");
            continue;
        }
        auto& names = where == "device" ? policy.saved : policy.offloaded;
        names = names + ours(tensor);
    }
    return policy;
}

std::vector<std::string_view> once(const std::vector<std::string_view>& names) {
    std::vector<std::string_view> each;
    for (const std::string_view name : names)
        if (std::ranges::find(each, name) == each.end()) each.push_back(name);
    return each;
}

/// Experts' products have the names of a dense layer's as well (layers/moe.py).
std::vector<std::string_view> with_experts(const std::vector<std::string_view>& names, const Draft& draft) {
    std::vector<std::string_view> all = once(names);
    if (!has_experts(draft)) return all;
    for (const auto& [dense, of_experts] :
         {std::pair{"mlpwi_0", "moe_mlpwi_0"}, {"mlpwi_1", "moe_mlpwi_1"}, {"mlpwo", "moe_mlpwo"}})
        if (std::ranges::find(names, dense) != names.end()) all.emplace_back(of_experts);
    return once(all);
}

/// Of a model that the draft names or writes out; 0 where it is described elsewhere.
std::uint64_t layers_of(const Draft& draft) {
    const nlohmann::ordered_json* const name = draft.find("/model/name");
    const std::uint64_t named = name == nullptr ? 0 : models::find(name->get<std::string>()).layers;
    return draft.whole("/model/num_hidden_layers", named);
}

/// Every layer sends what goes to the host; the names say what, where it is not all that the layer keeps.
void read_offloaded(const std::vector<std::string_view>& names, const Origin& origin, Draft& draft) {
    if (names.empty()) return;
    const std::uint64_t layers = layers_of(draft);
    if (layers == 0)
        return draft.findings.not_modelled(origin.place, origin.name, "what goes to host memory stays on the chip",
                                           "--set strategy.cpu_offloading_num_layers=N, all layers");
    draft.set("/strategy/cpu_offloading_num_layers", layers, origin);
    draft.set("/strategy/offload_names", fmt::format("{}", fmt::join(names, ",")), origin);
}

}  // namespace

void read_remat(const Givens& given, Draft& draft) {
    const Given* const said = given.find("remat_policy");
    const std::string name = said == nullptr ? "full" : text_of(said->value);  // configs/base.yml
    const Origin origin = said == nullptr ? draft.whole_file() : said->origin;
    if (name == "none") return draft.set("/strategy/recompute", "none", origin);
    Policy policy{"full", {}, {}};
    if (name == "custom") {
        policy = custom(given, draft);
    } else if (name != "full") {
        const auto known = std::ranges::find(policies(), name, &Policy::name);
        if (known == policies().end())
            return draft.findings.refuse(origin.place, origin.name, "this policy is not known here",
                                         "full, custom, minimal, minimal_with_context, save_qkv_proj, ...");
        policy = *known;
    }
    draft.set("/strategy/recompute", "full", origin);
    draft.set("/strategy/recompute_early_stop", true, origin);  // jax.checkpoint drops what nobody takes
    const std::vector<std::string_view> kept = with_experts(policy.saved + policy.offloaded, draft);
    if (!kept.empty()) {
        draft.set("/strategy/checkpoint_policy", "save_only_these_names", origin);
        draft.set("/strategy/checkpoint_names", fmt::format("{}", fmt::join(kept, ",")), origin);
    }
    std::vector<std::string_view> away = with_experts(policy.offloaded, draft);
    const Given* const input = given.find("decoder_layer_input");  // of custom alone
    if (name == "custom" && input != nullptr && text_of(input->value) == "offload")
        away.insert(away.begin(), "decoder_layer_input");
    read_offloaded(away, origin, draft);
}

}  // namespace orrery::doors::maxtext
