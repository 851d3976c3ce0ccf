#include "documents/section.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/text.hpp"
#include "documents/message.hpp"

namespace orrery::documents {

namespace {

/// "ZB-H1" and "zb_h1" are one.
bool alike(std::string_view a, std::string_view b) {
    const auto plain = [](char c) {
        return c == '-' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    };
    return std::ranges::equal(a, b, {}, plain, plain);
}

}  // namespace

std::string to_text(const Section& section) {
    if (section.name.empty()) return "the document";
    return fmt::format("{}\"{}\"", section.in_list ? "an entry of " : "", section.name);
}

const Key* find_key(const Section& section, std::string_view name) {
    const auto found = std::ranges::find(section.keys, name, &Key::name);
    return found == section.keys.end() ? nullptr : &*found;
}

Spelled find_spelled(const Section& section, std::string_view spelling) {
    for (const Key& key : section.keys) {
        if (key.name == spelling) return {&key, nullptr};
        for (const Spelling& other : key.spellings())
            if (other.name == spelling) return {&key, &other};
    }
    return {};
}

std::string nearest_key(const Section& section, std::string_view unknown) {
    std::vector<std::string_view> known;
    for (const Key& key : section.keys) known.push_back(key.name);
    for (const Key& key : section.keys)
        for (const Spelling& other : key.spellings()) known.push_back(other.name);
    return nearest(unknown.substr(0, 64), known, 1).front();  // no known key is longer
}

const NotModelled* find_not_modelled(const Section& section, std::string_view key, std::string_view value) {
    const auto found = std::ranges::find_if(section.not_modelled, [&](const NotModelled& each) {
        return each.section == section.name && alike(each.key, key) && alike(each.value, value);
    });
    return found == section.not_modelled.end() ? nullptr : &*found;
}

std::string instead_of(const NotModelled& known) { return fmt::format("what there is: {}", known.instead); }

Error unknown_key(const Section& section, const std::string& spelling, const std::string& file, const std::string& at) {
    const std::string pointer = child_pointer(at, spelling);
    if (const NotModelled* known = find_not_modelled(section, spelling))
        return {file, pointer, fmt::format("\"{}\": {}", printable(spelling), known->what), instead_of(*known)};
    std::string hint = fmt::format("the nearest known key is \"{}\"", nearest_key(section, spelling));
    for (const Section& other : section.all) {
        if (!find_spelled(other, spelling).key) continue;
        hint += other.name.empty() ? "; this key belongs to the top level of the file"
                                   : fmt::format("; this key belongs to {}", to_text(other));
    }
    return {file, pointer, fmt::format("unknown key \"{}\" in {}", printable(spelling), to_text(section)), hint};
}

}  // namespace orrery::documents
