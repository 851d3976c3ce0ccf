// Residual networks over images (He et al. 2016), with the stride in a block's 3 x 3 convolution (v1.5).
#include <numeric>
#include <tuple>
#include <utility>

#include "models/families.hpp"

namespace orrery::models {

namespace {

constexpr std::uint64_t colours = 3, stem_channels = 64, expansion = 4;

/// A convolution, its batch norm and, but at a branch's end, a ReLU. Returns what it makes of the image.
Image append(Layer& layer, const Convolution& convolution, bool relu) {
    layer.operators.emplace_back(convolution);
    layer.operators.emplace_back(BatchNorm{.name = convolution.name + " norm", .shape = convolution.out()});
    if (relu) layer.operators.emplace_back(Relu{.shape = convolution.out()});
    return convolution.out();
}

/// 7 x 7 with stride 2, and the largest of 3 x 3 with stride 2.
Layer stem(std::uint64_t size) {
    Layer layer{.name = "stem", .part = Part::input};
    const Image image = append(layer,
                               {.name = "stem convolution",
                                .in = {colours, size, size},
                                .outputs = stem_channels,
                                .kernel = 7,
                                .stride = 2,
                                .padding = 3,
                                .reads_data = true},
                               true);
    const Pooling pool{.in = image, .kernel = 3, .stride = 2, .padding = 1};
    layer.operators.emplace_back(pool);
    layer.output = Image{image.channels, (image.rows - 1) / 2 + 1, (image.columns - 1) / 2 + 1};
    return layer;
}

/// 1 x 1 to `width` channels, 3 x 3, 1 x 1 to four times as many.
Layer branch(std::string name, const Image& in, std::uint64_t width, std::uint64_t stride) {
    Layer layer{.name = std::move(name), .inputs = {in}};
    const Image narrow = append(layer, {.name = "reduce", .in = in, .outputs = width, .begins_branch = true}, true);
    const Image seen = append(
        layer, {.name = "spatial", .in = narrow, .outputs = width, .kernel = 3, .stride = stride, .padding = 1}, true);
    layer.output = append(layer, {.name = "expand", .in = seen, .outputs = expansion * width}, false);
    return layer;
}

/// Around a branch that changes the image: 1 x 1 with its stride.
Layer shortcut(std::string name, const Image& in, std::uint64_t outputs, std::uint64_t stride) {
    Layer layer{.name = std::move(name), .inputs = {in}};
    layer.output = append(
        layer, {.name = "shortcut", .in = in, .outputs = outputs, .stride = stride, .shares_input = true}, false);
    return layer;
}

Layer join(std::string name, const Image& image) {
    return {.name = std::move(name),
            .operators = {Join{.shape = image}, Relu{.shape = image}},
            .inputs = {image, image},
            .output = image};
}

/// The mean over the image, and the classes.
Layer classifier(const Image& image, std::uint64_t classes) {
    return {.name = "classifier",
            .operators = {Pooling{.in = image},
                          Linear{.name = "classes",
                                 .in = Dim::hidden,
                                 .out = Dim::classes,
                                 .in_features = image.channels,
                                 .out_features = classes},
                          Loss{.vocab = classes, .dim = Dim::classes}},
            .part = Part::output,
            .inputs = {image},
            .output = Tokens{1}};
}

/// Writes the graph node by node; remembers where the last image comes from.
class Writer {
public:
    explicit Writer(const ModelSpec& spec) { model_.spec = spec; }

    std::uint32_t type(Layer layer) {
        model_.layers.push_back(std::move(layer));
        return static_cast<std::uint32_t>(model_.layers.size() - 1);
    }
    std::uint32_t node(std::uint32_t layer, std::vector<std::uint32_t> inputs) {
        model_.nodes.push_back({.layer = layer, .inputs = std::move(inputs)});
        return static_cast<std::uint32_t>(model_.nodes.size() - 1);
    }
    [[nodiscard]] const Image& output_of(std::uint32_t layer) const {
        return std::get<Image>(model_.layers[layer].output);
    }

    /// A stage's blocks: the first changes the image and has a shortcut; returns its last node and type.
    std::pair<std::uint32_t, std::uint32_t> stage(std::size_t number, std::uint32_t from, const Image& in,
                                                  std::uint32_t depth) {
        const std::uint64_t width = stem_channels << number, stride = number == 0 ? 1 : 2;
        const std::string suffix = " " + std::to_string(number + 1);
        const std::uint32_t first = type(branch("first branch" + suffix, in, width, stride));
        const Image out = output_of(first);
        const std::uint32_t around = type(shortcut("shortcut" + suffix, in, out.channels, stride));
        const std::uint32_t meet = type(join("join" + suffix, out));
        const std::uint32_t branched = node(first, {from});
        std::uint32_t last = node(meet, {branched, node(around, {from})});
        const std::uint32_t next = depth > 1 ? type(branch("branch" + suffix, out, width, 1)) : 0;
        for (std::uint32_t i = 1; i < depth; ++i) last = node(meet, {node(next, {last}), last});
        return {last, meet};
    }

    Model finish() && { return std::move(model_); }

private:
    Model model_;
};

/// ImageNet's images, in the size that most train on, and its classes.
ModelSpec resnet(ModelSpec row) {
    if (row.vocab == 0) row.vocab = 1000;
    row.image.size = 224;
    return with_resnet_structure(std::move(row));
}

}  // namespace

/// The depths' sum is what a Transformer's layers are.
ModelSpec with_resnet_structure(ModelSpec spec) {
    ModelSpec out;
    out.name = std::move(spec.name);
    out.family = Family::resnet;
    out.vocab = spec.vocab;
    out.image = {.size = spec.image.size, .depths = spec.image.depths};
    out.layers = std::accumulate(out.image.depths.begin(), out.image.depths.end(), 0U);
    out.hidden = static_cast<std::uint32_t>(expansion * (stem_channels << 3U));
    out.heads = 1;
    out.causal = out.tied_embeddings = false;
    out.position = PositionKind::none;
    return with_derived_widths(std::move(out));
}

Model build_resnet(const ModelSpec& spec) {
    Writer writer(spec);
    std::uint32_t type = writer.type(stem(spec.image.size));
    std::uint32_t last = writer.node(type, {});
    for (std::size_t stage = 0; stage < spec.image.depths.size(); ++stage)
        std::tie(last, type) = writer.stage(stage, last, Image(writer.output_of(type)), spec.image.depths[stage]);
    writer.node(writer.type(classifier(Image(writer.output_of(type)), spec.vocab)), {last});
    return std::move(writer).finish();
}

// clang-format off
std::vector<ModelSpec> resnet_models() {
    return {
        // He et al. 2016, table 1; torchvision's resnet50, 101 and 152.
        resnet({.name = "resnet-50",  .image = {.depths = {3, 4, 6, 3}}}),
        resnet({.name = "resnet-101", .image = {.depths = {3, 4, 23, 3}}}),
        resnet({.name = "resnet-152", .image = {.depths = {3, 8, 36, 3}}}),
        // Classifiers of more classes than ImageNet's: Whale (Jia et al., USENIX ATC'22).
        resnet({.name = "resnet-50-100k", .vocab = 100000, .image = {.depths = {3, 4, 6, 3}}}),
        resnet({.name = "resnet-50-1m", .vocab = 1000000, .image = {.depths = {3, 4, 6, 3}}}),
    };
}
// clang-format on

}  // namespace orrery::models
