#include "validate/rows.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/read_file.hpp"

namespace orrery::validate {

namespace {

using nlohmann::json;

constexpr const char* format_hint = R"(a validation file is {"source": NAME, "rows": [{...}, ...]})";

json parse_document(const std::string& text, const std::string& file) {
    try {
        return json::parse(text);
    } catch (const json::exception& error) {
        throw Error(file, "", fmt::format("not JSON: {}", error.what()), format_hint);
    }
}

const json& rows_of(const json& document, const std::string& file) {
    if (!document.is_object())
        throw Error(file, "", fmt::format("the document is {}, not an object", document.type_name()), format_hint);
    const auto rows = document.find("rows");
    if (rows == document.end()) throw Error(file, "", "no \"rows\"", format_hint);
    if (!rows->is_array())
        throw Error(file, "/rows", fmt::format("{} where an array is needed", rows->type_name()), format_hint);
    if (rows->empty()) throw Error(file, "/rows", "no rows", "there is nothing to compare with");
    for (std::size_t i = 0; i < rows->size(); ++i) {
        if ((*rows)[i].is_object()) continue;
        throw Error(file, fmt::format("/rows/{}", i),
                    fmt::format("{} where an object is needed", (*rows)[i].type_name()), format_hint);
    }
    return *rows;
}

/// The row over the defaults: objects member by member, so that {"model": {"layers": 2}} keeps the default's other
/// members; anything else, null too, replaces.
json over_defaults(const json& defaults, const json& row) {
    json result = defaults;
    for (const auto& [key, value] : row.items()) {
        const auto known = result.find(key);
        const bool both = known != result.end() && known->is_object() && value.is_object();
        result[key] = both ? over_defaults(*known, value) : value;
    }
    return result;
}

json defaults_of(const json& document, const std::string& file) {
    const auto defaults = document.find("defaults");
    if (defaults == document.end()) return json::object();
    if (!defaults->is_object())
        throw Error(file, "/defaults", fmt::format("{} where an object is needed", defaults->type_name()), format_hint);
    return *defaults;
}

}  // namespace

RowFile parse_rows(const std::string& text, const std::filesystem::path& file) {
    const std::string name = file.string();
    const json document = parse_document(text, name);
    const json& rows = rows_of(document, name);
    const json defaults = defaults_of(document, name);
    RowFile result;
    const auto source = document.find("source");
    const bool named =
        source != document.end() && source->is_string() && !source->get_ref<const std::string&>().empty();
    result.source = named ? source->get<std::string>() : file.stem().string();
    if (const auto meta = document.find("meta"); meta != document.end()) result.meta = meta->dump();
    for (std::size_t i = 0; i < rows.size(); ++i)
        result.rows.emplace_back(result.source, i, over_defaults(defaults, rows[i]));
    return result;
}

RowFile load_rows(const std::filesystem::path& file) {
    return parse_rows(read_file(file, "name a JSON file of published rows"), file);
}

}  // namespace orrery::validate
