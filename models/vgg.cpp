// Chains of 3 x 3 convolutions behind which three wide products classify (Simonyan and Zisserman 2014,
// arXiv:1409.1556, table 1: B, D and E), as torchvision has them: without batch norms.
#include <algorithm>
#include <string>
#include <utility>

#include "models/families.hpp"

namespace orrery::models {

namespace {

constexpr std::uint64_t colours = 3, first_channels = 64, most_channels = 512;
constexpr std::uint32_t stages = 5, wide_layers = 3;
/// The first two stages are two convolutions each, the others equally many.
constexpr std::uint32_t early_stages = 2, early_depth = 2;

std::uint32_t late_depth(std::uint32_t layers) {
    return (layers - wide_layers - early_stages * early_depth) / (stages - early_stages);
}

/// A convolution with its ReLU, and at the end of a stage the largest of 2 x 2.
Layer convolution(const std::string& name, const Image& in, std::uint64_t outputs, bool ends_stage) {
    Layer layer{.name = name, .inputs = {in}};
    const Convolution op{.name = name, .in = in, .outputs = outputs, .kernel = 3, .padding = 1, .bias = true};
    layer.operators = {op, Relu{.shape = op.out()}};
    layer.output = op.out();
    if (!ends_stage) return layer;
    layer.operators.emplace_back(Pooling{.in = op.out(), .kernel = 2, .stride = 2});
    layer.output = Image{outputs, in.rows / 2, in.columns / 2};
    return layer;
}

Layer wide(const std::string& name, std::uint64_t in, std::uint64_t out, const Shape& from) {
    const Image vector{out, 1, 1};
    return {
        .name = name,
        .operators = {Linear{
                          .name = name, .in = Dim::hidden, .out = Dim::hidden, .in_features = in, .out_features = out},
                      Relu{.shape = vector}, Dropout{.width = out, .keeps_input = true}},
        .inputs = {from},
        .output = vector};
}

ModelSpec vgg(ModelSpec row) {
    row.vocab = 1000;
    row.image.size = 224;
    return with_vgg_structure(std::move(row));
}

}  // namespace

ModelSpec with_vgg_structure(ModelSpec spec) {
    ModelSpec out;
    out.name = std::move(spec.name);
    out.family = Family::vgg;
    out.layers = spec.layers;
    out.vocab = spec.vocab;
    out.image.size = spec.image.size;
    out.hidden = 4096;
    out.heads = 1;
    out.causal = out.tied_embeddings = false;
    out.position = PositionKind::none;
    return with_derived_widths(std::move(out));
}

Model build_vgg(const ModelSpec& spec) {
    Model model{.spec = spec, .layers = {}, .nodes = {}};
    const auto append = [&](Layer layer) {
        const auto at = static_cast<std::uint32_t>(model.nodes.size());
        model.layers.push_back(std::move(layer));
        model.nodes.push_back({at, at == 0 ? std::vector<std::uint32_t>{} : std::vector{at - 1}});
    };
    Image image{colours, spec.image.size, spec.image.size};
    for (std::uint32_t stage = 0; stage < stages; ++stage) {
        const std::uint32_t depth = stage < early_stages ? early_depth : late_depth(spec.layers);
        const std::uint64_t channels = std::min(first_channels << stage, most_channels);
        for (std::uint32_t i = 0; i < depth; ++i) {
            Layer layer = convolution("conv" + std::to_string(stage + 1) + "_" + std::to_string(i + 1), image, channels,
                                      i + 1 == depth);
            image = std::get<Image>(layer.output);
            if (model.nodes.empty()) {
                layer.part = Part::input;
                layer.inputs.clear();
                std::get<Convolution>(layer.operators.front()).reads_data = true;
            }
            append(std::move(layer));
        }
    }
    append(wide("fc6", image.elements(), spec.hidden, image));
    append(wide("fc7", spec.hidden, spec.hidden, Image{spec.hidden, 1, 1}));
    append({.name = "fc8",
            .operators = {Linear{.name = "fc8",
                                 .in = Dim::hidden,
                                 .out = Dim::classes,
                                 .in_features = spec.hidden,
                                 .out_features = spec.vocab},
                          Loss{.vocab = spec.vocab, .dim = Dim::classes}},
            .part = Part::output,
            .inputs = {Image{spec.hidden, 1, 1}},
            .output = Tokens{1}});
    return model;
}

// clang-format off
std::vector<ModelSpec> vgg_models() {
    return {
        vgg({.name = "vgg-13", .layers = 13}),
        vgg({.name = "vgg-16", .layers = 16}),
        vgg({.name = "vgg-19", .layers = 19}),
    };
}
// clang-format on

}  // namespace orrery::models
