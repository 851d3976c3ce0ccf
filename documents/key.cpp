#include "documents/key.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/overloaded.hpp"
#include "documents/message.hpp"

namespace orrery::documents {

namespace {

const Word* word_of(const Key& key, std::uint64_t value) {
    const auto found = std::ranges::find(key.words, value, &Word::value);
    return found == key.words.end() ? nullptr : &*found;
}

bool in_range(const Key& key, double number) { return number >= key.min && number <= key.max; }

}  // namespace

std::string_view name(Source source) {
    switch (source) {
        case Source::megatron: return "Megatron-LM";
        case Source::hugging_face: return "Hugging Face";
        case Source::deepspeed: return "DeepSpeed";
    }
    return "";
}

bool can_say(const Key& key, const Setting& setting) {
    return std::visit(Overloaded{[&](std::uint64_t whole) {
                                     if (key.kind == Kind::choice) return word_of(key, whole) != nullptr;
                                     return in_range(key, static_cast<double>(whole));
                                 },
                                 [&](double number) { return in_range(key, number); }, [](bool) { return true; },
                                 [](const std::string& text) { return !text.empty(); },
                                 [&](const std::vector<std::uint64_t>& list) {
                                     return list.size() == key.entries && std::ranges::all_of(list, [&](auto whole) {
                                                return in_range(key, static_cast<double>(whole));
                                            });
                                 }},
                      setting);
}

nlohmann::ordered_json to_json(const Key& key, const Setting& setting) {
    if (!can_say(key, setting)) throw std::logic_error(fmt::format("{} cannot be written", key.name));
    if (key.kind == Kind::choice) return std::string(word_of(key, std::get<std::uint64_t>(setting))->name);
    if (key.kind == Kind::bytes) return fmt::format("{} B", std::get<std::uint64_t>(setting));
    if (key.kind == Kind::rate) return fmt::format("{} B/s", std::get<double>(setting));
    if (key.kind == Kind::duration) return fmt::format("{} s", std::get<double>(setting));
    return std::visit([](const auto& value) { return nlohmann::ordered_json(value); }, setting);
}

Error out_of_range(const Key& key, const Setting& setting, std::string_view at) {
    const std::string shown = std::visit([](const auto& value) { return fmt::format("{}", value); }, setting);
    return {"", child_pointer(at, key.name), shown + " is out of range", remedy(key)};
}

std::string remedy(const Key& key) {
    switch (key.kind) {
        case Kind::object: return "write an object: {\"key\": value, ...}";
        case Kind::objects: return "write a list of objects: [{\"key\": value, ...}]";
        case Kind::nested: return fmt::format("write {}", key.form);
        case Kind::text: return "write a text in double quotes";
        case Kind::texts: return "write a list of texts: [\"...\", \"...\"]";
        case Kind::named_texts: return "write a text in double quotes, or an object of texts: {\"name\": \"...\"}";
        case Kind::numbers: return fmt::format("write a list of numbers from {} to {}", key.min, key.max);
        case Kind::integers:
            return fmt::format("write a list of {} whole numbers from {:.0f} to {:.0f}", key.entries, key.min, key.max);
        case Kind::boolean: return "write true or false, without quotes";
        case Kind::integer:
            return fmt::format("write a whole number from {:.0f} to {:.0f}, without quotes", key.min, key.max);
        case Kind::number: return fmt::format("write a number from {} to {}, without quotes", key.min, key.max);
        case Kind::choice: {
            std::string names;
            for (const Word& word : key.words) names += fmt::format("{}{}", names.empty() ? "" : ", ", word.name);
            return "one of: " + names;
        }
        case Kind::bytes: return "write a size with its unit, such as \"160 MB\"";
        case Kind::rate: return "write a rate with its unit, such as \"200 Gb/s\" (bits) or \"25 GB/s\" (bytes)";
        case Kind::duration: return "write a time with its unit, such as \"5 min\"";
        case Kind::tokens: return "write a count of tokens of 1 or more, such as \"300B\" or 300e9";
    }
    return "";
}

}  // namespace orrery::documents
