// What every program of the project does around its commands: help, messages on stderr, exit codes.
#pragma once

#include <string_view>

#include "base/error.hpp"

namespace CLI {
class App;
}

namespace orrery::cli {

/// "orrery: error: ..." on stderr, in colour where that is welcome.
void print_error(std::string_view program, std::string_view message);

/// Parses the command line, which runs the chosen command. Everything that goes wrong becomes a message on stderr and
/// an exit code; nothing is thrown. exit: what the command sets for an answer that is no error.
Exit run_program(CLI::App& program, Exit& exit, int argc, const char* const* argv);

}  // namespace orrery::cli
