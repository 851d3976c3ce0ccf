// orrery init: a scenario file to begin with.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/interview.hpp"
#include "cli/options.hpp"
#include "report/json.hpp"
#include "scenarios/commented.hpp"
#include "scenarios/request.hpp"

namespace orrery::cli {

namespace {

struct InitOptions {
    std::string file = "scenario.json";
    scenarios::UsualKeys keys;
    bool force = false;
};

constexpr const char* init_footer =
    R"(On a terminal and without options it asks. The file says what each key means, and runs as it is.
Examples:
  orrery init my-step.json --model llama3-8b --cluster dgx-h100 --gpus 64 --global-batch 128 --seq-length 8192
  orrery simulate my-step.json
  orrery init - --model gpt2 --cluster dgx-a100 --gpus 8 --global-batch 64 --seq-length 1024 --tensor 2)";

/// Keys in the order of the sections of a scenario; those that nearly everybody changes are written out.
nlohmann::ordered_json document_of(const nlohmann::json& given, const nlohmann::ordered_json& resolved) {
    nlohmann::ordered_json document;
    for (const char* section : {"name", "model", "cluster", "strategy", "outputs", "training"})
        if (given.contains(section) || std::string_view(section) == "strategy")
            document[section] = given.value(section, nlohmann::json::object());
    const auto write_out = [&](const char* section, const char* key) {
        if (!document[section].contains(key)) document[section][key] = resolved.at(section).at(key);
    };
    write_out("strategy", "tensor");
    write_out("strategy", "pipeline");
    write_out("training", "micro_batch_size");
    return document;
}

/// Paths of a command line are relative to the current folder, those of a file to the file's.
void place_paths(nlohmann::json& document, const std::string& file) {
    if (file == "-" || !document["model"].contains("hugging_face")) return;
    const std::filesystem::path named = document["model"]["hugging_face"].get<std::string>();
    if (named.is_relative())
        document["model"]["hugging_face"] =
            std::filesystem::proximate(named, std::filesystem::absolute(file).parent_path()).string();
}

void init(const InitOptions& options) {
    const bool exists = options.file != "-" && std::filesystem::exists(options.file);
    if (exists && !options.force)
        throw Error(options.file, "", "exists", "--force writes over it; or name another file");
    Output out(options.file);
    scenarios::Request request;
    request.keys = options.keys;
    if (!request.keys.given()) {
        if (isatty(STDIN_FILENO) == 0)
            throw Error("nothing is said of the scenario, and nobody is there to be asked",
                        "--model llama3-8b --cluster dgx-h100 --gpus 64 --global-batch 128 --seq-length 8192");
        ask(request.keys, std::cin, std::cerr);
    }
    nlohmann::json given = request.document();
    const nlohmann::ordered_json resolved = report::resolved(request.load());
    place_paths(given, options.file);
    out.write(scenarios::commented(document_of(given, resolved), resolved));
    out.finish();
    if (!out.to_stdout()) print(fmt::format("{}: orrery simulate {}\n", options.file, shell_word(options.file)));
}

}  // namespace

void add_init(CLI::App& program, Exit&) {
    CLI::App* const command = program.add_subcommand("init", "write a scenario file that says what its keys mean");
    const auto options = std::make_shared<InitOptions>();
    command->add_option("FILE", options->file, "scenario to write; - for standard output")->capture_default_str();
    command->add_flag("--force", options->force, "write over a file that exists");
    for (const scenarios::UsualKeys::Key& key : scenarios::UsualKeys::all()) {
        const auto take = [options, name = key.name](const std::string& value) { options->keys.set(name, value); };
        command->add_option_function<std::string>(fmt::format("--{}", key.name), take, key.help)->type_name("");
    }
    command
        ->add_option_function<std::uint32_t>(
            "--gpus", [options](const std::uint32_t& gpus) { options->keys.set_gpus(gpus); },
            "GPUs, in whole nodes, or a part of one")
        ->type_name("")
        ->check(CLI::Range(1U, 100'000'000U));
    command->footer(init_footer);
    command->callback([options] { init(*options); });
}

}  // namespace orrery::cli
