#include "scenarios/schema.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "scenarios/keys.hpp"
#include "scenarios/scope_keys.hpp"

namespace orrery::scenarios {

namespace {

using documents::Key;
using documents::Kind;
using documents::Section;
using documents::Spelling;
using Json = nlohmann::ordered_json;

constexpr const char* digits = "^([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?";

/// Quantities with units, which keys refer to.
Json definitions() {
    const auto quantity = [](const char* unit) {
        return Json{{"type", "string"}, {"pattern", std::string(digits) + unit}};
    };
    return {
        {"bytes", quantity(" *([kMGTP]|[KMGTP]i)?B$")},
        {"rate", quantity(" *([kMGTP]|[KMGTP]i)?[bB]/s$")},
        {"duration", quantity(" *(ns|us|ms|s|min|h|days?)$")},
        {"tokens", {{"anyOf", {{{"type", "number"}, {"minimum", 1}, {"maximum", 1e18}}, quantity(" *[kMBGT]?$")}}}}};
}

Json list_of(std::size_t most, Json items) {
    return {{"type", "array"}, {"maxItems", most}, {"items", std::move(items)}};
}

Json words_of(const Key& key) {
    Json words = Json::array();
    for (const documents::Word& word : key.words) words.push_back(word.name);
    return words;
}

const Section& section_named(std::string_view name) {
    for (const Section& each : sections())
        if (each.name == name) return each;
    throw std::logic_error(fmt::format("no section {}", name));
}

Json object_of(const Section& section);

Json bounds(const char* type, const Key& key) {
    // Whole bounds are written as such: 8192, not 8192.0.
    const auto bound = [](double value) {
        const auto whole = static_cast<std::int64_t>(value);
        return static_cast<double>(whole) == value ? Json(whole) : Json(value);
    };
    return {{"type", type}, {"minimum", bound(key.min)}, {"maximum", bound(key.max)}};
}

/// What may stand under a key.
Json value_of(const Key& key) {
    const Json text{{"type", "string"}, {"minLength", 1}};
    switch (key.kind) {
        case Kind::object: return object_of(section_named(key.name));
        case Kind::objects: return list_of(1000, object_of(section_named(key.name)));
        case Kind::nested: return {{"$ref", fmt::format("#/definitions/{}", key.name)}};
        case Kind::text: return text;
        case Kind::texts: return list_of(10000, text);
        case Kind::named_texts:
            return {
                {"type", {"string", "object"}}, {"minLength", 1}, {"minProperties", 1}, {"additionalProperties", text}};
        case Kind::boolean: return {{"type", "boolean"}};
        case Kind::integer: return bounds("integer", key);
        case Kind::number: return bounds("number", key);
        case Kind::numbers: return list_of(1000000, bounds("number", key));
        case Kind::integers: {
            Json list = list_of(key.entries, bounds("integer", key));
            list["minItems"] = key.entries;
            return list;
        }
        case Kind::choice: return {{"enum", words_of(key)}};
        case Kind::bytes: return {{"$ref", "#/definitions/bytes"}};
        case Kind::rate: return {{"$ref", "#/definitions/rate"}};
        case Kind::tokens: return {{"$ref", "#/definitions/tokens"}};
        case Kind::duration: return {{"$ref", "#/definitions/duration"}};
    }
    return {};
}

std::string described(const Key& key) {
    return key.when_absent.empty() ? std::string(key.help)
                                   : fmt::format("{} When absent: {}.", key.help, key.when_absent);
}

Json entry_of(const Key& key) {
    Json entry = value_of(key);
    // Beside "$ref" draft 7 reads nothing else, but editors show it.
    if (!key.help.empty()) entry["description"] = described(key);
    return entry;
}

Json object_of(const Section& section) {
    Json properties = Json::object(), required = Json::array();
    for (const Key& key : section.keys) {
        properties[std::string(key.name)] = entry_of(key);
        if (key.required) required.push_back(key.name);
    }
    for (const Key& key : section.keys)
        for (const Spelling& other : key.spellings())
            properties[std::string(other.name)] =
                other.is_switch()
                    ? Json{{"type", "boolean"}, {"description", fmt::format("Switch for {}.", key.name)}}
                    : Json{{"$ref", fmt::format("#/properties/{}/properties/{}", section.name, key.name)}};
    Json object{{"type", "object"}, {"additionalProperties", false}};
    if (!required.empty()) object["required"] = std::move(required);
    if (&section == &scenarios::section(Place::model))
        object.update({{"minProperties", 1}, {"not", {{"required", {"name", "hugging_face"}}}}});
    object["properties"] = std::move(properties);
    return object;
}

/// What is nested: each key of that kind by its name.
Json scope_definitions() {
    const Json one{{"$ref", "#/definitions/scope"}};
    const auto some = [&] {
        Json list = list_of(10000, one);
        list["minItems"] = 1;
        return list;
    };
    Json scope = object_of(section(Place::scope)), words = Json::array(), parts = Json::array();
    for (const std::string_view word : scope_words()) words.push_back({{"required", {word}}});
    for (const std::string_view part : scope_parts()) parts.push_back(part);
    scope["oneOf"] = std::move(words);
    return {{"scope", std::move(scope)},
            {"scopes", {{"anyOf", {one, some()}}}},
            {"of", {{"anyOf", {{{"enum", std::move(parts)}}, one, some()}}}},
            {"pipeline", some()}};
}

}  // namespace

Json schema() {
    Json document{{"$schema", "http://json-schema.org/draft-07/schema#"},
                  {"title", "Orrery scenario"},
                  {"description", "One training step: model, cluster, strategy and training."},
                  {"definitions", definitions()}};
    document["definitions"].update(scope_definitions());
    document.update(object_of(section(Place::document)));
    return document;
}

}  // namespace orrery::scenarios
