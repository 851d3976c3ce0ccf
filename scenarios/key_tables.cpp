#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/units.hpp"
#include "models/model_fields.hpp"
#include "reliability/options.hpp"
#include "scenarios/keys.hpp"
#include "scenarios/schema.hpp"
#include "strategies/plan_fields.hpp"
#include "synchrony/options.hpp"

namespace orrery::scenarios {

namespace {

using documents::Key;
using documents::Kind;
using documents::Section;
using documents::Spelling;

/// What may stand under a key, in a cell of a table.
std::string values_of(const Key& key) {
    switch (key.kind) {
        case Kind::object: return "an object";
        case Kind::objects: return "a list of objects";
        case Kind::nested: return std::string(key.form);
        case Kind::text: return "text";
        case Kind::texts: return "a list of texts";
        case Kind::named_texts: return "text, or texts by name";
        case Kind::numbers: return "a list of numbers";
        case Kind::integers: return fmt::format("a list of {}, {:.0f} to {:.0f}", key.entries, key.min, key.max);
        case Kind::boolean: return "true, false";
        case Kind::integer: return fmt::format("{:.0f} to {:.0f}", key.min, key.max);
        case Kind::number: return fmt::format("{} to {}, any number", key.min, key.max);
        case Kind::choice: {
            std::string words;
            for (const documents::Word& word : key.words)
                words += fmt::format("{}`{}`", words.empty() ? "" : ", ", word.name);
            return words;
        }
        case Kind::bytes: return fmt::format("{} to {}", format_bytes(key.min), format_bytes(key.max));
        case Kind::rate: return "a rate, such as `\"200 Gb/s\"`";
        case Kind::tokens: return "a count, such as `\"300B\"`";
        case Kind::duration: return "a time, such as `\"5 min\"`";
    }
    return "";
}

/// What the struct holds where a file says nothing.
template <class Struct>
std::string default_of(std::span<const documents::Field<Struct>> fields, std::string_view name) {
    for (const documents::Field<Struct>& field : fields) {
        if (field.key.name != name) continue;
        const documents::Setting usual = field.get(Struct{});
        if (!can_say(field.key, usual)) return "";
        const nlohmann::ordered_json value = to_json(field.key, usual);
        return value.is_string() ? value.get<std::string>() : value.dump();
    }
    return "";
}

std::string absent(const Section& section, const Key& key) {
    if (key.required) return "must be given";
    if (!key.when_absent.empty()) return std::string(key.when_absent);
    if (section.name == "model") return default_of(models::model_fields(), key.name);
    if (section.name == "strategy") return default_of(strategies::strategy_fields(), key.name);
    if (section.name == "reliability") return default_of(reliability::failures_fields(), key.name);
    if (section.name == "checkpoint") return default_of(reliability::checkpoint_fields(), key.name);
    if (section.name == "storage") return default_of(reliability::storage_fields(), key.name);
    if (section.name == "synchrony") return default_of(synchrony::options_fields(), key.name);
    if (section.name == "training") return default_of(strategies::training_fields(), key.name);
    return "";  // said in the key's own words
}

std::string others(const Key& key) {
    std::string text;
    for (const Spelling& other : key.spellings()) {
        const std::string on = other.is_switch() && !other.when_true.empty() ? ": true" : "";
        text += fmt::format("{}`{}{}` ({})", text.empty() ? "" : ", ", other.name, on, name(other.source));
    }
    return text;
}

constexpr std::string_view head = R"(# Scenario keys
What a scenario file may hold. This file is generated: `orrery list keys --markdown` prints it from the table by which
the program reads scenarios and from which it makes [their JSON Schema](../scenarios/scenario.schema.json). How lists,
placements, perturbations and other jobs are written stands in [scenarios/README.md](../scenarios/README.md).

Quantities carry their unit: `"200 Gb/s"`, `"160 MB"`. "Elsewhere" names spellings of other programs, which are read
too. A key that the tables lack is refused with the nearest that there is. What stands behind `//`, or between `/*`
and `*/`, is a comment; `orrery init` writes a file in which every key has one.
)";

/// What an object is called above its table.
std::string title_of(const Section& section) {
    if (section.name.empty()) return "The file";
    return fmt::format("{}`{}`", section.in_list ? "An entry of " : "", section.name);
}

/// What is known of an object beside its keys: the help of the key that holds it.
std::string_view help_of(const Section& section) {
    if (section.name.empty()) return {};
    for (const Place holder : {Place::document, Place::strategy})
        if (const Key* const key = find_key(scenarios::section(holder), section.name)) return key->help;
    return {};
}

}  // namespace

std::vector<KeyWords> keys_in_words() {
    std::vector<KeyWords> all;
    for (const Section& section : sections())
        for (const Key& key : section.keys)
            all.push_back({std::string(section.name), std::string(key.name), values_of(key), absent(section, key),
                           std::string(key.help), others(key)});
    return all;
}

std::string key_reference() {
    std::string text(head);
    const std::vector<KeyWords> all = keys_in_words();
    for (const Section& section : sections()) {
        text += fmt::format("\n## {}\n", title_of(section));
        if (const std::string_view help = help_of(section); !help.empty()) text += fmt::format("{}\n\n", help);
        text += "| key | values | when absent | meaning | elsewhere |\n| --- | --- | --- | --- | --- |\n";
        for (const KeyWords& key : all)
            if (key.object == section.name)
                text += fmt::format("| `{}` | {} | {} | {} | {} |\n", key.key, key.values, key.when_absent, key.meaning,
                                    key.elsewhere);
    }
    return text;
}

}  // namespace orrery::scenarios
