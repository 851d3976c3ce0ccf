// What MaxText's checkpoints keep of a layer (configs/base.yml, remat_policy).
#include <algorithm>
#include <array>

#include "doors/maxtext/maxtext.hpp"
#include "doors/model.hpp"
#include "strategies/checkpoint_names.hpp"

namespace orrery::doors::maxtext {

namespace {

using enum strategies::CheckpointName;
using strategies::CheckpointNames;

/// A key of custom, and what is kept by it: several results where MaxText's product is fused, none where it is not
/// modelled.
struct Tensor {
    std::string_view key;
    CheckpointNames names;
};
constexpr std::array tensors{Tensor{"context", context},
                             Tensor{"query_proj", query_proj},
                             Tensor{"key_proj", key_proj},
                             Tensor{"value_proj", value_proj},
                             Tensor{"qkv_proj", CheckpointNames(query_proj) | key_proj | value_proj},
                             Tensor{"kv_proj", CheckpointNames(key_proj) | value_proj},
                             Tensor{"out_proj", out_proj},
                             Tensor{"mlpwi", CheckpointNames(mlpwi_0) | mlpwi_1},
                             Tensor{"mlpwi_0", mlpwi_0},
                             Tensor{"mlpwi_1", mlpwi_1},
                             Tensor{"mlpwo", mlpwo},
                             Tensor{"moe_mlpwi_0", moe_mlpwi_0},
                             Tensor{"moe_mlpwi_1", moe_mlpwi_1},
                             Tensor{"moe_mlpwo", moe_mlpwo},
                             Tensor{"query_wa_proj", query_wa_proj},
                             Tensor{"kv_wa_proj", kv_wa_proj},
                             Tensor{"decoder_layer_input", decoder_layer_input},
                             Tensor{"mla_q", {}},
                             Tensor{"mla_kv", {}},
                             Tensor{"attention_out", {}}};

struct Kept {
    CheckpointNames saved, offloaded;
};

/// Of custom, every tensor's own key; without them the defaults of configs/base.yml, which keep the input alone.
Kept custom(const Givens& given, Draft& draft) {
    Kept kept;
    for (const Tensor& tensor : tensors) {
        const Given* const said = given.find(tensor.key);
        const std::string where = said == nullptr ? "remat" : text_of(said->value);
        if (where == "remat") continue;
        if (where != "device" && where != "offload")
            draft.findings.refuse(said->origin.place, said->origin.name, "this word is not known here",
                                  "remat, device or offload");
        else if (tensor.names.empty())
            draft.findings.not_modelled(said->origin.place, said->origin.name,
                                        "what this leaves is not kept, and is made again",
                                        "compare with a measurement before you rely on the difference");
        else
            (where == "device" ? kept.saved : kept.offloaded) |= tensor.names;
    }
    return kept;
}

/// Of a model that the draft names or writes out; 0 where it is described elsewhere.
std::uint64_t layers_of(const Draft& draft) {
    const auto named = named_model(draft);
    return draft.whole("/model/num_hidden_layers", named ? named->layers : 0);
}

/// Every layer sends what goes to the host; the names say what, where it is not all that the layer keeps.
void read_offloaded(CheckpointNames names, const Origin& origin, Draft& draft) {
    if (names.empty()) return;
    const std::uint64_t layers = layers_of(draft);
    if (layers == 0)
        return draft.findings.not_modelled(origin.place, origin.name, "what goes to host memory stays on the chip",
                                           "--set strategy.cpu_offloading_num_layers=N, all layers");
    draft.set("/strategy/cpu_offloading_num_layers", layers, origin);
    draft.set("/strategy/offload_names", to_text(names), origin);
}

}  // namespace

void read_remat(const Givens& given, Draft& draft) {
    const Given* const said = given.find("remat_policy");
    const std::string name = said == nullptr ? "full" : text_of(said->value);  // configs/base.yml
    const Origin origin = said == nullptr ? draft.whole_file() : said->origin;
    if (name == "none") return draft.set("/strategy/recompute", "none", origin);
    Kept kept;
    if (name == "custom") {
        kept = custom(given, draft);
    } else if (name != "full") {
        const strategies::CheckpointPreset* const preset = strategies::find_checkpoint_preset(name);
        if (preset == nullptr)
            return draft.findings.refuse(origin.place, origin.name, "this policy is not known here",
                                         "full, custom, minimal, minimal_with_context, save_qkv_proj, ...");
        kept = {preset->saved, preset->offloaded};
    }
    if (has_experts(draft)) kept = {with_experts(kept.saved), with_experts(kept.offloaded)};
    draft.set("/strategy/recompute", "full", origin);
    draft.set("/strategy/recompute_early_stop", true, origin);  // jax.checkpoint drops what nobody takes
    const CheckpointNames names = (kept.saved | kept.offloaded).without(decoder_layer_input);
    if (!names.empty()) {
        draft.set("/strategy/checkpoint_policy", "save_only_these_names", origin);
        draft.set("/strategy/checkpoint_names", to_text(names), origin);
    }
    read_offloaded(kept.offloaded, origin, draft);
}

}  // namespace orrery::doors::maxtext
