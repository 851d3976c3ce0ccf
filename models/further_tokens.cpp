// Multi-token prediction (DeepSeek-V3, arXiv:2412.19437, section 2.2), as Megatron-LM has it
// (multi_token_prediction.py): behind the last layer, for each further token, the stream and the embedding of the token
// before it, each behind a norm, are brought to the hidden width together and go through layers of the model's kind;
// then, for each, the model's own logits and a loss of its own, before that of the next token.
#include <stdexcept>
#include <string>
#include <utility>

#include "models/transformer_parts.hpp"

namespace orrery::models {

namespace {

/// first: of all, the one that may hold words of its own.
Layer merge(const ModelSpec& spec, bool first) {
    Layer layer{.name = first ? "further token" : "next further token",
                .part = Part::further,
                .inputs = {Tokens{spec.hidden}},
                .output = Tokens{spec.hidden}};
    layer.operators.emplace_back(norm(spec, "stream_norm"));
    layer.operators.emplace_back(
        Embedding{.vocab = spec.vocab, .hidden = spec.hidden, .shared = true, .copied = first});
    layer.operators.emplace_back(norm(spec, "token_norm"));
    layer.operators.emplace_back(Concatenation{spec.hidden});
    layer.operators.emplace_back(Linear{
        .name = "merge", .in_features = 2ULL * spec.hidden, .out_features = spec.hidden, .bias = spec.linear_bias});
    return layer;
}

/// The model's head, whose stream goes on to the next.
Layer further_head(const ModelSpec& spec, const Layer& head) {
    Layer layer = head;
    layer.name = "further head";
    layer.output = Tokens{spec.hidden};
    for (Operator& op : layer.operators)
        if (auto* linear = std::get_if<Linear>(&op)) linear->again = true;
    return layer;
}

/// Types of the body's layers that stand behind one merged input: the last layer's, or those of the pattern.
std::vector<std::uint32_t> body_types(const Model& model) {
    const ModelSpec& spec = model.spec;
    const auto first = model.nodes.begin() + 1;  // behind the embedding
    if (spec.further_pattern.empty()) return {(model.nodes.end() - 2)->layer};
    std::vector<std::uint32_t> types;
    for (const char kind : spec.further_pattern) {
        const std::size_t place = spec.layer_pattern.find(kind);
        if (place == std::string::npos) throw std::logic_error("no such kind of layer");
        types.push_back((first + static_cast<std::ptrdiff_t>(place))->layer);
    }
    return types;
}

}  // namespace

void predict_further_tokens(Model& model) {
    const ModelSpec spec = model.spec;
    const std::uint32_t head = model.nodes.back().layer;
    const std::vector<std::uint32_t> types = body_types(model);
    model.nodes.pop_back();  // the head follows those of further tokens
    const auto add_type = [&](Layer layer) {
        model.layers.push_back(std::move(layer));
        return static_cast<std::uint32_t>(model.layers.size() - 1);
    };
    const auto append = [&](std::uint32_t layer) {
        const auto before = static_cast<std::uint32_t>(model.nodes.size() - 1);
        model.nodes.push_back({.layer = layer, .inputs = {before}});
    };
    std::vector<std::uint32_t> layers;
    for (const std::uint32_t type : types) {
        Layer layer = model.layers[type];
        layer.name = "further " + layer.name;
        layer.part = Part::further;
        layers.push_back(add_type(std::move(layer)));
    }
    for (std::uint32_t token = 0; token < spec.further_tokens; ++token) {
        if (token < 2) append(add_type(merge(spec, token == 0)));
        else append(static_cast<std::uint32_t>(model.layers.size() - 1));
        for (const std::uint32_t layer : layers) append(layer);
    }
    const std::uint32_t further = add_type(further_head(spec, model.layers[head]));
    for (std::uint32_t token = 0; token < spec.further_tokens; ++token) append(further);
    append(head);
}

}  // namespace orrery::models
