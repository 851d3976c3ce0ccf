#include "cli/program.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "base/interrupt.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "cli/completion.hpp"

namespace orrery::cli {

namespace {

Exit complain(const std::string& name, const std::string& message, Exit exit) {
    print_error(name, message);
    return exit;
}

/// Text that was not written, because the disk is full or the reader has gone, is no success.
Exit flushed(const std::string& name, Exit exit) {
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return exit;
    return complain(
        name,
        "standard output could not be written to its end\n  hint: did its reader end before, or is its disk "
        "full? a file named with --json or > keeps it all",
        Exit::run_failure);
}

/// "orrery calibrate": the command that the words reached.
std::pair<const CLI::App*, std::string> reached(const CLI::App& program) {
    const CLI::App* command = &program;
    std::string words = program.get_name();
    while (!command->get_subcommands().empty()) {
        command = command->get_subcommands().front();
        words += ' ' + command->get_name();
    }
    return {command, words};
}

/// A word where a command is expected, and is none; an empty one otherwise. The parser itself only says that a
/// subcommand is missing, or that a word is one too many.
std::string unknown_command(const CLI::App& command) {
    const bool takes_commands = !command.get_subcommands([](const CLI::App*) { return true; }).empty();
    const bool takes_words = !command.get_options([](const CLI::Option* o) { return o->get_positional(); }).empty();
    if (!takes_commands || takes_words) return "";
    const std::vector<std::string> left = command.remaining();
    const auto word = std::ranges::find_if(left, [](const std::string& each) { return !each.starts_with('-'); });
    return word == left.end() ? "" : *word;
}

/// The commands below this one that look most like the word.
std::string nearest_command(const CLI::App& command, std::string_view word) {
    std::vector<std::string_view> names;
    for (const CLI::App* each : command.get_subcommands([](const CLI::App*) { return true; }))
        names.push_back(each->get_name());
    return nearest(word, names, 1).front();
}

/// The first word that looks like an option, of those that the command did not know; "" for none.
std::string unknown_option(const CLI::App& command) {
    for (const std::string& word : command.remaining())
        if (word.starts_with("--")) return word.substr(0, word.find('='));
    return "";
}

std::string nearest_options(const CLI::App& command, std::string_view word) {
    std::vector<std::string> names;
    for (const CLI::Option* option : command.get_options())
        for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    const std::vector<std::string_view> views(names.begin(), names.end());
    return fmt::format("{}", fmt::join(nearest(word, views), ", "));
}

std::string explained(const CLI::App& program, const CLI::ParseError& error) {
    const auto [command, words] = reached(program);
    if (const std::string word = unknown_command(*command); !word.empty()) {
        const std::string shown = word.substr(0, 64);
        return fmt::format("\"{}\" is no command\n  hint: the nearest is `{} {}`; {} --help shows all of them", shown,
                           words, nearest_command(*command, shown), words);
    }
    if (const std::string option = unknown_option(*command); !option.empty())
        return fmt::format("{} is no option of {}\n  hint: the nearest are {}; {} --help shows all of them",
                           option.substr(0, 64), words, nearest_options(*command, option.substr(0, 64)), words);
    return fmt::format("{}\n  hint: {} --help shows what there is", error.what(), words);
}

/// Help and version come as exceptions too: they are no errors.
Exit parse_error(const CLI::App& program, const CLI::ParseError& error) {
    const std::string& name = program.get_name();
    if (error.get_exit_code() != 0) return complain(name, explained(program, error), Exit::bad_input);
    program.exit(error);
    return flushed(name, Exit::done);
}

}  // namespace

void print_error(std::string_view program, std::string_view message) {
    const char* const word = wants_color(Stream::err) ? "\x1b[1;31merror:\x1b[0m" : "error:";
    say(fmt::format("{}: {} {}\n", program, word, message));
}

Exit run_program(CLI::App& program, Exit& exit, int argc, const char* const* argv) {
    const std::string name = program.get_name();
    (void)std::signal(SIGPIPE, SIG_IGN);  // a reader that has gone is an error like others
    add_completion(program);
    try {
        program.parse(argc, argv);
        return flushed(name, exit);
    } catch (const CLI::ParseError& error) {
        return parse_error(program, error);
    } catch (const Error& error) {
        return complain(name, error.what(), Exit::bad_input);
    } catch (const Interrupted& interrupted) {
        say(fmt::format("{}: {}\n", name, interrupted.what()));
        return Exit::interrupted;
    } catch (const std::bad_alloc&) {
        return complain(name, "out of memory", Exit::run_failure);
    } catch (const std::exception& error) {
        return complain(name, error.what(), Exit::run_failure);
    }
}

}  // namespace orrery::cli
