#include "documents/reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "base/error.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "documents/message.hpp"

namespace orrery::documents {

namespace {

using nlohmann::json;

std::string not_an_object(const Section& section, const json& value) {
    return fmt::format("{} is {}, not an object", to_text(section), shown(value));
}

}  // namespace

struct Reader::Entry {
    json value;
    std::string spelling;
};

Reader::Reader(const json& value, const Section& section, std::string file)
    : Reader(value, section, std::move(file), std::string(section.pointer)) {}

Reader::Reader(const json& value, const Section& section, std::string file, std::string at)
    : file_(std::move(file)), section_(&section), at_(std::move(at)), entries_(std::make_shared<Entries>()) {
    if (!value.is_object())
        throw Error(file_, at_, not_an_object(section, value), "write an object: {\"key\": value, ...}");
    for (const auto& [spelling, content] : value.items()) resolve(spelling, content);
    check_required();
}

bool Reader::has(std::string_view name) const { return entries_->contains(name); }

bool Reader::empty() const { return entries_->empty(); }

void Reader::resolve(const std::string& spelling, const json& value) {
    const auto [key, other] = find_spelled(*section_, spelling);
    if (!key) throw unknown_key(*section_, spelling, file_, at_);
    json meaning = value;
    if (other && other->is_switch()) {
        if (!value.is_boolean()) {
            throw Error(file_, child_pointer(at_, spelling), fmt::format("{} is not a switch", shown(value)),
                        "write true or false, without quotes");
        }
        const std::string_view text = value.get<bool>() ? other->when_true : other->when_false;
        if (text.empty()) return;
        meaning = json::parse(text);
    }
    const auto [entry, fresh] = entries_->try_emplace(std::string(key->name), Entry{std::move(meaning), spelling});
    if (fresh) return;
    throw Error(file_, child_pointer(at_, spelling),
                fmt::format("\"{}\" and \"{}\" are two spellings of one key", entry->second.spelling, spelling),
                fmt::format("keep one of the two; the plain one is \"{}\"", key->name));
}

void Reader::check_required() const {
    for (const Key& key : section_->keys) {
        if (!key.required || has(key.name)) continue;
        refuse(key.name, fmt::format("the key \"{}\" is missing in {}", key.name, to_text(*section_)),
               "add it: " + remedy(key));
    }
}

std::string Reader::pointer(std::string_view name) const {
    const auto found = entries_->find(name);
    return child_pointer(at_, found == entries_->end() ? name : found->second.spelling);
}

const Key& Reader::key(std::string_view name, Kind kind) const {
    const Key* found = find_key(*section_, name);
    if (!found || found->kind != kind) throw std::logic_error(fmt::format("no key {} of that kind", name));
    return *found;
}

const json* Reader::find(std::string_view name) const {
    const auto found = entries_->find(name);
    return found == entries_->end() ? nullptr : &found->second.value;
}

void Reader::refuse(std::string_view name, const std::string& message, const std::string& hint) const {
    throw Error(file_, pointer(name), message, hint);
}

Reader Reader::object(std::string_view name, const Section& section) const {
    (void)key(name, Kind::object);
    const json* value = find(name);
    return Reader(value ? *value : json::object(), section, file_);
}

std::vector<Reader> Reader::objects(std::string_view name, const Section& section) const {
    constexpr std::size_t longest = 1000;
    const Key& known = key(name, Kind::objects);
    const json* value = find(name);
    std::vector<Reader> all;
    if (!value) return all;
    if (!value->is_array()) refuse(name, fmt::format("{} is no list", shown(*value)), remedy(known));
    if (value->size() > longest) refuse(name, fmt::format("{} entries are too many", value->size()), "at most 1000");
    for (const json& entry : *value) all.emplace_back(entry, section, file_, child_pointer(pointer(name), all.size()));
    return all;
}

const json* Reader::nested(std::string_view name) const {
    (void)key(name, Kind::nested);
    return find(name);
}

std::string Reader::short_text(const Key& key, const json& value) const {
    constexpr std::size_t longest = 4096;  // a path
    if (!value.is_string()) refuse(key.name, fmt::format("{} is not text", shown(value)), remedy(key));
    const auto& text = value.get_ref<const std::string&>();
    if (text.size() > longest) refuse(key.name, fmt::format("{} is too long", shown(value)), "at most 4096 bytes");
    for (const char c : text) {
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
            refuse(key.name, fmt::format("{} holds a control character", shown(value)), "write plain text on one line");
        }
    }
    if (text.empty()) refuse(key.name, "\"\" is empty", "leave the key out, or give it a value");
    return text;
}

