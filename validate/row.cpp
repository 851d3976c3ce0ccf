#include "validate/row.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/text.hpp"

namespace orrery::validate {

namespace {

using nlohmann::json;

constexpr std::size_t longest_text = 400;  ///< of a field that is searched for words; published cells are shorter

[[noreturn]] void wrong_type(std::string_view path) { throw Skip(fmt::format("field of a wrong type: {}", path)); }

/// Moves fields[from] to fields[to] when only the former is there.
void rename(json& fields, const char* from, const char* to) {
    if (!fields.contains(from)) return;
    if (!fields.contains(to) || fields[to].is_null()) fields[to] = fields[from];
    fields.erase(from);
}

/// {"model": "GPT 6.7B", "layers": 32, "measured": 70, "unit": "samples/s", "global_batch": 1024} -> nested.
json nested(json fields) {
    rename(fields, "global_batch", "gbs");
    rename(fields, "global_batch_size", "gbs");
    rename(fields, "micro_batch_size", "mbs");
    rename(fields, "inter_node", "network");
    rename(fields, "note", "notes");
    if (const auto model = fields.find("model"); model != fields.end() && model->is_string()) {
        json object = {{"name", *model}};
        for (const char* key : {"layers", "hidden", "heads", "kv_heads", "ffn", "seq", "vocab", "gated", "experts"}) {
            if (!fields.contains(key)) continue;
            object[key] = fields[key];
            fields.erase(key);
        }
        fields["model"] = std::move(object);
    }
    if (const auto value = fields.find("measured"); value != fields.end() && value->is_number()) {
        json object = {{"value", *value}};
        if (fields.contains("unit")) object["unit"] = fields["unit"];
        fields.erase("unit");
        fields["measured"] = std::move(object);
    }
    return fields;
}

/// What a row without a name of its own is called.
std::string name_of(const json& fields, const std::string& source, std::size_t index) {
    const auto id = fields.find("id");
    if (id != fields.end() && id->is_string() && !id->get_ref<const std::string&>().empty()) return *id;
    return fmt::format("{}#{}", source, index);
}

std::string kind_of(const json& fields) {
    const auto kind = fields.find("kind");
    if (kind == fields.end() || kind->is_null()) return "training_step";
    return kind->is_string() ? kind->get<std::string>() : "unknown";
}

}  // namespace

Row::Row(std::string source, std::size_t index, nlohmann::json fields)
    : source_(std::move(source)), fields_(std::make_shared<const json>(nested(std::move(fields)))) {
    id_ = name_of(*fields_, source_, index);
    kind_ = kind_of(*fields_);
}

const nlohmann::json* Row::find(std::string_view path) const {
    const json* at = fields_.get();
    for (std::string_view rest = path; !rest.empty();) {
        const std::size_t dot = rest.find('.');
        const std::string_view key = rest.substr(0, dot);
        if (!at->is_object()) wrong_type(path.substr(0, path.size() - rest.size() - 1));
        const auto found = at->find(key);
        if (found == at->end() || found->is_null()) return nullptr;
        at = &*found;
        rest = dot == std::string_view::npos ? std::string_view{} : rest.substr(dot + 1);
    }
    return at;
}

std::optional<std::string> Row::text(std::string_view path) const {
    const json* value = find(path);
    if (value == nullptr) return std::nullopt;
    if (!value->is_string()) wrong_type(path);
    return value->get<std::string>();
}

std::optional<double> Row::number(std::string_view path) const {
    const json* value = find(path);
    if (value == nullptr) return std::nullopt;
    if (!value->is_number()) wrong_type(path);
    const double number = value->get<double>();
    if (!std::isfinite(number)) throw Skip(fmt::format("field out of range: {}", path));
    return number;
}

std::optional<std::uint32_t> Row::count(std::string_view path) const {
    const std::optional<double> value = number(path);
    if (!value) return std::nullopt;
    if (*value < 1 || *value > 2147483647.0 || std::floor(*value) != *value)
        throw Skip(fmt::format("field out of range: {}", path));
    return static_cast<std::uint32_t>(*value);
}

std::optional<bool> Row::flag(std::string_view path) const {
    const json* value = find(path);
    if (value == nullptr) return std::nullopt;
    if (value->is_boolean()) return value->get<bool>();
    if (value->is_number()) return value->get<double>() != 0;
    if (!value->is_string()) wrong_type(path);
    const std::string word = lower(value->get_ref<const std::string&>());
    if (word == "y" || word == "yes" || word == "true" || word == "on" || word == "1") return true;
    if (word == "n" || word == "no" || word == "false" || word == "off" || word == "0" || word == "na") return false;
    wrong_type(path);
}

std::string Row::words(std::string_view path) const {
    const std::optional<std::string> value = text(path);
    return value ? lower(std::string_view(*value).substr(0, longest_text)) : std::string{};
}

std::string label(std::string_view text) {
    constexpr std::size_t longest = 40;
    std::string label;
    for (const char c : text.substr(0, std::min(text.find('('), longest)))
        if (c >= ' ' && c <= '~') label += c;
    while (!label.empty() && label.back() == ' ') label.pop_back();
    return label;
}

bool contains(std::string_view text, std::string_view word) { return text.find(word) != std::string_view::npos; }

bool begins_word(std::string_view text, std::string_view word) {
    for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1))
        if (at == 0 || std::isalnum(static_cast<unsigned char>(text[at - 1])) == 0) return true;
    return false;
}

}  // namespace orrery::validate
