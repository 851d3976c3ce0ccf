#include "validate/carry.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "base/error.hpp"
#include "base/file_replacement.hpp"
#include "base/read_file.hpp"
#include "base/text.hpp"
#include "validate/map_row.hpp"

namespace orrery::validate {

namespace {

using nlohmann::json;
using nlohmann::ordered_json;
namespace fs = std::filesystem;

constexpr const char* row_fields[] = {
    "id",      "kind",     "source",   "paper",   "table",      "model",         "precision", "gpu",       "node",
    "gpus",    "nodes",    "network",  "tp",      "pp",         "vpp",           "dp",        "ep",        "cp",
    "sp",      "sharding", "mbs",      "gbs",     "grad_accum", "recompute",     "switches",  "measured",  "flags",
    "overlap", "etp",      "scenario", "assumed", "origin_of",  "gpus_per_node", "base",      "unmodelled"};
constexpr const char* model_fields[] = {"name",      "layers",  "hidden",         "heads",  "kv_heads", "head_dim",
                                        "ffn",       "seq",     "vocab",          "gated",  "experts",  "topk",
                                        "attention", "moe_ffn", "shared_experts", "variant"};
constexpr const char* source_fields[] = {"repo",  "commit", "tag",     "path", "line",   "paper",
                                         "where", "table",  "address", "of",   "release"};
constexpr const char* sweeps[] = {"sweep_out_of_place", "sweep", "sweep_in_place"};
constexpr const char* sweep_fields[] = {"bytes", "time_us", "busbw_GBps"};
/// Remarks, environment, and arguments that change neither the work nor its time: the switches that are left out.
constexpr std::string_view prose[] = {"section",
                                      "tool",
                                      "env",
                                      "nccl",
                                      "balance",
                                      "strong_scaling",
                                      "no-load-optim",
                                      "dropless",
                                      "fsdp_mixed_precision",
                                      "moe_force_balance",
                                      "max-position-embeddings",
                                      "dist-ckpt-optim-fully-reshardable"};

template <class Fields>
ordered_json chosen(const json& object, const Fields& fields) {
    ordered_json result = ordered_json::object();
    for (const char* field : fields)
        if (const auto value = object.find(field); value != object.end() && !value->is_null()) result[field] = *value;
    return result;
}

/// Points with their time, or with their bandwidth where no time was printed.
ordered_json sweep(const json& list) {
    ordered_json result = ordered_json::array();
    for (const json& point : list) {
        result.push_back(point.is_object() ? chosen(point, sweep_fields) : ordered_json(point));
        if (result.back().contains("time_us")) result.back().erase("busbw_GBps");
    }
    return result;
}

/// Spread and number of the samples behind a value.
bool is_spread(std::string_view key) {
    for (const std::string_view end : {"_min", "_max", "_p05", "_p95", "_n"})
        if (key.ends_with(end)) return true;
    return key.starts_with("n_") || key == "allocated_after_step_bytes";
}

/// Rates that a table derived from a time or a finer rate which it prints as well.
bool is_repeated(std::string_view key, const json& values) {
    if (!values.contains("step_time_s") && !values.contains("tokens_per_s_per_gpu")) return false;
    return key == "tokens_per_s" || key == "MFU_percent" || key == "HFU_percent";
}

/// Sweeps, and every value that is a number, a word, or a short list of numbers (a range).
ordered_json measured(const json& values) {
    ordered_json result = ordered_json::object();
    for (const auto& [key, value] : values.items()) {
        const bool is_sweep =
            std::ranges::find(sweeps, key, [](const char* s) { return std::string(s); }) != std::end(sweeps);
        if (is_sweep && value.is_array()) result[key] = sweep(value);
        const bool range = value.is_array() && value.size() <= 2;
        const bool short_value = !value.is_null() && (value.is_primitive() || range);
        if (!is_sweep && short_value && key != "statement" && !is_spread(key) && !is_repeated(key, values))
            result[key] = value;
    }
    return result;
}

ordered_json switches(const json& values) {
    ordered_json result = ordered_json::object();
    for (const auto& [key, value] : values.items())
        if (!value.is_null() && value.is_primitive() && std::ranges::find(prose, key) == std::end(prose))
            result[key] = value;
    return result;
}

/// What collectors of SC'21's rows wrote as a remark: its script runs models without a pipeline on torch's DDP, which
/// overlaps the reduction of gradients, and the others on Megatron-LM's own, which waits for the last backward.
std::optional<bool> overlap_in(const Row& row) {
    const auto notes = row.fields().find("notes");
    if (notes == row.fields().end() || !notes->is_string()) return std::nullopt;
    if (!contains(notes->get_ref<const std::string&>(), "DDP=torch (overlapped)")) return std::nullopt;
    return row.count("pp").value_or(1) == 1;
}

/// A remark that a row is not what it seems, in its own words; rows with flags are left out.
void add_warning(const Row& row, ordered_json& result) {
    const auto notes = row.fields().find("notes");
    if (notes == row.fields().end() || !notes->is_string()) return;
    const auto& words = notes->get_ref<const std::string&>();
    if (!contains(lower(words), "do not use") || result.contains("flags")) return;
    result["flags"] = ordered_json::array({words});
}

/// Which of Transformer-XL's models trained, where only the heading of the table says it. A row whose fields are of
/// another type is carried as it is.
void add_variant(const Row& row, ordered_json& result) try {
    if (!result.contains("model") || !result["model"].is_object() || !is_recurrent_model(row)) return;
    if (const std::string variant = model_variant(row); !variant.empty()) result["model"]["variant"] = variant;
} catch (const Skip&) {
    return;
}

ordered_json carried(const Row& row) {
    ordered_json result = chosen(row.fields(), row_fields);
    if (result.contains("model") && result["model"].is_object())
        result["model"] = chosen(row.fields()["model"], model_fields);
    if (result.contains("switches") && result["switches"].is_object())
        result["switches"] = switches(row.fields()["switches"]);
    if (result.contains("measured") && result["measured"].is_object())
        result["measured"] = measured(row.fields()["measured"]);
    if (result.contains("source") && result["source"].is_object())
        result["source"] = chosen(row.fields()["source"], source_fields);
    add_variant(row, result);
    add_warning(row, result);
    if (const auto overlap = overlap_in(row); overlap && !result.contains("overlap")) result["overlap"] = *overlap;
    return result;
}

/// What two objects have in common, member by member.
ordered_json common(const ordered_json& a, const ordered_json& b) {
    ordered_json result = ordered_json::object();
    for (const auto& [key, value] : a.items()) {
        const auto other = b.find(key);
        if (other == b.end()) continue;
        if (value.is_object() && other->is_object()) {
            if (ordered_json members = common(value, *other); !members.empty()) result[key] = std::move(members);
        } else if (value == *other) {
            result[key] = value;
        }
    }
    return result;
}

/// What all rows have in common; nothing for a single row, which has it all.
ordered_json shared(const std::vector<ordered_json>& rows) {
    if (rows.size() < 2) return ordered_json::object();
    ordered_json result = rows.front();
    for (const ordered_json& row : rows) result = common(result, row);
    return result;
}

/// Takes the defaults out of a row that holds them all.
void remove(ordered_json& row, const ordered_json& defaults) {
    for (const auto& [key, value] : defaults.items()) {
        if (value.is_object()) remove(row[key], value);
        if (!value.is_object() || row[key].empty()) row.erase(key);
    }
}

/// What carry() writes is itself when it is carried again: nothing else is overwritten.
void require_free(const fs::path& target) {
    std::error_code ignored;
    if (!fs::exists(target, ignored)) return;
    try {
        if (const std::string text = read_file(target); carried(parse_rows(text, target)) == text) return;
    } catch (const Error&) {
        // no rows at all
    }
    throw Error(target.string(), "", "is there already, and no carried set", "name another folder, or remove the file");
}

}  // namespace

std::string carried(const RowFile& file) {
    std::vector<ordered_json> rows;
    for (const Row& row : file.rows) rows.push_back(carried(row));
    const ordered_json defaults = shared(rows);
    for (ordered_json& row : rows) remove(row, defaults);
    std::string text = "{\"source\": " + json(file.source).dump();
    if (!file.meta.empty()) text += ",\n\"meta\": " + file.meta;
    if (!defaults.empty()) text += ",\n\"defaults\": " + defaults.dump();
    text += ",\n\"rows\": [\n";
    for (std::size_t i = 0; i < rows.size(); ++i) text += rows[i].dump() + (i + 1 < rows.size() ? ",\n" : "\n");
    return text + "]}\n";
}

void carry(const fs::path& from, const fs::path& to) {
    std::error_code failure;
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(from, failure))
        if (entry.path().extension() == ".json") files.push_back(entry.path());
    if (files.empty())
        throw Error(from.string(), "", "no validation files (*.json)", "name the folder that holds them");
    std::ranges::sort(files);
    std::vector<std::string> texts;
    for (const fs::path& file : files) texts.push_back(carried(load_rows(file)));
    for (const fs::path& file : files) require_free(to / file.filename());
    fs::create_directories(to, failure);
    if (failure) throw Error(to.string(), "", "cannot be made: " + failure.message());
    for (std::size_t i = 0; i < files.size(); ++i) replace_file(to / files[i].filename(), texts[i]);
}

}  // namespace orrery::validate