std::string Reader::text(std::string_view name, std::string_view fallback) const {
    const Key& known = key(name, Kind::text);
    const json* value = find(name);
    return value ? short_text(known, *value) : std::string(fallback);
}

std::vector<std::string> Reader::texts(std::string_view name) const {
    constexpr std::size_t longest = 10'000;
    const Key& known = key(name, Kind::texts);
    const json* value = find(name);
    std::vector<std::string> all;
    if (!value) return all;
    if (!value->is_array()) refuse(name, fmt::format("{} is no list", shown(*value)), remedy(known));
    if (value->size() > longest) refuse(name, fmt::format("{} entries are too many", value->size()), "at most 10000");
    for (const json& entry : *value) all.push_back(short_text(known, entry));
    return all;
}

std::vector<double> Reader::numbers(std::string_view name) const {
    const Key& known = key(name, Kind::numbers);
    const json* value = find(name);
    std::vector<double> all;
    if (!value) return all;
    if (!value->is_array()) refuse(name, fmt::format("{} is no list", shown(*value)), remedy(known));
    for (const json& entry : *value) {
        if (!entry.is_number() || entry.get<double>() < known.min || entry.get<double>() > known.max)
            throw Error(file_, child_pointer(pointer(name), all.size()),
                        fmt::format("{} is not a number in the range", shown(entry)), remedy(known));
        all.push_back(entry.get<double>());
    }
    return all;
}

std::vector<std::uint64_t> Reader::integers(std::string_view name) const {
    const Key& known = key(name, Kind::integers);
    const json* value = find(name);
    std::vector<std::uint64_t> all;
    if (!value) return all;
    if (!value->is_array()) refuse(name, fmt::format("{} is no list", shown(*value)), remedy(known));
    if (value->size() != known.entries)
        refuse(name, fmt::format("{} has {} entries", shown(*value), value->size()), remedy(known));
    for (const json& entry : *value) {
        if (!entry.is_number_integer() || entry.get<double>() < known.min || entry.get<double>() > known.max)
            throw Error(file_, child_pointer(pointer(name), all.size()),
                        fmt::format("{} is not a whole number in the range", shown(entry)), remedy(known));
        all.push_back(entry.get<std::uint64_t>());
    }
    return all;
}

std::map<std::string, std::string> Reader::named_texts(std::string_view name) const {
    const Key& known = key(name, Kind::named_texts);
    const json* value = find(name);
    if (!value) return {};
    if (!value->is_object()) return {{"", short_text(known, *value)}};
    if (value->empty()) refuse(name, "{} is empty", "leave the key out, or name something");
    std::map<std::string, std::string> all;
    for (const auto& [each, text] : value->items()) {
        if (each.empty()) refuse(name, "\"\" is no name", remedy(known));
        all[each] = short_text(known, text);
    }
    return all;
}

bool Reader::boolean(std::string_view name, bool fallback) const {
    const Key& known = key(name, Kind::boolean);
    const json* value = find(name);
    if (!value) return fallback;
    if (!value->is_boolean()) refuse(name, fmt::format("{} is neither true nor false", shown(*value)), remedy(known));
    return value->get<bool>();
}

std::uint64_t Reader::integer(std::string_view name, std::uint64_t fallback) const {
    const Key& known = key(name, Kind::integer);
    const json* value = find(name);
    if (!value) return fallback;
    if (!value->is_number_integer()) {
        refuse(name, fmt::format("{} is not a whole number", shown(*value)), remedy(known));
    }
    return static_cast<std::uint64_t>(in_range(known, value->get<double>(), *value));
}

std::uint32_t Reader::integer32(std::string_view name, std::uint32_t fallback) const {
    return static_cast<std::uint32_t>(integer(name, fallback));
}

double Reader::number(std::string_view name, double fallback) const {
    const Key& known = key(name, Kind::number);
    const json* value = find(name);
    if (!value) return fallback;
    if (!value->is_number()) refuse(name, fmt::format("{} is not a number", shown(*value)), remedy(known));
    return in_range(known, value->get<double>(), *value);
}

std::optional<Word> Reader::choice(std::string_view name) const {
    const Key& known = key(name, Kind::choice);
    const json* value = find(name);
    if (!value) return std::nullopt;
    if (value->is_string()) {
        const auto found = std::ranges::find(known.words, value->get_ref<const std::string&>(), &Word::name);
        if (found != known.words.end()) return *found;
    }
    if (value->is_string())
        if (const NotModelled* other = find_not_modelled(*section_, name, value->get_ref<const std::string&>()))
            refuse(name, fmt::format("{}: {}", shown(*value), other->what), instead_of(*other));
    refuse(name, fmt::format("{} is unknown", shown(*value)), remedy(known));
}

