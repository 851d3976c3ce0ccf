// Vision Transformers (Dosovitskiy et al. 2020, arXiv:2010.11929): patches of an image as tokens behind one that stands
// for all of it, layers with norms before their branches whose attention sees every token, and a classifier of that
// one.
#include <utility>

#include "models/transformer_parts.hpp"

namespace orrery::models {

namespace {

constexpr std::uint32_t imagenet_size = 224, imagenet_classes = 1000, colours = 3;

/// ImageNet's images in the size that most train on, and its classes.
ModelSpec vit(ModelSpec row) {
    if (row.image.size == 0) row.image.size = imagenet_size;
    row.image.channels = colours;
    row.vocab = imagenet_classes;
    return with_vit_structure(with_derived_widths(std::move(row)));
}

}  // namespace

ModelSpec with_vit_structure(ModelSpec spec) {
    ModelSpec out;
    out.name = std::move(spec.name);
    out.family = Family::vit;
    out.layers = spec.layers;
    out.hidden = spec.hidden;
    out.heads = spec.heads;
    out.ffn = spec.ffn;
    out.vocab = spec.vocab;
    out.vocab_multiple = spec.vocab_multiple;
    out.image = {.size = spec.image.size, .patch = spec.image.patch, .channels = spec.image.channels};
    out.max_positions = out.image.tokens();
    out.qkv_bias = spec.qkv_bias;
    out.dropout = spec.dropout;
    out.causal = out.tied_embeddings = false;
    return with_derived_widths(std::move(out));
}

/// The last norm is over all tokens (transformers, modeling_vit.py), the classifier takes the first.
Model build_vit(const ModelSpec& spec) {
    const Tokens tokens{spec.hidden}, pooled{spec.hidden, Sequence::pooled};
    const std::uint64_t size = spec.image.size;
    Model model{.spec = spec,
                .layers = {{.name = "patch embedding",
                            .operators = {PatchEmbedding{.image = {spec.image.channels, size, size},
                                                         .patch = spec.image.patch,
                                                         .hidden = spec.hidden,
                                                         .dropout = spec.dropout > 0.0}},
                            .part = Part::input,
                            .output = tokens},
                           pre_norm_block(spec, "block", Sequence::only),
                           {.name = "class token",
                            .operators = {norm(spec, "final_norm"), PickToken{spec.hidden}},
                            .part = Part::output,
                            .inputs = {tokens},
                            .output = pooled},
                           {.name = "classifier",
                            .operators = {Linear{.name = "classes",
                                                 .in = Dim::hidden,
                                                 .out = Dim::classes,
                                                 .in_features = spec.hidden,
                                                 .out_features = spec.vocab},
                                          Loss{.vocab = spec.vocab, .dim = Dim::classes}},
                            .part = Part::output,
                            .inputs = {pooled},
                            .output = Tokens{1, Sequence::pooled}}},
                .nodes = {{.layer = 0}}};
    for (std::uint32_t i = 0; i < spec.layers; ++i) model.nodes.push_back({.layer = 1, .inputs = {i}});
    model.nodes.push_back({.layer = 2, .inputs = {spec.layers}});
    model.nodes.push_back({.layer = 3, .inputs = {spec.layers + 1}});
    return model;
}

// clang-format off
std::vector<ModelSpec> vit_models() {
    return {
        // Dosovitskiy et al. 2020, table 1; google/vit-* config.json, torchvision's vit_b_16 to vit_h_14.
        vit({.name = "vit-b16", .layers = 12, .hidden = 768,  .heads = 12, .image = {.patch = 16}}),
        vit({.name = "vit-b32", .layers = 12, .hidden = 768,  .heads = 12, .image = {.patch = 32}}),
        vit({.name = "vit-l16", .layers = 24, .hidden = 1024, .heads = 16, .image = {.patch = 16}}),
        vit({.name = "vit-l32", .layers = 24, .hidden = 1024, .heads = 16, .image = {.patch = 32}}),
        vit({.name = "vit-h14", .layers = 32, .hidden = 1280, .heads = 16, .image = {.patch = 14}}),
        // Touvron et al. 2020 (DeiT, arXiv:2012.12877), table 1; facebook/deit-* without the distillation token.
        vit({.name = "deit-tiny",  .layers = 12, .hidden = 192, .heads = 3, .image = {.patch = 16}}),
        vit({.name = "deit-small", .layers = 12, .hidden = 384, .heads = 6, .image = {.patch = 16}}),
    };
}
// clang-format on

}  // namespace orrery::models
