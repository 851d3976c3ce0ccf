#include "models/catalog.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/text.hpp"
#include "models/families.hpp"

namespace orrery::models {

namespace {

std::vector<ModelSpec> all_families() {
    std::vector<ModelSpec> all = gpt_models();
    for (const auto& family :
         {opt_models(), llama_models(), gemma_models(), bert_models(), moe_models(), mamba_models(), t5_models(),
          resnet_models(), vgg_models(), transformer_xl_models(), vit_models(), clip_models()})
        all.insert(all.end(), family.begin(), family.end());
    return all;
}

/// The three nearest names, nearest first.
std::vector<std::string> nearest_names(std::string_view wanted) {
    std::vector<std::string_view> names;
    for (const ModelSpec& spec : catalog()) names.push_back(spec.name);
    return nearest(wanted, names);
}

}  // namespace

ModelSpec with_derived_widths(ModelSpec spec) {
    if (spec.kv_heads == 0) spec.kv_heads = spec.heads;
    if (spec.head_dim == 0) spec.head_dim = spec.hidden / spec.heads;
    if (spec.ffn == 0) spec.ffn = 4 * spec.hidden;
    if (spec.experts > 0 && spec.expert_ffn == 0) spec.expert_ffn = spec.ffn;
    if (spec.experts > 0 && spec.moe_layer_freq == 0) spec.moe_layer_freq = 1;
    return spec;
}

std::span<const ModelSpec> catalog() {
    static const std::vector<ModelSpec> all = all_families();
    return all;
}

const ModelSpec& find(std::string_view name) {
    const std::string wanted = lower(name);
    for (const ModelSpec& spec : catalog())
        if (spec.name == wanted) return spec;
    const std::string shown = wanted.substr(0, 64);  // a name of any length keeps the message and the search short
    throw Error(fmt::format("unknown model \"{}\"", shown), "nearest names: " + join(nearest_names(shown)));
}

}  // namespace orrery::models
