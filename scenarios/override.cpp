#include "scenarios/override.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/error.hpp"
#include "documents/document.hpp"
#include "documents/message.hpp"
#include "scenarios/keys.hpp"

namespace orrery::scenarios {

namespace {

using documents::child_pointer;
using documents::printable;
using documents::shown;
using nlohmann::json;

constexpr std::string_view form = "write path=value, such as strategy.tensor=4";

std::vector<std::string> parts_of(const Override& change) {
    std::vector<std::string> parts(1);
    for (const char c : change.path) {
        if (c == '.') {
            parts.emplace_back();
        } else {
            parts.back() += c;
        }
    }
    for (const std::string& part : parts) {
        if (part.empty()) throw Error(describe(change), "", "the path has an empty part", std::string(form));
    }
    if (parts.size() > documents::max_depth) {
        throw Error(describe(change), "", fmt::format("the path has {} parts", parts.size()), std::string(form));
    }
    return parts;
}

/// JSON when it is JSON; what only begins like an object or a list is a slip, everything else a text.
json value_of(const Override& change) {
    const bool meant_as_json = change.value.starts_with('{') || change.value.starts_with('[');
    try {
        return documents::parse_document(change.value, describe(change));
    } catch (const Error&) {
        if (meant_as_json) throw;
        return change.value;
    }
}

json& element(json& list, const std::string& part, const Override& change) {
    std::size_t index = 0;
    const auto [end, status] = std::from_chars(part.data(), part.data() + part.size(), index);
    if (status != std::errc{} || end != part.data() + part.size() || index >= list.size()) {
        throw Error(describe(change), pointer_of(change),
                    fmt::format("\"{}\" is no element of a list of {}", printable(part), list.size()),
                    list.empty() ? "the list is empty: set the whole list"
                                 : fmt::format("write an index from 0 to {}", list.size() - 1));
    }
    return list[index];
}

json& step(json& parent, const std::string& part, const Override& change) {
    if (parent.is_null()) parent = json::object();
    if (parent.is_object()) return parent[part];
    if (parent.is_array()) return element(parent, part, change);
    throw Error(describe(change), pointer_of(change),
                fmt::format("\"{}\" would lie inside {}, which is no object", printable(part), shown(parent)),
                "shorten the path: name the key itself");
}

/// The section that lies there; nullptr when none does.
const documents::Section* section_at(const std::string& pointer) {
    const auto found = std::ranges::find_if(
        sections(), [&](const documents::Section& each) { return !each.in_list && each.pointer == pointer; });
    return found == sections().end() ? nullptr : &*found;
}

std::string_view plain_name(const documents::Section& section, std::string_view spelling) {
    const documents::Key* key = find_spelled(section, spelling).key;
    return key ? key->name : spelling;
}

void erase_spellings(json& object, const documents::Section& section, const std::string& spelling) {
    for (auto it = object.begin(); it != object.end();) {
        it = plain_name(section, it.key()) == plain_name(section, spelling) ? object.erase(it) : std::next(it);
    }
}

bool is_utf8(const std::string& text) {
    try {
        (void)nlohmann::json(text).dump();
        return true;
    } catch (const nlohmann::json::exception&) {
        return false;
    }
}

}  // namespace

Override parse_override(const std::string& text) {
    const auto equals = text.find('=');
    if (!is_utf8(text))
        throw Error(fmt::format("--set {}", printable(text)), "", "is no UTF-8 text, as a scenario's file must be",
                    "write it in UTF-8");
    Override change{text.substr(0, equals), equals == std::string::npos ? "" : text.substr(equals + 1)};
    if (equals == std::string::npos) {
        throw Error(fmt::format("--set {}", printable(text)), "", "there is no '='", std::string(form));
    }
    (void)parts_of(change);
    return change;
}

std::string describe(const Override& change) {
    return fmt::format("--set {}={}", printable(change.path), printable(change.value));
}

std::string pointer_of(const Override& change) {
    std::string text;
    for (const std::string& part : parts_of(change)) text = child_pointer(text, part);
    return text;
}

void require_known(const Override& change) {
    const std::vector<std::string> parts = parts_of(change);
    const auto require = [&](const documents::Section& in, const std::string& spelling) {
        if (!find_spelled(in, spelling).key) throw unknown_key(in, spelling, describe(change), std::string(in.pointer));
    };
    require(section(Place::document), parts.front());
    if (parts.size() == 1) return;
    if (const auto* inner = section_at('/' + parts.front())) require(*inner, parts[1]);
}

void apply_override(json& document, const Override& change) {
    std::vector<std::string> parts = parts_of(change);
    const std::string last = parts.back();
    parts.pop_back();
    json value = value_of(change);
    json* parent = &document;
    std::string parent_pointer;
    for (const std::string& part : parts) {
        parent = &step(*parent, part, change);
        parent_pointer = child_pointer(parent_pointer, part);
    }
    json& target = step(*parent, last, change);
    if (!parent->is_object()) {
        target = std::move(value);
        return;
    }
    if (const auto* section = section_at(parent_pointer)) erase_spellings(*parent, *section, last);
    if (value.is_null()) {
        parent->erase(last);
    } else {
        (*parent)[last] = std::move(value);
    }
}

}  // namespace orrery::scenarios
