#include "validate/rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>

#include "base/error.hpp"
#include "base/read_file.hpp"
#include "base/text.hpp"
#include "documents/document.hpp"
#include "documents/message.hpp"
#include "documents/value.hpp"

namespace orrery::validate {

namespace {

using documents::Value;
using nlohmann::json;

constexpr const char* format_hint = R"(a validation file is {"source": NAME, "rows": [{...}, ...]})";

const json& rows_of(const Value& document) {
    const Value rows = document.at("rows");
    if (rows.size() == 0) rows.fail("no rows", "there is nothing to compare with");
    for (const Value& row : rows.list())
        if (!row.json().is_object())
            row.fail(fmt::format("{} where an object is needed", documents::shown(row.json())));
    return rows.json();
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

json defaults_of(const Value& document) {
    if (!document.has("defaults")) return json::object();
    const Value defaults = document.at("defaults");
    if (!defaults.json().is_object())
        defaults.fail(fmt::format("{} where an object is needed", documents::shown(defaults.json())));
    return defaults.json();
}

constexpr std::string_view fields_of_rows[] = {
    "source",   "id",         "measured",  "model",        "gpu",      "gpus",       "power_limit_w",
    "node",     "kind",       "switches",  "precision",    "network",  "nodes",      "dp",
    "pp",       "tp",         "mbs",       "cp",           "gbs",      "sharding",   "recompute",
    "vpp",      "grad_accum", "ep",        "sp",           "scenario", "paper",      "table",
    "assumed",  "notes",      "overlap",   "base",         "flags",    "unmodelled", "plan",
    "doubtful", "rate_of",    "origin_of", "gpus_per_node"};
constexpr std::string_view fields_of_models[] = {
    "name",  "hidden",  "layers", "ffn",     "vocab",          "heads",    "kv_heads", "seq",      "decoder_seq",
    "gated", "experts", "topk",   "moe_ffn", "shared_experts", "head_dim", "variant",  "attention"};

void add_unread(std::vector<std::string>& list, const json& object, std::string_view before,
                std::span<const std::string_view> known) {
    constexpr std::size_t near = 5;  // edits: "recomputation" is recompute
    for (const auto& [key, value] : object.items()) {
        if (std::ranges::find(known, key) != known.end()) continue;
        const std::string likely = nearest(key, known, 1).front();
        std::string text = fmt::format("{}{}", before, documents::printable(key));
        if (edit_distance(key, likely) <= std::min(near, key.size() / 2)) text += fmt::format(" ({}?)", likely);
        if (std::ranges::find(list, text) == list.end()) list.push_back(std::move(text));
    }
}

}  // namespace

std::vector<std::string> unread_fields(const RowFile& file) {
    std::vector<std::string> list;
    for (const Row& row : file.rows) {
        add_unread(list, row.fields(), "", fields_of_rows);
        if (const json* const model = row.find("model"); model != nullptr && model->is_object())
            add_unread(list, *model, "model.", fields_of_models);
    }
    return list;
}

RowFile parse_rows(const std::string& text, const std::filesystem::path& file) {
    const json document = documents::parse_document(text, file.string(), {.example = format_hint});
    const Value top(document, file.string(), format_hint);
    top.only({"source", "meta", "defaults", "rows"});
    const json& rows = rows_of(top);
    const json defaults = defaults_of(top);
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
