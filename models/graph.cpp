// What all graphs have in common.
#include <algorithm>
#include <array>
#include <stdexcept>

#include "models/families.hpp"

namespace orrery::models {

namespace {

[[noreturn]] void fail(const Model& model, std::size_t node, const std::string& what) {
    throw std::logic_error(model.spec.name + ": node " + std::to_string(node) + " (" +
                           model.layers.at(model.nodes[node].layer).name + ") " + what);
}

Model graph(const ModelSpec& spec) {
    switch (spec.family) {
        case Family::gpt:
        case Family::llama:
        case Family::bert: return build_transformer(spec);
        case Family::t5: return build_t5(spec);
        case Family::resnet: return build_resnet(spec);
        case Family::vgg: return build_vgg(spec);
        case Family::mamba: return build_hybrid(spec);
        case Family::transfo_xl: return build_transformer_xl(spec);
        case Family::vit: return build_vit(spec);
        case Family::clip: return build_clip(spec);
    }
    throw std::logic_error("no such family of models");
}

}  // namespace

std::string_view name(Family family) {
    switch (family) {
        case Family::gpt: return "gpt";
        case Family::llama: return "llama";
        case Family::bert: return "bert";
        case Family::t5: return "t5";
        case Family::resnet: return "resnet";
        case Family::vgg: return "vgg";
        case Family::mamba: return "mamba";
        case Family::transfo_xl: return "transfo-xl";
        case Family::vit: return "vit";
        case Family::clip: return "clip";
    }
    throw std::logic_error("no such family of models");
}

const Layer& Model::layer(std::string_view wanted) const {
    const auto found = std::ranges::find(layers, wanted, &Layer::name);
    if (found == layers.end()) throw std::logic_error(spec.name + " has no layer " + std::string(wanted));
    return *found;
}

std::vector<std::uint64_t> Model::uses() const {
    std::vector<std::uint64_t> count(layers.size());
    for (const Node& node : nodes) ++count[node.layer];
    return count;
}

void check_graph(const Model& model) {
    std::vector<bool> taken(model.nodes.size());
    Part part = Part::input;
    for (std::size_t i = 0; i < model.nodes.size(); ++i) {
        const Node& node = model.nodes[i];
        const Layer& layer = model.layers.at(node.layer);
        if (layer.part < part) fail(model, i, "stands behind a later part");
        part = layer.part;
        if (node.inputs.size() != layer.inputs.size()) fail(model, i, "takes another number of inputs than its layer");
        for (std::size_t input = 0; input < node.inputs.size(); ++input) {
            const std::uint32_t from = node.inputs[input];
            if (from >= i) fail(model, i, "takes the output of a later node");
            if (model.layers[model.nodes[from].layer].output != layer.inputs[input])
                fail(model, i, "takes an output of another shape than its layer's input");
            taken[from] = true;
        }
    }
    for (std::size_t i = 0; i + 1 < taken.size(); ++i)
        if (!taken[i]) fail(model, i, "has an output that nobody takes");
}

Model build(const ModelSpec& spec) {
    validate(spec);
    Model model = graph(spec);
    if (spec.further_tokens > 0) predict_further_tokens(model);
    check_graph(model);
    return model;
}

}  // namespace orrery::models
