// orrery import: scenarios from launch scripts and configuration files of other programs.
#include "doors/import.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>

#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/import_chakra.hpp"
#include "cli/import_trace.hpp"
#include "cli/options.hpp"
#include "cli/program.hpp"

namespace orrery::cli {

namespace {

struct ImportOptions {
    doors::Request request;
    std::vector<std::string> arguments, defines, set;
    std::string out = "-";
    bool strict = false;
};

constexpr const char* import_footer =
    R"(What has no effect on time or memory is listed; what has one and is not modelled is noted, each with its place.
Examples:
  orrery import megatron doors/examples/gpt-1.7b.sh --cluster dgx-a100 --out train.json
  orrery import megatron doors/examples/gpt-1.7b.sh --gpu H100 --define NNODES=8 -- --micro-batch-size 8
  orrery import torchtitan doors/examples/llama3-8b.toml --cluster dgx-h100 --out llama.json
  orrery import maxtext --cluster tpu-v5p --gpus 64 -- model_name=llama2-70b remat_policy=minimal
  orrery import nemo doors/examples/gpt3-5b.yaml --cluster dgx-a100 --set strategy.recompute=selective --strict
)"
    "  orrery import deepspeed doors/examples/ds_zero2.json --gpu A100 --gpus 64 --set training.seq_length=2048 "
    "--model scenarios/models/llama2-7b.json\n"
    "  orrery import hf scenarios/models/llama3-8b.json --gpu H100 --gpus 64 --set training.seq_length=8192 "
    "--set training.global_batch_size=128";

/// NAME=VALUE, each once.
std::map<std::string, std::string> definitions(const std::vector<std::string>& texts) {
    std::map<std::string, std::string> all;
    for (const std::string& text : texts) {
        const std::size_t equals = text.find('=');
        if (equals == 0 || equals == std::string::npos)
            throw Error(fmt::format("--define {}: is no definition", text), "write NAME=VALUE, as in NNODES=16");
        if (!all.try_emplace(text.substr(0, equals), text.substr(equals + 1)).second)
            throw Error(fmt::format("--define {}: is a second value of this name", text), "give each name one value");
    }
    return all;
}

/// A flag, or KEY=VALUE that names no file.
bool is_argument(const std::string& word, const doors::Importer& importer) {
    if (word.starts_with('-')) return true;
    return importer.takes_arguments && word.find('=') != std::string::npos && !std::filesystem::exists(word);
}

doors::Request request_of(const ImportOptions& options, const doors::Importer& importer) {
    doors::Request request = options.request;
    request.arguments = options.arguments;
    request.defines = definitions(options.defines);
    for (const std::string& text : options.set) request.changes.push_back(scenarios::parse_override(text));
    if (is_argument(request.file, importer)) {  // behind --, without a file: all words are
        request.arguments.insert(request.arguments.begin(), request.file);
        request.file.clear();
    }
    if (request.file.empty() && (!importer.takes_arguments || request.arguments.empty()))
        throw Error("there is nothing to import", fmt::format("name a file: {}", importer.summary));
    return request;
}

/// What has no effect, in one line: names in the order of the file, each once.
void note_harmless(const std::string& file, const std::vector<doors::Finding>& findings) {
    std::vector<std::string> names;
    for (const doors::Finding& each : findings)
        if (each.verdict == doors::Verdict::harmless && std::ranges::find(names, each.name) == names.end())
            names.push_back(each.name);
    if (!names.empty()) note(file, fmt::format("no effect on time or memory: {}", join(names)));
}

/// "not modelled: --tp-comm-overlap: ...; compare with a measurement".
std::string note_of(const doors::Finding& finding) {
    const char* const kind = finding.verdict == doors::Verdict::unknown ? "unknown" : "not modelled";
    const std::string name = finding.name.empty() ? "" : finding.name + ": ";
    return fmt::format("{}: {}{}; {}", kind, name, finding.what, finding.remedy);
}

/// Says what there is to say. Errors come last, and the last of them is thrown: it ends the command.
void say(const std::string& file, const std::vector<doors::Finding>& findings, bool strict) {
    note_harmless(file, findings);
    std::vector<Error> errors;
    for (const doors::Finding& each : findings) {
        if (each.verdict == doors::Verdict::harmless) continue;
        if (strict || each.verdict == doors::Verdict::refused)
            errors.push_back(doors::error_of(each));
        else
            note(doors::to_text(each.place), note_of(each));
    }
    if (errors.empty()) return;
    for (std::size_t i = 0; i + 1 < errors.size(); ++i) print_error("orrery", errors[i].what());
    throw errors.back();
}

void import_file(const ImportOptions& options, const doors::Importer& importer) {
    const doors::Request request = request_of(options, importer);
    require_distinct({options.out}, {request.file, request.model});
    Output out(options.out);
    const doors::Imported imported = doors::import_scenario(importer, request);
    say(request.file.empty() ? "arguments" : request.file, imported.findings, options.strict);
    out.write(imported.scenario);
    out.finish();
    if (!out.to_stdout()) print(fmt::format("{}: orrery simulate {}\n", options.out, shell_word(options.out)));
}

void add_format(CLI::App& command, const doors::Importer& importer) {
    CLI::App* const format = command.add_subcommand(std::string(importer.name), std::string(importer.summary));
    const auto options = std::make_shared<ImportOptions>();
    doors::Request& request = options->request;
    format->add_option("FILE", request.file,
                       importer.takes_arguments ? "the file; none for bare arguments" : "the file");
    if (importer.takes_arguments)
        format->add_option("ARGS", options->arguments, "behind --: arguments of the training, after those of the file");
    format->add_option("--out", options->out, "scenario to write; - for standard output, as without it")
        ->type_name("FILE");
    format->add_option("--cluster", request.cluster, "the cluster it runs on: `orrery list clusters`")
        ->type_name("PRESET");
    format->add_option("--gpu", request.gpu, "its GPU; without --cluster in the vendor's usual nodes");
    format->add_option("--gpus", request.gpus, "how many GPUs, where the file does not say or another number is meant")
        ->type_name("N")
        ->check(CLI::Range(1, 1 << 27));
    format
        ->add_option("--model", request.model,
                     "a Hugging Face config.json, or a model of `orrery list models`, in place of the file's")
        ->type_name("MODEL");
    format->add_option("--set", options->set, "a key of the scenario, as in training.seq_length=4096; may be repeated")
        ->type_name("PATH=VALUE")
        ->allow_extra_args(false);
    if (importer.takes_arguments)
        format
            ->add_option("--define", options->defines,
                         "a variable that the script takes from its environment; 1, 2, ... are its arguments")
            ->type_name("NAME=VALUE")
            ->allow_extra_args(false);
    format->add_option("--name", request.name, "title of the scenario; the file's stem without it");
    format->add_flag("--strict", options->strict, "what is unknown or not modelled is an error, not a note");
    format->callback([options, &importer] { import_file(*options, importer); });
    format->footer(import_footer);
}

}  // namespace

void add_import(CLI::App& program, Exit&) {
    CLI::App* const command = program.add_subcommand(
        "import",
        "make a scenario of a launch script or another program's configuration, a measurement of a trace, or "
        "replay one");
    command->require_subcommand(1);
    command->footer(import_footer);
    for (const doors::Importer& importer : doors::importers()) add_format(*command, importer);
    add_import_trace(*command);
    add_import_chakra(*command);
}

}  // namespace orrery::cli
