#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <exception>
#include <new>
#include <string>

#include "base/terminal.hpp"
#include "cli/command.hpp"
#include "sim/version.hpp"

namespace orrery::cli {

namespace {

constexpr std::array<AddCommand, 6> table{add_simulate, add_explain, add_validate, add_topology, add_list, add_profile};

constexpr const char* footer = R"(Examples:
  orrery simulate scenarios/gpt3-175b-superpod-a100.json
  orrery simulate scenarios/gpt3-175b-superpod-a100.json --set strategy.tensor=4 --set strategy.pipeline=16
  orrery list models

Exit codes: 0 done; 1 does not fit, when asked to check; 2 bad input; 3 the run failed.
`orrery COMMAND --help` explains a command.)";

Exit complain(const std::string& message, Exit exit) {
    const char* const word = wants_color(Stream::err) ? "\x1b[1;31merror:\x1b[0m" : "error:";
    fmt::print(stderr, "orrery: {} {}\n", word, message);
    return exit;
}

/// Text that was not written, because the disk is full or the reader has gone, is no success.
Exit flushed(Exit exit) {
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return exit;
    return complain("standard output could not be written", Exit::run_failure);
}

/// Help and version come as exceptions too: they are no errors.
Exit parse_error(const CLI::App& program, const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {
        program.exit(error);
        return flushed(Exit::done);
    }
    return complain(
        std::string(error.what()) + "\n  hint: orrery --help, or orrery COMMAND --help, shows what there is",
        Exit::bad_input);
}

}  // namespace

std::span<const AddCommand> commands() { return table; }

Exit run(int argc, const char* const* argv) {
    Exit exit = Exit::done;
    CLI::App program("Predicts the time, memory and efficiency of training large models on clusters of GPUs.",
                     "orrery");
    try {
        program.set_version_flag("--version", "orrery " + sim::version());
        program.footer(footer);
        program.require_subcommand(1);
        for (const AddCommand add : commands()) add(program, exit);
        program.parse(argc, argv);
        return flushed(exit);
    } catch (const CLI::ParseError& error) {
        return parse_error(program, error);
    } catch (const Error& error) {
        return complain(error.what(), Exit::bad_input);
    } catch (const std::bad_alloc&) {
        return complain("out of memory", Exit::run_failure);
    } catch (const std::exception& error) {
        return complain(error.what(), Exit::run_failure);
    }
}

}  // namespace orrery::cli
