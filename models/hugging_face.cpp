// Hugging Face config.json to ModelSpec: which family a file belongs to, and what no family here can be.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "models/catalog.hpp"
#include "models/hugging_face_families.hpp"
#include "models/operators.hpp"

namespace orrery::models {

namespace {

/// Structures that no operator here stands for, recognised by the keys that announce them.
void refuse_structures(const ConfigReader& config, bool experts) {
    for (const auto key : {"num_local_experts", "num_experts", "n_routed_experts", "moe_intermediate_size"})
        if (!experts && config.has(key))
            config.fail(key, "mixture-of-experts models of this family are not supported",
                        "mixtral, qwen3_moe, or a dense model");
    if (config.flag("is_encoder_decoder", false))
        config.fail("is_encoder_decoder", "encoder-decoder models are not supported", "a decoder or an encoder");
}

[[noreturn]] void refuse(const ConfigReader& config, std::string_view key, std::string_view name) {
    constexpr std::array<std::string_view, 6> experts{"mixtral", "moe", "deepseek", "dbrx", "jamba", "grok"};
    constexpr std::array<std::string_view, 5> encoder_decoders{"t5", "bart", "whisper", "pegasus", "marian"};
    std::string lower(name.substr(0, 64));
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    const auto mentions = [&](std::string_view word) { return lower.find(word) != std::string::npos; };
    std::string_view why;
    if (std::any_of(experts.begin(), experts.end(), mentions)) why = " (mixture of experts)";
    if (std::any_of(encoder_decoders.begin(), encoder_decoders.end(), mentions)) why = " (encoder-decoder)";
    std::vector<std::string_view> names;
    for (const FamilyReader& reader : family_readers())
        names.push_back(key == "model_type" ? reader.model_type : reader.architecture);
    config.fail(key, fmt::format("\"{}\"{} is not supported", name.substr(0, 64), why),
                fmt::format("one of {}", fmt::join(names, ", ")));
}

const FamilyReader& reader_of(const ConfigReader& config) {
    const auto type = config.text("model_type");
    const auto architectures = config.texts("architectures");
    if (!type && architectures.empty())
        config.fail("model_type", "missing, and so is architectures", "give one of the two");
    const auto of = [&](std::string_view FamilyReader::*field, std::string_view key, const std::string& name) {
        const auto found = std::find_if(family_readers().begin(), family_readers().end(),
                                        [&](const FamilyReader& r) { return r.*field == name; });
        if (found == family_readers().end()) refuse(config, key, name);
        return found;
    };
    if (architectures.empty()) return *of(&FamilyReader::model_type, "model_type", *type);
    if (type) of(&FamilyReader::model_type, "model_type", *type);
    const auto chosen = of(&FamilyReader::architecture, "architectures/0", architectures.front());
    if (type && chosen->model_type != *type)
        config.fail("architectures/0",
                    fmt::format("\"{}\" contradicts model_type \"{}\"", architectures.front(), *type));
    return *chosen;
}

/// validate() names the keys of a scenario's model; the user wrote those of the family. "" for what the file lacks.
std::string file_pointer(const ConfigReader& config, const std::string& pointer, const Keys& keys) {
    const std::array<std::pair<std::string_view, std::string_view>, 6> renamed{
        {{"/model/num_hidden_layers", keys.layers},
         {"/model/hidden_size", keys.hidden},
         {"/model/num_attention_heads", keys.heads},
         {"/model/intermediate_size", keys.ffn},
         {"/model/max_position_embeddings", keys.positions},
         {"/model/num_experts", keys.experts}}};
    for (const auto& [ours, theirs] : renamed)
        if (ours == pointer) return fmt::format("/{}", theirs);
    const std::string key = pointer.substr(pointer.find_last_of('/') + 1);
    return config.has(key) ? "/" + key : "";
}

/// gpt2.json and gpt2/config.json are both "gpt2".
std::string name_of(const std::filesystem::path& file) {
    if (file.stem() != "config") return file.stem().string();
    return std::filesystem::absolute(file).parent_path().filename().string();
}

}  // namespace

ModelSpec import_hugging_face(const std::filesystem::path& file) {
    const ConfigReader config(file);
    const FamilyReader& reader = reader_of(config);
    refuse_structures(config, !reader.keys.experts.empty());
    ModelSpec spec = reader.read(config);
    spec.name = name_of(file);
    try {
        validate(spec);
    } catch (const Error& error) {
        throw Error(config.file(), file_pointer(config, error.pointer(), reader.keys), error.message(), error.hint());
    }
    return spec;
}

}  // namespace orrery::models
