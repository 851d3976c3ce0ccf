// orrery list: what a scenario can name.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "base/data_folder.hpp"
#include "base/enum_table.hpp"
#include "base/table.hpp"
#include "base/terminal.hpp"
#include "base/units.hpp"
#include "calibrate/profile_store.hpp"
#include "cli/command.hpp"
#include "cli/options.hpp"
#include "documents/document.hpp"
#include "hardware/gpu.hpp"
#include "models/catalog.hpp"
#include "models/operators.hpp"
#include "scenarios/schema.hpp"
#include "scenarios/shipped.hpp"
#include "strategies/plan_fields.hpp"
#include "topology/catalog.hpp"
#include "topology/fabric_spec.hpp"

namespace orrery::cli {

namespace {

using Align = Table::Align;

void print_table(const Table& table) { print(table.to_text({.columns = text_columns(Stream::out)})); }

constexpr const char* footer = R"(Examples:
  orrery list models
  orrery list clusters
  orrery list gpus
  orrery list fabrics
  orrery list strategies
  orrery list scenarios
  orrery list profiles
  orrery list keys)";

void list_models() {
    Table table({{"model", Align::left},
                 {"parameters"},
                 {"layers"},
                 {"hidden"},
                 {"heads"},
                 {"KV heads"},
                 {"MLP"},
                 {"vocabulary"},
                 {"family", Align::left}});
    for (const models::ModelSpec& m : models::catalog())
        table.row({m.name, format_count(static_cast<double>(models::parameters(models::build(m)))),
                   fmt::format("{}", m.layers), fmt::format("{}", m.hidden), fmt::format("{}", m.heads),
                   fmt::format("{}", m.kv_heads), fmt::format("{}{}", m.ffn, m.gated ? " gated" : ""),
                   fmt::format("{}", m.vocab), std::string(models::name(m.family))});
    print_table(table);
    print(
        "\nAny other: \"model\": {\"hugging_face\": \"path/to/config.json\"}, or its hyper-parameters in the "
        "scenario.\nThe papers behind the shipped ones are cited in models/gpt.cpp, llama.cpp and bert.cpp.\n");
}

void list_clusters() {
    Table table({{"cluster", Align::left},
                 {"nodes"},
                 {"at most"},
                 {"GPU", Align::left},
                 {"a node"},
                 {"NIC rate"},
                 {"what", Align::left},
                 {"source", Align::left}});
    for (const topology::Preset& preset : topology::presets()) {
        topology::ClusterSpec spec;
        spec.preset = preset.name;
        const topology::Cluster cluster = topology::build(spec);
        const double nic = cluster.nic_bytes_per_second();
        table.row({std::string(preset.name), fmt::format("{}", preset.default_nodes),
                   fmt::format("{}", preset.max_nodes), cluster.gpu().name, fmt::format("{}", cluster.gpus_per_node()),
                   nic > 0 ? fmt::format("{:.0f} Gb/s", nic * 8 / 1e9) : "-", std::string(preset.summary),
                   std::string(preset.source)});
    }
    print_table(table);
}

void list_fabrics() {
    Table table({{"fabric", Align::left},
                 {"keys of the cluster", Align::left},
                 {"what", Align::left},
                 {"source", Align::left}});
    for (const topology::FabricKind& kind : topology::fabric_kinds())
        table.row(
            {std::string(kind.name), std::string(kind.keys), std::string(kind.summary), std::string(kind.source)});
    print_table(table);
    print(
        "\nEvery preset but the reference architectures takes them: \"cluster\": {\"preset\": \"dgx-h100\", "
        "\"fabric\": \"dragonfly\"}.\n");
}

/// What may stand under a key, in a cell of a table.
std::string values_of(const documents::Key& key) {
    using documents::Kind;
    std::string words;
    switch (key.kind) {
        case Kind::choice:
            for (const documents::Word& word : key.words)
                words += fmt::format("{}{}", words.empty() ? "" : " | ", word.name);
            return words;
        case Kind::boolean: return "true | false";
        case Kind::integer: return fmt::format("{:.0f} to {:.0f}", key.min, key.max);
        case Kind::bytes: return fmt::format("{} to {}", format_bytes(key.min), format_bytes(key.max));
        default: return "text";
    }
}

void list_strategies() {
    Table table({{"key", Align::left}, {"values", Align::left}, {"what", Align::left}, {"source", Align::left}});
    for (const auto& [key, get, set] : strategies::strategy_fields())
        table.row({std::string(key.name), values_of(key), std::string(key.help), std::string(key.origin)});
    print_table(table);
}

/// "312"; nothing where the GPU does not offer it.
std::string teraflops(double flops) { return flops > 0 ? fmt::format("{:.4g}", flops / 1e12) : "-"; }

void list_gpus() {
    Table table({{"GPU", Align::left},
                 {"memory"},
                 {"bandwidth"},
                 {"fp32"},
                 {"tf32"},
                 {"16 bits"},
                 {"fp8"},
                 {"profile", Align::left}});
    for (const hardware::Gpu& gpu : hardware::gpus())
        table.row(
            {gpu.name, format_bytes(static_cast<double>(gpu.memory_bytes)),
             gpu.memory_bytes_per_second > 0 ? fmt::format("{:.4g} GB/s", gpu.memory_bytes_per_second / 1e9) : "-",
             teraflops(gpu.fp32_flops), teraflops(gpu.tf32_flops), teraflops(gpu.half_flops), teraflops(gpu.fp8_flops),
             gpu.profile});
    print_table(table);
    print("\nDense peaks of the datasheets in TFLOP/s. Shorter names are known too: H100, A100-80GB.\n");
}

void list_profiles() {
    Table table({{"profile", Align::left}, {"tables"}, {"device", Align::left}, {"made by", Align::left}});
    calibrate::ProfileStore store;
    for (const std::string& name : calibrate::ProfileStore::shipped()) {
        const calibrate::Profile& p = store.find(name).profile();
        const std::size_t tables = p.gemm.size() + p.attention.size() + p.pointwise.size() + p.collectives.size();
        table.row({name, fmt::format("{}", tables), p.device, p.made_by});
    }
    print_table(table);
    print("\n`orrery profile show NAME` names every table's source.\n");
}

/// A text of a document; "" where it has none. Scenarios of one's own folder are not checked for being listed.
std::string text_at(const nlohmann::json& document, const char* key) {
    const bool has = document.is_object() && document.contains(key) && document.at(key).is_string();
    return has ? document.at(key).get<std::string>() : "";
}

void list_scenarios() {
    Table table({{"scenario", Align::left}, {"title", Align::left}, {"where it comes from", Align::left}});
    for (const std::filesystem::path& file : scenarios::shipped_files()) {
        const nlohmann::json document = documents::read_document(file.string());
        table.row({scenarios::shipped_name(file), text_at(document, "name"), text_at(document, "description")});
    }
    print_table(table);
    print(fmt::format("\nTheir files are in {}.\n", data_folder().string()));
}

void list_keys(bool markdown) {
    if (markdown) return print(scenarios::key_reference());
    const auto plain = [](std::string text) {
        std::erase(text, '`');
        return text;
    };
    Table table({{"key", Align::left},
                 {"values", Align::left},
                 {"when absent", Align::left},
                 {"what", Align::left},
                 {"elsewhere", Align::left}});
    for (const scenarios::KeyWords& key : scenarios::keys_in_words())
        table.row({key.object.empty() ? key.key : key.object + '.' + key.key, plain(key.values), key.when_absent,
                   plain(key.meaning), plain(key.elsewhere)});
    print_table(table);
}

}  // namespace

