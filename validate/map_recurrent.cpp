// Rows of Transformer-XL: NVIDIA's tables (DeepLearningExamples) head them "Base model" or "Large model".
#include "models/catalog.hpp"
#include "validate/map_row.hpp"

namespace orrery::validate {

bool is_recurrent_model(const Row& row) { return begins_word(row.words("model.name"), "transformer-xl"); }

std::string model_variant(const Row& row) {
    if (row.has("model.variant")) return row.words("model.variant");
    const std::string section = row.words("switches.section");
    for (const char* const variant : {"base", "large"})
        if (section.ends_with(std::string("/ ") + variant + " model")) return variant;
    return "";
}

models::ModelSpec map_recurrent_model(const Row& row) {
    const std::string variant = model_variant(row);
    if (variant.empty()) throw Skip("model dimensions not published: base or large");
    if (variant != "base" && variant != "large") throw Skip("model family not supported: another transformer-xl");
    return models::find("transformer-xl-" + variant);
}

}  // namespace orrery::validate
