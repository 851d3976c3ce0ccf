#include "doors/meaning.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stdexcept>

#include "base/text.hpp"
#include "documents/message.hpp"
#include "doors/convert.hpp"
#include "doors/shell/syntax.hpp"
#include "doors/shell/traced.hpp"
#include "scenarios/keys.hpp"

namespace orrery::doors {

namespace {

using Json = nlohmann::ordered_json;
using documents::Section;
using documents::Spelled;

/// Where the keys are that other programs' files have words for.
constexpr std::array places{scenarios::Place::model, scenarios::Place::strategy, scenarios::Place::training};

/// The value is what something else will say only when the job runs.
bool is_open(const Json& value) { return value.is_string() && shell::has_unknown(value.get_ref<const std::string&>()); }

bool is_variable(const std::string& name) {
    return name.find_first_not_of("0123456789") == std::string::npos || shell::is_name(name);
}

std::string what_is_open(const std::string& name) {
    return is_variable(name) ? fmt::format("its value is ${}, which the file does not set", name)
                             : "its value is known only when the script runs";
}

std::string remedy_for_open(const std::string& name, const std::string& pointer) {
    std::string dotted = pointer.substr(1);
    std::ranges::replace(dotted, '/', '.');
    return is_variable(name)
               ? fmt::format("give it with --define {}=VALUE, or the key with --set {}=VALUE", name, dotted)
               : fmt::format("give the key with --set {}=VALUE", dotted);
}

void want_open(const std::string& pointer, const Given& given, Draft& draft) {
    const std::string name = shell::first_unknown(given.value.get_ref<const std::string&>());
    draft.want(pointer, given.origin, what_is_open(name), remedy_for_open(name, pointer));
}

void refuse_not_modelled(const documents::NotModelled& known, const Given& given, Draft& draft) {
    draft.findings.refuse(given.origin.place, given.origin.name, std::string(known.what), documents::instead_of(known));
}

/// Of a key that its section has: its value, or what is wrong with it.
void set_in(const Section& section, const documents::Key& key, const Given& given, Draft& draft) {
    const std::string pointer = fmt::format("/{}/{}", section.name, key.name);
    if (is_open(given.value)) return want_open(pointer, given, draft);
    if (auto value = converted(key, given.value)) return draft.set(pointer, std::move(*value), given.origin);
    if (const auto* const known = documents::find_not_modelled(section, key.name, text_of(given.value)))
        return refuse_not_modelled(*known, given, draft);
    draft.findings.refuse(given.origin.place, given.origin.name,
                          fmt::format("{} is no value of {}", documents::printable(text_of(given.value)), pointer),
                          documents::remedy(key));
}

bool is_idle(const Row& row, const Json& value) {
    if (value.is_null() || value == false) return true;
    return !row.idle.empty() && same_word(row.idle, text_of(value));
}

void set_spelled(const Section& section, const Spelled& spelled, const Given& given, Draft& draft) {
    if (spelled.spelling == nullptr || !spelled.spelling->is_switch())
        return set_in(section, *spelled.key, given, draft);
    const auto on = truth(given.value);
    const std::string_view value = on.value_or(true) ? spelled.spelling->when_true : spelled.spelling->when_false;
    if (!value.empty())
        draft.set(fmt::format("/{}/{}", section.name, spelled.key->name), Json::parse(value), given.origin);
}

void by_key(const Row& row, const Given& given, Draft& draft) {
    if (given.value.is_null()) return;
    const std::string_view name = row.name.substr(row.name.rfind('.') + 1);
    for (const scenarios::Place place : places) {
        const Section& section = scenarios::section(place);
        const Spelled spelled = documents::find_spelled(section, name);
        if (spelled.key != nullptr) return set_spelled(section, spelled, given, draft);
    }
    if (is_idle(row, given.value)) return draft.findings.harmless(given.origin.place, given.origin.name);
    for (const scenarios::Place place : places)
        if (const auto* const known = documents::find_not_modelled(scenarios::section(place), name))
            return refuse_not_modelled(*known, given, draft);
    throw std::logic_error(fmt::format("no key has the spelling {}", name));
}

void switched(const Row& row, const Given& given, Draft& draft) {
    if (given.value.is_null()) return;
    const std::string_view value = truth(given.value).value_or(true) ? row.on : row.off;
    if (!value.empty()) draft.set(std::string(row.pointer), Json::parse(value), given.origin);
}

void by_row(const Row& row, const Given& given, Draft& draft) {
    const Origin& origin = given.origin;
    switch (row.act) {
        case Act::key: return by_key(row, given, draft);
        case Act::sets: return switched(row, given, draft);
        case Act::harmless: return draft.findings.harmless(origin.place, origin.name);
        case Act::noted:
            if (is_idle(row, given.value)) return draft.findings.harmless(origin.place, origin.name);
            return draft.findings.not_modelled(origin.place, origin.name, std::string(row.what),
                                               std::string(row.instead));
        case Act::refused:
            if (is_idle(row, given.value)) return draft.findings.harmless(origin.place, origin.name);
            return draft.findings.refuse(origin.place, origin.name, std::string(row.what), std::string(row.instead));
        case Act::rule: return;
    }
}

/// The row that a misspelt name was probably meant to be, as its author would write it; else what to do without one.
std::string remedy_for_unknown(std::span<const Row> table, const Given& given, std::size_t so_many) {
    constexpr const char* otherwise = "look up whether it costs time or memory";
    constexpr std::size_t looked_up = 100;  // a file of more is not misspelt
    if (so_many > looked_up) return otherwise;
    const std::string name = given.name.substr(0, 64);
    std::vector<std::string_view> names;
    for (const Row& row : table)
        if (!row.name.ends_with(".*")) names.push_back(row.name);
    std::string likeliest(nearest(name, names, 1).front());
    if (edit_distance(name, likeliest) > name.size() / 4) return otherwise;
    if (given.origin.name.starts_with("--")) {
        std::ranges::replace(likeliest, '_', '-');
        likeliest.insert(0, "--");
    }
    return fmt::format("the nearest that is known is {}", likeliest);
}

/// The row that a name was probably meant to be which a group without effect would take: "mod" beside "mode". nullptr:
/// none.
const Row* meant(std::span<const Row> table, const Row& group, const Given& given) {
    const std::size_t section = group.name.size() - 1;
    const std::string name = given.name.substr(section, 64);
    const std::size_t most = std::max<std::size_t>(1, name.size() / 6);
    for (const Row& row : table) {
        const bool beside = row.name.starts_with(group.name.substr(0, section)) && !row.name.ends_with(".*");
        if (beside && row.act != Act::harmless && edit_distance(name, row.name.substr(section)) <= most) return &row;
    }
    return nullptr;
}

void by_row_or_unknown(std::span<const Row> table, const Row& row, const Given& given, Draft& draft) {
    const bool group = row.act == Act::harmless && row.name.ends_with(".*");
    const Row* const misspelt = group ? meant(table, row, given) : nullptr;
    if (misspelt == nullptr) return by_row(row, given, draft);
    draft.findings.unknown(given.origin.place, given.origin.name,
                           fmt::format("the nearest that is known is {}", misspelt->name));
}

}  // namespace

void Givens::add(Given given) {
    constexpr std::size_t most = 8192;
    if (all_.size() == most)
        throw Error(given.origin.place.file, given.origin.place.at,
                    fmt::format("is one of more than {} flags or keys", most), "leave out what no program reads");
    all_.push_back(std::move(given));
}

const Given* Givens::find(std::string_view name) const {
    const auto found = std::find_if(all_.rbegin(), all_.rend(), [&](const Given& each) { return each.name == name; });
    return found == all_.rend() || found->value.is_null() ? nullptr : &*found;
}

const Given* Givens::find_any(std::initializer_list<std::string_view> names) const {
    for (const std::string_view name : names)
        if (const Given* const found = find(name)) return found;
    return nullptr;
}

bool Givens::is_on(std::string_view name) const {
    const Given* const found = find(name);
    return found != nullptr && truth(found->value).value_or(true);
}

std::string Givens::text(std::string_view name) const {
    const Given* const found = find(name);
    return found == nullptr ? "" : text_of(found->value);
}

std::string text_of(const Json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

const Row* find_row(std::span<const Row> table, std::string_view name) {
    const Row* nearest_group = nullptr;
    for (const Row& row : table) {
        if (row.name == name) return &row;
        if (!row.name.ends_with(".*") || !name.starts_with(row.name.substr(0, row.name.size() - 1))) continue;
        if (nearest_group == nullptr || row.name.size() > nearest_group->name.size()) nearest_group = &row;
    }
    return nearest_group;
}

void apply(std::span<const Row> table, const Givens& givens, Draft& draft) {
    std::size_t unknown = 0;
    for (const Given& given : givens.all()) {
        if (givens.find(given.name) != &given && !given.value.is_null()) continue;  // a later word counts
        if (const Row* const row = find_row(table, given.name))
            by_row_or_unknown(table, *row, given, draft);
        else
            draft.findings.unknown(given.origin.place, given.origin.name, remedy_for_unknown(table, given, ++unknown));
    }
}

std::optional<std::uint64_t> whole_of(const Given& given, Draft& draft, std::uint64_t least) {
    const auto number = whole_number(given.value);
    if (number && *number >= least) return number;
    if (is_open(given.value)) {
        const std::string name = shell::first_unknown(given.value.get_ref<const std::string&>());
        draft.findings.refuse(given.origin.place, given.origin.name, what_is_open(name),
                              is_variable(name) ? fmt::format("give it with --define {}=VALUE", name)
                                                : "give the flag with its value behind --");
    } else {
        draft.findings.refuse(given.origin.place, given.origin.name,
                              fmt::format("{} is no whole number", documents::printable(text_of(given.value))),
                              fmt::format("write a whole number from {} on", least));
    }
    return std::nullopt;
}

void set_key(const std::string& pointer, const Given& given, Draft& draft) {
    const std::string_view path = std::string_view(pointer).substr(1);
    const std::size_t slash = path.find('/');
    for (const Section& section : scenarios::sections()) {
        if (section.name != path.substr(0, slash)) continue;
        if (const documents::Key* const key = documents::find_key(section, path.substr(slash + 1)))
            return set_in(section, *key, given, draft);
    }
    throw std::logic_error(fmt::format("no scenario has the key {}", pointer));
}

void overlap_tensor_comm(const Given& given, Draft& draft) {
    if (draft.is_true("/strategy/sequence_parallel") && draft.whole("/strategy/tensor", 1) > 1)
        draft.set("/strategy/tp_comm_overlap", true, given.origin);
    else
        draft.findings.harmless(given.origin.place, given.origin.name);
}

}  // namespace orrery::doors
