// Transformers over patches of images, alone (ViT) or beside a text's (CLIP): Hugging Face config.json to
// ModelSpec. Keys, and the defaults of absent ones, are those of transformers' configuration_vit.py and
// configuration_clip.py.
#include <fmt/format.h>

#include <array>

#include "models/families.hpp"
#include "models/hugging_face_parts.hpp"

namespace orrery::models {

namespace {

constexpr std::uint32_t usual_size = 224, usual_patch = 16, usual_channels = 3, usual_labels = 2;

ImageSpec image_of(const ConfigReader& config, std::uint32_t patch) {
    return {.size = config.optional_count("image_size").value_or(usual_size),
            .patch = config.optional_count("patch_size").value_or(patch),
            .channels = config.optional_count("num_channels").value_or(usual_channels)};
}

/// As transformers counts labels: those of id2label, num_labels, or two. A file of a backbone alone must say.
std::uint32_t labels_of(const ConfigReader& config) {
    if (const std::size_t named = config.entries("id2label"); named > 0) return static_cast<std::uint32_t>(named);
    const auto stated = config.optional_count("num_labels");
    const std::vector<std::string> architectures = config.texts("architectures");
    if (!stated && !architectures.empty() && architectures.front() == "ViTModel")
        config.fail("num_labels", "missing, and ViTModel has no classifier",
                    "add the number of classes it is trained for");
    return stated.value_or(usual_labels);
}

/// The sizes of one tower.
ModelSpec tower(const ConfigReader& config, const Keys& keys) {
    ModelSpec spec;
    spec.layers = config.count(keys.layers);
    spec.hidden = config.count(keys.hidden);
    spec.heads = config.count(keys.heads);
    (void)even_head_dim(config, keys, spec);
    spec.ffn = config.count(keys.ffn);
    return spec;
}

ModelSpec read_vit(const ConfigReader& config, const Keys& keys) {
    ModelSpec spec = tower(config, keys);
    spec.image = image_of(config, usual_patch);
    spec.vocab = labels_of(config);
    spec.qkv_bias = config.flag("qkv_bias", true);
    spec.dropout = dropout(config, {"hidden_dropout_prob", "attention_probs_dropout_prob"}, 0.0);
    check_activation(config, "hidden_act", "gelu", false);
    return with_vit_structure(std::move(spec));
}

/// A tower's sizes where published files leave them out (openai/clip-vit-base-patch32's text_config, of old): those of
/// transformers' classes.
struct UsualTower {
    std::uint32_t layers, hidden, heads, ffn;
};
constexpr UsualTower usual_image{12, 768, 12, 3072}, usual_text{12, 512, 8, 2048};

ModelSpec tower_of(const ConfigReader& config, const Keys& keys, const UsualTower& usual) {
    ModelSpec spec;
    spec.layers = config.optional_count(keys.layers).value_or(usual.layers);
    spec.hidden = config.optional_count(keys.hidden).value_or(usual.hidden);
    spec.heads = config.optional_count(keys.heads).value_or(usual.heads);
    spec.ffn = config.optional_count(keys.ffn).value_or(usual.ffn);
    (void)even_head_dim(config, keys, spec);
    check_activation(config, "hidden_act", "quick_gelu", false);
    if (config.probability("attention_dropout", 0.0) > 0)
        config.fail("attention_dropout", "dropout in attention alone is not supported", "set it to 0");
    return spec;
}

ModelSpec read_clip(const ConfigReader& config, const Keys& keys) {
    constexpr std::uint32_t clip_patch = 32, usual_projection = 512, usual_vocab = 49408, usual_positions = 77;
    const ConfigReader image = config.object("vision_config"), text = config.object("text_config");
    ModelSpec spec = tower_of(image, keys, usual_image);
    const ModelSpec words = tower_of(text, keys, usual_text);
    spec.image = image_of(image, clip_patch);
    spec.text = {.layers = words.layers,
                 .hidden = words.hidden,
                 .heads = words.heads,
                 .ffn = words.ffn,
                 .projection = config.optional_count("projection_dim").value_or(usual_projection)};
    spec.vocab = text.optional_count("vocab_size").value_or(usual_vocab);
    spec.max_positions = text.optional_count(keys.positions).value_or(usual_positions);
    return with_clip_structure(std::move(spec));
}

constexpr std::array<FamilyReader, 3> readers{{
    {"vit", "ViTForImageClassification", Keys{}, read_vit},
    {"vit", "ViTModel", Keys{}, read_vit},
    {"clip", "CLIPModel", Keys{}, read_clip},
}};

}  // namespace

std::span<const FamilyReader> vision_readers() { return readers; }

}  // namespace orrery::models
