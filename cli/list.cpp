// orrery list: what a scenario can name.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "base/data_folder.hpp"
#include "base/enum_table.hpp"
#include "base/terminal.hpp"
#include "base/units.hpp"
#include "calibrate/profile_store.hpp"
#include "cli/command.hpp"
#include "cli/format.hpp"
#include "cli/options.hpp"
#include "documents/document.hpp"
#include "hardware/gpu.hpp"
#include "models/catalog.hpp"
#include "models/operators.hpp"
#include "report/records.hpp"
#include "scenarios/keys.hpp"
#include "scenarios/schema.hpp"
#include "scenarios/shipped.hpp"
#include "topology/catalog.hpp"
#include "topology/fabric_spec.hpp"

namespace orrery::cli {

namespace {

using report::Records;
using report::Value;

/// A list: its rows, and what stands below them for people.
struct List {
    Records records;
    std::string below = {};
};

void show(const List& list, const FormatOption& format) {
    format.print({.text = [&] { return list.records.text(text_columns(Stream::out)) + list.below; },
                  .csv = [&] { return list.records.csv(); },
                  .json = [&] { return list.records.json(); }},
                 false);
}

constexpr const char* list_footer = R"(Examples:
  orrery list models
  orrery list clusters
  orrery list gpus
  orrery list fabrics
  orrery list strategies
  orrery list scenarios
  orrery list profiles
  orrery list keys)";

List list_models() {
    Records all({{"model"},
                 {"parameters", "", format_count},
                 {"layers"},
                 {"hidden"},
                 {"heads"},
                 {"kv_heads", "KV heads"},
                 {"mlp", "MLP"},
                 {"gated"},
                 {"vocabulary"},
                 {"family"}});
    for (const models::ModelSpec& m : models::catalog())
        all.row({m.name, static_cast<double>(models::parameters(models::build(m))), m.layers, m.hidden, m.heads,
                 m.kv_heads, m.ffn, m.gated, m.vocab, models::name(m.family)});
    return {std::move(all),
            "\nAny other: \"model\": {\"hugging_face\": \"path/to/config.json\"}, or its hyper-parameters in the "
            "scenario.\nThe papers behind the shipped ones are cited in models/gpt.cpp, llama.cpp and bert.cpp.\n"};
}

/// "400 Gb/s".
std::string gigabits(double bytes_per_second) { return fmt::format("{:.0f} Gb/s", bytes_per_second * 8 / 1e9); }

List list_clusters() {
    Records all({{"cluster"},
                 {"nodes"},
                 {"nodes_at_most", "at most"},
                 {"gpu", "GPU"},
                 {"gpus_per_node", "a node"},
                 {"nic_bytes_per_second", "NIC rate", gigabits},
                 {"what"},
                 {"source"}});
    for (const topology::Preset& preset : topology::presets()) {
        topology::ClusterSpec spec;
        spec.preset = preset.name;
        const topology::Cluster cluster = topology::build(spec);
        const double nic = cluster.nic_bytes_per_second();
        all.row({preset.name, preset.default_nodes, preset.max_nodes, cluster.gpu().name, cluster.gpus_per_node(),
                 nic > 0 ? Value(nic) : Value(), preset.summary, preset.source});
    }
    return {std::move(all)};
}

List list_fabrics() {
    Records all({{"fabric"}, {"keys", "keys of the cluster"}, {"what"}, {"source"}});
    for (const topology::FabricKind& kind : topology::fabric_kinds())
        all.row({kind.name, kind.keys, kind.summary, kind.source});
    return {std::move(all),
            "\nEvery preset but the reference architectures takes them: \"cluster\": {\"preset\": \"dgx-h100\", "
            "\"fabric\": \"dragonfly\"}.\n"};
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
        case Kind::nested: return std::string(key.form);
        default: return "text";
    }
}

List list_strategies() {
    Records all({{"key"}, {"values"}, {"what"}, {"source"}});
    for (const documents::Key& key : scenarios::section(scenarios::Place::strategy).keys)
        all.row({key.name, values_of(key), key.help, key.origin});
    return {std::move(all)};
}

/// Nothing where the GPU does not offer it.
Value offered(double rate) { return rate > 0 ? Value(rate) : Value(); }