std::string Reader::choice(std::string_view name, std::string_view fallback) const {
    const std::optional<Word> word = choice(name);
    return std::string(word ? word->name : fallback);
}

std::optional<Setting> Reader::setting(std::string_view name) const {
    const Key* known = find_key(*section_, name);
    if (!known) throw std::logic_error(fmt::format("no key {}", name));
    if (!has(name)) return std::nullopt;
    switch (known->kind) {
        case Kind::text: return text(name);
        case Kind::boolean: return boolean(name, false);
        case Kind::integer: return integer(name);
        case Kind::number: return number(name);
        case Kind::choice: return std::uint64_t{choice(name)->value};
        case Kind::bytes: return bytes(name);
        case Kind::rate: return bytes_per_second(name);
        case Kind::tokens: return tokens(name);
        case Kind::integers: return integers(name);
        case Kind::duration: return seconds(name);
        case Kind::object:
        case Kind::objects:
        case Kind::nested:
        case Kind::texts:
        case Kind::numbers:
        case Kind::named_texts: break;
    }
    throw std::logic_error(fmt::format("{} is no setting", name));
}

double Reader::in_range(const Key& key, double number, const json& value) const {
    if (number >= key.min && number <= key.max) return number;
    std::string hint = remedy(key);
    if (key.kind == Kind::bytes) hint = fmt::format("from {:g} MB to {:g} MB", key.min / 1e6, key.max / 1e6);
    if (key.kind == Kind::rate) hint = fmt::format("from {:g} Mb/s to {:g} Mb/s", key.min * 8 / 1e6, key.max * 8 / 1e6);
    if (key.kind == Kind::duration)
        hint = fmt::format("from {} to {}", format_seconds(key.min), format_seconds(key.max));
    refuse(key.name, fmt::format("{} is out of range", shown(value)), hint);
}

template <class Parse>
double Reader::quantity(const Key& key, const json& value, std::string_view example, Parse parse) const {
    if (value.is_number()) {
        refuse(key.name, fmt::format("{} has no unit", shown(value)),
               fmt::format("write the number with its unit in double quotes, such as {}", example));
    }
    try {
        const std::string text = short_text(key, value);
        if (text.size() > 64) refuse(key.name, fmt::format("{} is too long", shown(value)), remedy(key));
        return in_range(key, parse(text), value);
    } catch (const Error& error) {
        if (!error.pointer().empty()) throw;
        refuse(key.name, error.message(), error.hint().empty() ? remedy(key) : error.hint());
    }
}

std::uint64_t Reader::bytes(std::string_view name, std::uint64_t fallback) const {
    const Key& known = key(name, Kind::bytes);
    const json* value = find(name);
    if (!value) return fallback;
    std::uint64_t exact = 0;
    (void)quantity(known, *value, "\"160 MB\"", [&exact](const std::string& text) {
        exact = parse_bytes(text);
        return static_cast<double>(exact);
    });
    return exact;
}

double Reader::bytes_per_second(std::string_view name, double fallback) const {
    const Key& known = key(name, Kind::rate);
    const json* value = find(name);
    if (!value) return fallback;
    return quantity(known, *value, "\"200 Gb/s\"",
                    [](const std::string& text) { return parse_bytes_per_second(text); });
}

double Reader::seconds(std::string_view name, double fallback) const {
    const Key& known = key(name, Kind::duration);
    const json* value = find(name);
    if (!value) return fallback;
    return quantity(known, *value, "\"5 min\"", [](const std::string& text) { return parse_seconds(text); });
}

double Reader::tokens(std::string_view name, double fallback) const {
    const Key& known = key(name, Kind::tokens);
    const json* value = find(name);
    if (!value) return fallback;
    if (value->is_number()) return in_range(known, value->get<double>(), *value);
    return quantity(known, *value, "\"300B\"", [](const std::string& text) { return parse_count(text); });
}

double parse_count(std::string_view text) {
    constexpr std::array<std::pair<std::string_view, double>, 6> suffixes{
        {{"", 1}, {"k", 1e3}, {"M", 1e6}, {"B", 1e9}, {"G", 1e9}, {"T", 1e12}}};
    double number = 0;
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
    std::string_view suffix = text.substr(static_cast<std::size_t>(end - text.data()));
    while (suffix.starts_with(' ')) suffix.remove_prefix(1);
    for (const auto& [name, factor] : suffixes) {
        if (status == std::errc{} && suffix == name && std::isfinite(number) && number > 0) return number * factor;
    }
    throw Error(fmt::format("\"{}\" is not a count", printable(text)),
                "write a positive number, with k, M, B or T for powers of 1000, such as \"300B\"");
}

}  // namespace orrery::documents
