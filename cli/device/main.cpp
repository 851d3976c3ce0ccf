#include <CLI/CLI.hpp>

#include "cli/device/commands.hpp"
#include "cli/device/launcher.hpp"
#include "cli/program.hpp"

int main(int argc, char** argv) {
    using namespace orrery;
    cli::end_with_launcher();
    Exit exit = Exit::done;
    CLI::App program(
        "Measures devices and executes plans for `orrery`, which starts it. Runs alone too, under mpirun or srun for "
        "several "
        "ranks.",
        "orrery-device");
    program.set_version_flag("--version", "orrery-device " ORRERY_VERSION);
    program.require_subcommand(1);
    program.footer(
        "Examples:\n"
        "  orrery-device list\n"
        "  orrery-device calibrate --device cuda:0 --out node.json\n"
        "  mpirun -n 8 orrery-device calibrate --device cuda --suite collective --out nvlink.json\n\n"
        "Exit codes: 0 done; 1 outside the tolerance, when asked to check; 2 bad input; 3 the device or the run "
        "failed.");
    cli::add_device_calibrate(program, exit);
    cli::add_device_run(program, exit);
    cli::add_device_network(program, exit);
    cli::add_device_check(program, exit);
    cli::add_device_list(program, exit);
    return static_cast<int>(cli::run_program(program, exit, argc, argv));
}
