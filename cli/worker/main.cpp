#include <CLI/CLI.hpp>

#include "base/interrupt.hpp"
#include "cli/command.hpp"
#include "cli/program.hpp"
#include "cli/worker/mpi_ranks.hpp"
#include "sim/version.hpp"

namespace {

constexpr const char* footer =
    R"(Rank 0 asks, keeps the log and writes the outputs; all ranks simulate, one thread each unless --threads says
otherwise, and take the next work as they finish. The outputs have the same bytes as those of `orrery`. A job that was
killed, or lost a rank, goes on from the log with the same command.
Examples:
  mpirun -n 2 orrery-worker search scenarios/gpt-1.7b-dgx-a100.json --fix strategy.tensor=2 --json plans.json
  srun --mpi=pmix orrery-worker sweep scenarios/gpt-1.7b-dgx-a100.json --vary gpus=8..64x2 --csv points.csv)";

int run(orrery::kernels::PostOffice& office, int argc, char** argv) {
    using namespace orrery;
    // The others wait until the leader has found the command to be right: an error is said once.
    if (office.rank() > 0 && worker::letter_of(office.wait()) == worker::Letter::finished) return 0;
    worker::MpiRanks ranks(office);
    Exit exit = Exit::done;
    CLI::App program("Sweeps and searches, shared among the ranks of an MPI job.", "orrery-worker");
    program.set_version_flag("--version", "orrery-worker " + sim::version());
    program.footer(footer);
    program.require_subcommand(1);
    cli::add_sweep(program, ranks);
    cli::add_search(program, ranks);
    return static_cast<int>(cli::run_program(program, exit, argc, argv));
}

}  // namespace

int main(int argc, char** argv) {
    orrery::end_when_interrupted("orrery-worker");
    orrery::kernels::PostOffice office;
    return run(office, argc, argv);
}
