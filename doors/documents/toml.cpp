#include <fmt/format.h>
#include <toml++/toml.h>

#include <cmath>

#include "base/read_file.hpp"
#include "documents/document.hpp"
#include "documents/message.hpp"
#include "doors/documents/flatten.hpp"

namespace orrery::doors {

namespace {

using Json = nlohmann::ordered_json;

Json json_of(const toml::node& node) {
    if (const auto* const table = node.as_table()) {
        Json object = Json::object();
        for (const auto& [key, value] : *table) object[std::string(key.str())] = json_of(value);
        return object;
    }
    if (const auto* const array = node.as_array()) {
        Json list = Json::array();
        for (const toml::node& each : *array) list.push_back(json_of(each));
        return list;
    }
    if (const auto* const text = node.as_string()) return text->get();
    if (const auto* const truth = node.as_boolean()) return truth->get();
    if (const auto* const real = node.as_floating_point()) return real->get();
    // A whole number that is not negative is unsigned, as in JSON.
    if (const auto* const whole = node.as_integer())
        return whole->get() >= 0 ? Json(static_cast<std::uint64_t>(whole->get())) : Json(whole->get());
    return nullptr;  // a date: no training hangs on one
}

}  // namespace

Json read_toml(const std::string& file) {
    constexpr std::uint64_t most_toml_bytes = std::uint64_t{1} << 20U;
    const std::string bytes = read_file(file, "the path of a TOML file", most_toml_bytes);
    try {
        return json_of(toml::parse(bytes));
    } catch (const toml::parse_error& error) {
        const toml::source_position at = error.source().begin;
        throw Error(file, fmt::format("{}:{}", at.line, at.column),
                    fmt::format("is no TOML: {}", documents::printable(error.description(), 200)),
                    "give a TOML file such as TorchTitan's train_configs");
    }
}

}  // namespace orrery::doors