List list_gpus() {
    const auto teraflops = [](double flops) { return fmt::format("{:.4g}", flops / 1e12); };
    const auto gigabytes = [](double rate) { return fmt::format("{:.4g} GB/s", rate / 1e9); };
    Records all({{"gpu", "GPU"},
                 {"memory_bytes", "memory", format_bytes},
                 {"bytes_per_second", "bandwidth", gigabytes},
                 {"fp32_flops", "fp32", teraflops},
                 {"tf32_flops", "tf32", teraflops},
                 {"half_flops", "16 bits", teraflops},
                 {"fp8_flops", "fp8", teraflops},
                 {"fp4_flops", "fp4", teraflops},
                 {"profile"}});
    const std::vector<std::string> shipped = calibrate::ProfileStore::shipped();
    const auto profile_of = [&](const hardware::Gpu& gpu) {
        return std::ranges::find(shipped, gpu.profile) != shipped.end() ? Value(gpu.profile) : Value();
    };
    for (const hardware::Gpu& gpu : hardware::gpus())
        all.row({gpu.name, gpu.memory_bytes, offered(gpu.memory_bytes_per_second), offered(gpu.fp32_flops),
                 offered(gpu.tf32_flops), offered(gpu.half_flops), offered(gpu.fp8_flops), offered(gpu.fp4_flops),
                 profile_of(gpu)});
    return {
        std::move(all),
        "\nDense peaks of the datasheets in TFLOP/s. Shorter names are known too: H100, A100-80GB. Without a profile: "
        "none is shipped.\n"};
}

List list_profiles() {
    Records all({{"profile"}, {"tables"}, {"device"}, {"made_by", "made by"}});
    calibrate::ProfileStore store;
    for (const std::string& name : calibrate::ProfileStore::shipped()) {
        const calibrate::Profile& p = store.find(name).profile();
        all.row({name, p.gemm.size() + p.attention.size() + p.pointwise.size() + p.collectives.size(), p.device,
                 p.made_by});
    }
    return {std::move(all), "\n`orrery profile show NAME` names every table's source.\n"};
}

/// A text of a document; "" where it has none. Scenarios of one's own folder are not checked for being listed.
std::string text_at(const nlohmann::json& document, const char* key) {
    const bool has = document.is_object() && document.contains(key) && document.at(key).is_string();
    return has ? document.at(key).get<std::string>() : "";
}

List list_scenarios() {
    Records all({{"scenario"}, {"title"}, {"description", "where it comes from"}});
    for (const std::filesystem::path& file : scenarios::shipped_files()) {
        const nlohmann::json document = documents::read_document(file, documents::commented);
        all.row({scenarios::shipped_name(file), text_at(document, "name"), text_at(document, "description")});
    }
    return {std::move(all), fmt::format("\nTheir files are in {}.\n", data_folder().string())};
}

List list_keys() {
    const auto plain = [](std::string text) {
        std::erase(text, '`');
        return text;
    };
    Records all({{"key"}, {"values"}, {"when_absent", "when absent"}, {"what"}, {"elsewhere"}});
    for (const scenarios::KeyWords& key : scenarios::keys_in_words())
        all.row({key.object.empty() ? key.key : key.object + '.' + key.key, plain(key.values), key.when_absent,
                 plain(key.meaning), plain(key.elsewhere)});
    return {std::move(all)};
}

void add(CLI::App& command, const char* name, const char* what, List (*list)()) {
    CLI::App* const sub = command.add_subcommand(name, what);
    const auto format = std::make_shared<FormatOption>();
    format->add_to(*sub, "a line an entry");
    sub->callback([list, format] { show(list(), *format); });
    sub->footer(fmt::format("Examples:\n  orrery list {0}\n  orrery list {0} --format csv", name));
}

void add_keys(CLI::App& command) {
    struct Options {
        FormatOption format;
        bool markdown = false;
    };
    CLI::App* const keys = command.add_subcommand("keys", "keys of a scenario with their values and meanings");
    const auto options = std::make_shared<Options>();
    options->format.add_to(*keys, "a line a key");
    keys->add_flag("--markdown", options->markdown, "as Markdown: docs/scenario.md");
    keys->callback([options] {
        require_distinct({options->format.path(), options->markdown ? "-" : ""}, {});
        options->markdown ? print(scenarios::key_reference()) : show(list_keys(), options->format);
    });
    keys->footer("Examples:\n  orrery list keys\n  orrery list keys --markdown | grep sequence");
}

}  // namespace

void add_list(CLI::App& program, Exit&) {
    CLI::App* const command = program.add_subcommand("list", "list what a scenario can name");
    command->require_subcommand(1);
    command->footer(list_footer);
    add(*command, "models", "shipped models with their sizes", list_models);
    add(*command, "clusters", "cluster presets with their sources", list_clusters);
    add(*command, "gpus", "kinds of GPU with their datasheets' rates", list_gpus);
    add(*command, "fabrics", "kinds of fabric between the nodes with their parameters and sources", list_fabrics);
    add(*command, "strategies", "keys of a scenario's strategy with their values and sources", list_strategies);
    add(*command, "scenarios", "shipped scenarios, which commands take by name", list_scenarios);
    add(*command, "profiles", "shipped profiles of measured kernels and collectives", list_profiles);
    add_keys(*command);
}

}  // namespace orrery::cli
