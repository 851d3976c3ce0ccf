#include <CLI/CLI.hpp>
#include <array>

#include "cli/command.hpp"
#include "cli/program.hpp"
#include "sim/version.hpp"

namespace orrery::cli {

namespace {

constexpr std::array<AddCommand, 20> table{add_simulate, add_explain,   add_placement, add_partition, add_sweep,
                                           add_merge,    add_search,    add_capacity,  add_topology,  add_collective,
                                           add_run,      add_compare,   add_diff,      add_validate,  add_list,
                                           add_profile,  add_calibrate, add_import,    add_init,      add_export};

constexpr const char* run_footer = R"(Examples:
  orrery simulate scenarios/gpt3-175b-superpod-a100.json
  orrery simulate scenarios/gpt3-175b-superpod-a100.json --set strategy.tensor=4 --set strategy.pipeline=16
  orrery list models

Exit codes: 0 done; 1 does not fit or is not met, when asked to check; 2 bad input; 3 the run failed; 130
interrupted.
Environment: ORRERY_DATA names the folder of the shipped data, which holds profiles/ (share/orrery/scenarios beside the
program when not set); NO_COLOR turns colours off; COLUMNS is the width of tables.
`orrery COMMAND --help` explains a command.)";

}  // namespace

std::span<const AddCommand> commands() { return table; }

Exit run(int argc, const char* const* argv) {
    Exit exit = Exit::done;
    CLI::App program("Predicts the time, memory and efficiency of training large models on clusters of GPUs.",
                     "orrery");
    program.set_version_flag("--version", "orrery " + sim::version());
    program.footer(run_footer);
    program.require_subcommand(1);
    for (const AddCommand add : commands()) add(program, exit);
    return run_program(program, exit, argc, argv);
}

}  // namespace orrery::cli
