#include "cli/program.hpp"

#include <fmt/format.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <string>

#include "base/interrupt.hpp"
#include "base/terminal.hpp"

namespace orrery::cli {

namespace {

Exit complain(const std::string& name, const std::string& message, Exit exit) {
    const char* const word = wants_color(Stream::err) ? "\x1b[1;31merror:\x1b[0m" : "error:";
    fmt::print(stderr, "{}: {} {}\n", name, word, message);
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

/// Help and version come as exceptions too: they are no errors.
Exit parse_error(const CLI::App& program, const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {
        program.exit(error);
        return flushed(program.get_name(), Exit::done);
    }
    const std::string& name = program.get_name();
    return complain(
        name, fmt::format("{}\n  hint: {} --help, or {} COMMAND --help, shows what there is", error.what(), name, name),
        Exit::bad_input);
}

}  // namespace

Exit run_program(CLI::App& program, Exit& exit, int argc, const char* const* argv) {
    const std::string name = program.get_name();
    (void)std::signal(SIGPIPE, SIG_IGN);  // a reader that has gone is an error like others
    try {
        program.parse(argc, argv);
        return flushed(name, exit);
    } catch (const CLI::ParseError& error) {
        return parse_error(program, error);
    } catch (const Error& error) {
        return complain(name, error.what(), Exit::bad_input);
    } catch (const Interrupted& interrupted) {
        fmt::print(stderr, "{}: {}\n", name, interrupted.what());
        return Exit::interrupted;
    } catch (const std::bad_alloc&) {
        return complain(name, "out of memory", Exit::run_failure);
    } catch (const std::exception& error) {
        return complain(name, error.what(), Exit::run_failure);
    }
}

}  // namespace orrery::cli
