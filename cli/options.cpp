#include "cli/options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "base/error.hpp"
#include "base/terminal.hpp"
#include "scenarios/override.hpp"
#include "scenarios/shipped.hpp"

namespace orrery::cli {

namespace {

namespace fs = std::filesystem;

/// A path without links and dots, also of a file that is yet to be written; "" for none and for standard output.
fs::path place(const std::string& path) {
    std::error_code ignored;
    return path.empty() || path == "-" ? fs::path{} : fs::weakly_canonical(fs::absolute(path, ignored), ignored);
}

}  // namespace

ScenarioOptions::ScenarioOptions() {
    remedy =
        "name a file of scenarios/, or a model and a cluster: --model llama3-70b --cluster superpod-h100 --gpus 512 "
        "--tensor 8 --global-batch 512";
}

namespace {

/// Throws Error where --set says another value of a key than its own option does, of a scenario that both change.
void require_agreed(const scenarios::Request& request) {
    if (request.file.empty()) return;  // options make it, and --set changes that
    for (const std::string& text : request.set) {
        const scenarios::Override change = scenarios::parse_override(text);
        const std::string at = pointer_of(change);
        for (const scenarios::Override& said : request.keys.said())
            if (pointer_of(said) == at && said.value != change.value)
                throw Error(fmt::format("--set {}: an option says {}", text, said.value), "give one of them");
        if (request.keys.gpus() > 0 && at == "/cluster/nodes")
            throw Error(fmt::format("--set {}: --gpus says how many nodes there are", text), "give one of them");
    }
}

}  // namespace

void ScenarioOptions::add_to(CLI::App& command, std::initializer_list<std::string_view> taken) {
    command.parse_complete_callback([this] { require_agreed(*this); });
    // A name that is none is refused when it is read: the value of an unknown option may have been taken for it.
    const auto find = [](std::string& named) {
        try {
            named = named == "-" ? "/dev/stdin" : scenarios::file_of(named);
        } catch (const Error&) {
        }
        return std::string();
    };
    command
        .add_option(
            "SCENARIO", file,
            "scenario file (JSON; - is standard input), or name of a shipped one (orrery list scenarios); without "
            "one the keys below make it")
        ->transform(CLI::Validator(find, "", ""));
    command.add_option("--set", set, "override a key of the scenario, as in strategy.tensor=4; may be repeated")
        ->type_name("PATH=VALUE")
        ->allow_extra_args(false);
    add_keys_to(command, taken);
}

void ScenarioOptions::add_keys_to(CLI::App& command, std::initializer_list<std::string_view> taken) {
    const std::string group = "Keys of the scenario, for which --set is not needed";
    const auto is_free = [&](std::string_view option) { return std::ranges::find(taken, option) == taken.end(); };
    for (const scenarios::UsualKeys::Key& key : scenarios::UsualKeys::all()) {
        const std::string option = fmt::format("--{}", key.name);
        if (!is_free(option)) continue;
        const auto take = [this, name = key.name](const std::string& value) { keys.set(name, value); };
        command.add_option_function<std::string>(option, take, key.help)->type_name("")->group(group);
    }
    if (!is_free("--gpus")) return;
    const auto take = [this](const std::uint32_t& gpus) { keys.set_gpus(gpus); };
    command.add_option_function<std::uint32_t>("--gpus", take, "GPUs, in whole nodes, or a part of one")
        ->type_name("")
        ->check(CLI::Range(1U, 100'000'000U))
        ->group(group);
}

void DisplayOptions::add_to(CLI::App& command) {
    command.add_flag("--quiet,-q", quiet, "print no report and no progress; files are written");
    command.add_flag("--no-color", no_color, "print without colours (as does NO_COLOR in the environment)");
}

report::Style DisplayOptions::style() const {
    return {.color = !no_color && wants_color(Stream::out), .columns = text_columns(Stream::out)};
}

Output::Output(const std::string& path) : to_stdout_(path == "-") {
    if (!path.empty() && !to_stdout_) file_.emplace(path);
}

void Output::write(std::string_view text) {
    if (to_stdout_) print(text);
    if (file_) file_->write(text);
}

void Output::complete() {
    if (file_) file_->complete();
}

void Output::finish() {
    if (file_) file_->commit();
}

void finish_all(std::initializer_list<Output*> outputs) {
    for (Output* output : outputs) output->complete();
    for (Output* output : outputs) output->finish();
}

void require_distinct(const std::vector<std::string>& outputs, const std::vector<std::string>& inputs) {
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        if (outputs[i].empty()) continue;
        for (std::size_t j = i + 1; j < outputs.size(); ++j)
            if (outputs[i] == outputs[j] || (!place(outputs[i]).empty() && place(outputs[i]) == place(outputs[j])))
                throw Error(fmt::format("two outputs are to go to \"{}\"", outputs[i]), "give each a file of its own");
        for (const std::string& input : inputs)
            if (!place(outputs[i]).empty() && place(outputs[i]) == place(input))
                throw Error(outputs[i], "", "is read and would be overwritten", "name another output file");
    }
}

void note(const std::string& file, std::string_view text) { say(fmt::format("orrery: note: {}: {}\n", file, text)); }

void print(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); }

}  // namespace orrery::cli
