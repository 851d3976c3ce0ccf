// The commands of `orrery`: one function a command, one file each.
#pragma once

#include <span>

#include "base/error.hpp"

namespace CLI {
class App;
}

namespace orrery::cli {

class Ranks;

/// Adds one command to the program. When the user chooses it, parsing runs it: it sets `exit` for an answer that is
/// no error (a scenario that does not fit, under --check) and throws Error for bad input.
using AddCommand = void (*)(CLI::App& program, Exit& exit);

void add_simulate(CLI::App& program, Exit& exit);
void add_run(CLI::App& program, Exit& exit);
void add_compare(CLI::App& program, Exit& exit);
void add_diff(CLI::App& program, Exit& exit);
void add_explain(CLI::App& program, Exit& exit);
void add_collective(CLI::App& program, Exit& exit);
void add_validate(CLI::App& program, Exit& exit);
void add_placement(CLI::App& program, Exit& exit);
void add_partition(CLI::App& program, Exit& exit);
void add_sweep(CLI::App& program, Exit& exit);
void add_merge(CLI::App& program, Exit& exit);
void add_search(CLI::App& program, Exit& exit);
void add_topology(CLI::App& program, Exit& exit);
void add_list(CLI::App& program, Exit& exit);
void add_profile(CLI::App& program, Exit& exit);
void add_calibrate(CLI::App& program, Exit& exit);
void add_capacity(CLI::App& program, Exit& exit);
void add_import(CLI::App& program, Exit& exit);
void add_init(CLI::App& program, Exit& exit);
void add_export(CLI::App& program, Exit& exit);

/// The same, shared among the ranks of a job; `ranks` must outlive the program.
void add_sweep(CLI::App& program, Ranks& ranks);
void add_search(CLI::App& program, Ranks& ranks);

/// All commands, in the order of the help text.
std::span<const AddCommand> commands();

/// Parses the command line and runs the command. Everything that goes wrong becomes a message on stderr and an exit
/// code; nothing is thrown.
Exit run(int argc, const char* const* argv);

}  // namespace orrery::cli
