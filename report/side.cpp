#include "report/side.hpp"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.hpp"
#include "documents/message.hpp"
#include "report/json.hpp"

namespace orrery::report {

namespace {

using Json = nlohmann::json;

std::string shown(const Json& flat, const std::string& pointer) {
    return flat.contains(pointer) ? documents::shown(flat.at(pointer)) : "-";
}

}  // namespace

bool Side::has(const std::string& pointer) const {
    return document.is_object() && document.contains(nlohmann::json::json_pointer(pointer));
}

const nlohmann::json& Side::at(const std::string& pointer) const {
    if (!has(pointer)) throw Error(file, pointer, "is missing", "give a file that simulate --json or run --json wrote");
    return document.at(nlohmann::json::json_pointer(pointer));
}

double Side::number(const std::string& pointer, double least) const {
    const nlohmann::json& value = at(pointer);
    if (!value.is_number() || !std::isfinite(value.get<double>()) || value.get<double>() < least)
        throw Error(file, pointer, fmt::format("is {}", documents::shown(value)),
                    fmt::format("a number from {} on", least));
    return value.get<double>();
}

std::size_t Side::index(const std::string& pointer) const {
    const nlohmann::json& value = at(pointer);
    if (!value.is_number_integer() || value.get<std::int64_t>() < 0)
        throw Error(file, pointer, fmt::format("{} is no whole number", documents::shown(value)),
                    "the file is damaged");
    return value.get<std::size_t>();
}

std::string Side::text(const std::string& pointer) const {
    const nlohmann::json& value = at(pointer);
    if (!value.is_string())
        throw Error(file, pointer, fmt::format("{} is not text", documents::shown(value)), "the file is damaged");
    return value.get<std::string>();
}

std::size_t Side::size(const std::string& pointer) const {
    if (!at(pointer).is_array()) throw Error(file, pointer, "is no list", "the file is damaged");
    return at(pointer).size();
}

void Side::check_version() const {
    constexpr const char* key = "/schema_version";
    if (has(key) && at(key) != schema_version)
        throw Error(file, key, fmt::format("is {}, and {} is read here", documents::shown(at(key)), schema_version),
                    "write the file again with this version of orrery");
}

std::vector<ChangedKey> changed_keys(const Side& before, const Side& after) {
    const Json was = before.at("/scenario").flatten(), is = after.at("/scenario").flatten();
    std::set<std::string> pointers;
    for (const Json* flat : {&was, &is})
        for (const auto& [pointer, value] : flat->items()) pointers.insert(pointer);
    std::vector<ChangedKey> list;
    for (const std::string& pointer : pointers) {
        if (pointer == "/name" || pointer == "/description") continue;
        ChangedKey key{pointer, shown(was, pointer), shown(is, pointer)};
        if (key.before != key.after) list.push_back(std::move(key));
    }
    return list;
}

}  // namespace orrery::report