void add_list(CLI::App& program, Exit&) {
    CLI::App* const command = program.add_subcommand("list", "list what a scenario can name");
    command->require_subcommand(1);
    command->footer(footer);
    const auto add = [&](const char* name, const char* what, void (*run)()) {
        command->add_subcommand(name, what)->callback(run)->footer(fmt::format("Example:\n  orrery list {}", name));
    };
    add("models", "shipped models with their sizes", list_models);
    add("clusters", "cluster presets with their sources", list_clusters);
    add("gpus", "kinds of GPU with their datasheets' rates", list_gpus);
    add("fabrics", "kinds of fabric between the nodes with their parameters and sources", list_fabrics);
    add("strategies", "keys of a scenario's strategy with their values and sources", list_strategies);
    add("scenarios", "shipped scenarios, which commands take by name", list_scenarios);
    add("profiles", "shipped profiles of measured kernels and collectives", list_profiles);
    CLI::App* const keys = command->add_subcommand("keys", "keys of a scenario with their values and meanings");
    const auto markdown = std::make_shared<bool>(false);
    keys->add_flag("--markdown", *markdown, "as Markdown: docs/scenario.md");
    keys->callback([markdown] { list_keys(*markdown); });
    keys->footer("Examples:\n  orrery list keys\n  orrery list keys --markdown | grep sequence");
}

}  // namespace orrery::cli
