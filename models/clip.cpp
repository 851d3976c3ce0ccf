// CLIP (Radford et al. 2021, arXiv:2103.00020): a vision Transformer and a text's, whose examples are brought to one
// width and compared with those of all data ranks. As transformers has it (modeling_clip.py): a norm behind the image's
// embedding, no bias in its patches and in the projections; of an image the first token is taken before the last norm,
// of a text the last token behind it.
#include <utility>

#include "models/transformer_parts.hpp"

namespace orrery::models {

namespace {

constexpr std::uint32_t usual_size = 224, colours = 3, byte_pairs = 49408, context = 77;

ModelSpec clip(ModelSpec row) {
    if (row.image.size == 0) row.image.size = usual_size;
    row.image.channels = colours;
    row.vocab = byte_pairs;
    row.max_positions = context;
    row.text.ffn = 4 * row.text.hidden;
    return with_clip_structure(with_derived_widths(std::move(row)));
}

/// The text's tower as a model of its own.
ModelSpec text_of(const ModelSpec& spec) {
    ModelSpec text = spec;
    text.layers = spec.text.layers;
    text.hidden = spec.text.hidden;
    text.heads = text.kv_heads = spec.text.heads;
    text.head_dim = spec.text.hidden / spec.text.heads;
    text.ffn = spec.text.ffn;
    text.causal = true;
    return text;
}

Linear projection(const char* name, const ModelSpec& tower) {
    return {.name = name, .in_features = tower.hidden, .out_features = tower.text.projection, .bias = false};
}

/// Writes a tower's nodes; returns the last.
std::uint32_t append(Model& model, std::uint32_t layer, std::vector<std::uint32_t> inputs) {
    model.nodes.push_back({.layer = layer, .inputs = std::move(inputs)});
    return static_cast<std::uint32_t>(model.nodes.size() - 1);
}

std::uint32_t stack(Model& model, std::uint32_t layer, std::uint32_t count, std::uint32_t from) {
    for (std::uint32_t i = 0; i < count; ++i) from = append(model, layer, {from});
    return from;
}

/// Patches and words, a layer of each tower, what is taken of each, and what both end in.
std::vector<Layer> layers_of(const ModelSpec& image, const ModelSpec& text) {
    const std::uint64_t size = image.image.size;
    const Tokens seen{image.hidden}, read{text.hidden, Sequence::decoded}, one{image.hidden, Sequence::pooled},
        other{text.hidden, Sequence::pooled}, compared{image.text.projection, Sequence::pooled};
    Layer words = embedding(text);
    words.name = "text embedding";
    words.output = read;
    return {{.name = "patch embedding",
             .operators = {PatchEmbedding{.image = {image.image.channels, size, size},
                                          .patch = image.image.patch,
                                          .hidden = image.hidden,
                                          .bias = false,
                                          .dropout = image.dropout > 0.0},
                           norm(image, "embedding_norm")},
             .part = Part::input,
             .output = seen},
            std::move(words),
            pre_norm_block(image, "image block", Sequence::only),
            pre_norm_block(text, "text block", Sequence::decoded),
            {.name = "image token",
             .operators = {PickToken{image.hidden}},
             .part = Part::output,
             .inputs = {seen},
             .output = one},
            {.name = "image features",
             .operators = {norm(image, "image_norm"), projection("image_projection", image)},
             .part = Part::output,
             .inputs = {one},
             .output = compared},
            {.name = "text token",
             .operators = {norm(text, "text_norm"), PickToken{text.hidden}},
             .part = Part::output,
             .inputs = {read},
             .output = other},
            {.name = "text features",
             .operators = {projection("text_projection", text)},
             .part = Part::output,
             .inputs = {other},
             .output = compared},
            {.name = "comparison",
             .operators = {ContrastiveLoss{image.text.projection}},
             .part = Part::output,
             .inputs = {compared, compared},
             .output = Tokens{1, Sequence::pooled}}};
}

}  // namespace

ModelSpec with_clip_structure(ModelSpec spec) {
    const TextTowerSpec text = spec.text;
    const std::uint32_t positions = spec.max_positions;
    ModelSpec out = with_vit_structure(std::move(spec));
    out.family = Family::clip;
    out.text = text;
    out.max_positions = positions;  // of the text: an image has as many as tokens
    out.qkv_bias = true;
    return out;
}

Model build_clip(const ModelSpec& spec) {
    const ModelSpec text = text_of(spec);
    Model model{.spec = spec, .layers = layers_of(spec, text), .nodes = {{.layer = 0}, {.layer = 1}}};
    const std::uint32_t seen = stack(model, 2, spec.layers, 0), read = stack(model, 3, text.layers, 1);
    const std::uint32_t image = append(model, 5, {append(model, 4, {seen})});
    append(model, 8, {image, append(model, 7, {append(model, 6, {read})})});
    return model;
}

// clang-format off
std::vector<ModelSpec> clip_models() {
    return {
        // Radford et al. 2021, tables 19 and 20; openai/clip-vit-* config.json.
        clip({.name = "clip-vit-b32", .layers = 12, .hidden = 768, .heads = 12, .image = {.patch = 32},
              .text = {.layers = 12, .hidden = 512, .heads = 8, .projection = 512}}),
        clip({.name = "clip-vit-b16", .layers = 12, .hidden = 768, .heads = 12, .image = {.patch = 16},
              .text = {.layers = 12, .hidden = 512, .heads = 8, .projection = 512}}),
        clip({.name = "clip-vit-l14", .layers = 24, .hidden = 1024, .heads = 16, .image = {.patch = 14},
              .text = {.layers = 12, .hidden = 768, .heads = 12, .projection = 768}}),
        clip({.name = "clip-vit-l14-336", .layers = 24, .hidden = 1024, .heads = 16,
              .image = {.size = 336, .patch = 14},
              .text = {.layers = 12, .hidden = 768, .heads = 12, .projection = 768}}),
    };
}
// clang-format on

}  // namespace orrery::models
