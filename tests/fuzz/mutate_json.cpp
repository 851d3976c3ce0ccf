#include "tests/fuzz/mutate_json.hpp"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "scenarios/keys.hpp"

namespace orrery::fuzz {

namespace {

using documents::Key;
using documents::Kind;
using documents::Section;
using nlohmann::json;

std::size_t below(Random& random, std::size_t count) { return static_cast<std::size_t>(random() % count); }

template <class List>
const auto& one_of(Random& random, const List& list) {
    return list[below(random, std::size(list))];
}

const json& odd_value(Random& random) {
    static const json values = json::parse(R"([null, true, false, 0, 1, 2, 3, 4, 8, 16, 64, 100, 1024, 65536, 1000000,
        -1, 4294967295, 4294967296, 18446744073709551615, -9223372036854775808, 0.5, 1.5, 4.0, 1e-300, 1e300, -0.0,
        "", "0", "1", "auto", "1 MB", "1 GiB", "100 Gb/s", "1 b/s", "1 us", "0 s", "300B", "gpt2", "dgx-a100", "bf16",
        "full", "zero1", "rank 0 x 2", "rank 1 x 1.5 from 1 ms to 2 ms", "leaf 0 - spine 1 x 4", "node 1 nic 0 x 2",
        "node 0 to node 1 at 5 GB/s", "gpus 0-7 to gpus 8-15 at 1 GB/s", "0-7", "\u0000", "\u00e9", "..", [], [1],
        ["a"], {}, {"name": "gpt2"}, {"a": {"b": 1}}])");
    return one_of(random, values);
}

json number_for(const Key& key, Random& random) {
    const double low = key.min, high = key.max;
    switch (below(random, 8)) {
        case 0: return low;
        case 1: return high;
        case 2: return low - 1;
        case 3: return high + 1;
        case 4: return low + (high - low) / 3;
        default: return low + std::exp2(static_cast<double>(below(random, 12)));
    }
}

json whole(const json& number) {
    const double value = number.get<double>();
    return value >= 0 && value < 1e15 ? json(static_cast<std::uint64_t>(value)) : number;
}

/// Something that may stand under the key, or nearly.
json value_for(const Key& key, Random& random) {
    if (below(random, 10) == 0) return odd_value(random);
    switch (key.kind) {
        case Kind::boolean: return below(random, 2) == 0;
        case Kind::integer: return whole(number_for(key, random));
        case Kind::number: return number_for(key, random);
        case Kind::numbers: return json::array({number_for(key, random), number_for(key, random)});
        case Kind::choice: return key.words.empty() ? odd_value(random) : json(one_of(random, key.words).name);
        case Kind::bytes: return fmt::format("{} {}", 1 + below(random, 999), below(random, 2) == 0 ? "MB" : "KiB");
        case Kind::rate: return fmt::format("{} {}", 1 + below(random, 999), below(random, 2) == 0 ? "Gb/s" : "GB/s");
        case Kind::tokens: return fmt::format("{}B", 1 + below(random, 999));
        default: return odd_value(random);
    }
}

/// The keys that an object most looks as if it had.
const Section& section_like(const json& object, Random& random) {
    const auto sections = scenarios::sections();
    const Section* best = &one_of(random, sections);
    std::size_t most = 0;
    for (const Section& section : sections) {
        std::size_t common = 0;
        for (const auto& [name, value] : object.items())
            common += documents::find_spelled(section, name).key != nullptr ? 1 : 0;
        if (common > most) {
            most = common;
            best = &section;
        }
    }
    return *best;
}

void set_known_key(json& object, Random& random) {
    if (!object.is_object()) return;
    const Section& section = section_like(object, random);
    if (section.keys.empty()) return;
    const Key& key = one_of(random, section.keys);
    std::string name(key.name);
    json value = value_for(key, random);
    if (!key.spellings().empty() && below(random, 4) == 0) {
        const documents::Spelling& other = one_of(random, key.spellings());
        name = std::string(other.name);
        if (other.is_switch()) value = below(random, 2) == 0;
    }
    object[name] = std::move(value);
}

/// Every value of the document but those too deep to be reached, the document first.
void collect(json& value, std::size_t depth, std::vector<json*>& all) {
    constexpr std::size_t deepest = 100;
    all.push_back(&value);
    if (value.is_structured() && depth < deepest)
        for (json& member : value) collect(member, depth + 1, all);
}
std::vector<json*> parts_of(json& document) {
    std::vector<json*> all;
    collect(document, 0, all);
    return all;
}

json& any_part(json& document, Random& random) { return *one_of(random, parts_of(document)); }
json& any_object(json& document, Random& random) {
    std::vector<json*> objects;
    for (json* const part : parts_of(document))
        if (part->is_object()) objects.push_back(part);
    return objects.empty() ? document : *one_of(random, objects);
}

void change_number(json& value, Random& random) {
    const double factors[] = {2, 0.5, 3, -1, 0, 1.0000001, 10, 1e9};
    if (value.is_number_integer()) {
        const auto before = value.get<std::int64_t>();
        const auto moved = [&](std::uint64_t by) {  // around the ends too
            return static_cast<std::int64_t>(static_cast<std::uint64_t>(before) + by);
        };
        const std::int64_t after[] = {moved(1), moved(~std::uint64_t{0}), before / 2, 0, 1};
        constexpr std::int64_t large = std::int64_t{1} << 40U;
        value = below(random, 3) == 0 && before < large && before > -large ? before * 2 : one_of(random, after);
    } else {
        value = value.get<double>() * one_of(random, factors);
    }
}

void remove_member(json& of, Random& random) {
    if (!of.is_structured() || of.empty()) return;
    auto member = of.begin();
    std::advance(member, static_cast<std::ptrdiff_t>(below(random, of.size())));
    of.erase(member);
}

void grow_list(json& list, Random& random) {
    if (!list.is_array() || list.empty() || list.size() > 64) return;
    const json element = list[below(random, list.size())];
    list.insert(list.begin() + static_cast<std::ptrdiff_t>(below(random, list.size() + 1)), element);
}

void rename_member(json& object, Random& random) {
    if (!object.is_object() || object.empty()) return;
    auto member = object.begin();
    std::advance(member, static_cast<std::ptrdiff_t>(below(random, object.size())));
    json value = *member;
    const std::string name = with_other_bytes(member.key(), random);
    object.erase(member);
    object[name] = std::move(value);
}

void change(json& document, Random& random) {
    json& part = any_part(document, random);
    switch (below(random, 12)) {
        case 0: remove_member(any_object(document, random), random); break;
        case 1: rename_member(any_object(document, random), random); break;
        case 2: part = odd_value(random); break;
        case 3: grow_list(part, random); break;
        case 4: remove_member(part, random); break;
        case 5: {
            const json copy = any_part(document, random);
            part = copy;
            break;
        }
        case 6: part = json::array({part}); break;
        case 7:
        case 8: set_known_key(any_object(document, random), random); break;
        default:
            if (part.is_number()) return change_number(part, random);
            if (part.is_boolean()) {
                part = !part.get<bool>();
            } else if (part.is_string()) {
                part = with_other_bytes(part.get<std::string>(), random);
            } else if (part.is_object()) {
                set_known_key(part, random);
            } else {
                grow_list(part, random);
            }
    }
}

/// Bytes that are no UTF-8 stay bytes.
std::string text_of(const json& document) { return document.dump(-1, ' ', false, json::error_handler_t::ignore); }

json parsed(const std::string& text) { return json::parse(text, nullptr, false); }

}  // namespace

std::optional<std::string> mutated_json(const std::string& text, Random& random) {
    json document = parsed(text);
    if (document.is_discarded()) return std::nullopt;
    change(document, random);
    return text_of(document);
}

std::optional<std::string> spliced_json(const std::string& into, const std::string& from, Random& random) {
    json document = parsed(into), other = parsed(from);
    if (document.is_discarded() || other.is_discarded()) return std::nullopt;
    json& object = any_object(document, random);
    const json& donor = any_object(other, random);
    if (object.is_object() && donor.is_object() && !donor.empty()) {
        auto member = donor.begin();
        std::advance(member, static_cast<std::ptrdiff_t>(below(random, donor.size())));
        object[member.key()] = member.value();
    } else {
        any_part(document, random) = donor;
    }
    return text_of(document);
}

}  // namespace orrery::fuzz
