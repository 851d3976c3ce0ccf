// A rank does not outlive the launcher that started it for `orrery`.
#pragma once

namespace orrery::cli {

/// Where `orrery` had this program started by a launcher (mpirun): ends the process at once when the launcher is gone,
/// killed for one. `orrery` itself is watched already (cli/spawn.hpp), and a program that a user started is left alone.
/// For main, before there are other threads.
void end_with_launcher();

}  // namespace orrery::cli
