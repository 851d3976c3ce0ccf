// How ranks are started by mpirun: those of a run as those of a calibration, so that one is measured as the other runs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace orrery::cli {

struct Launch {
    std::uint32_t ranks = 1;
    std::string hosts;              ///< an Open MPI host file; empty: this host
    std::uint32_t threads = 1;      ///< a rank's
    std::uint32_t cores = 1;        ///< of this host
    bool bound = true;              ///< ranks to cores: not where a GPU's host threads need room
    bool allocated = false;         ///< inside a Slurm allocation (salloc, sbatch): mpirun takes its hosts
    bool root = false;              ///< of the user: mpirun refuses root without being told
    std::vector<std::string> more;  ///< words for mpirun
};

/// Whether ranks may run on hosts that share no files with this one.
bool elsewhere(const Launch& launch);

/// Ranks on this host, or in the allocation that this process is in, by this user, each with a device such as "cpu:4"
/// (four threads). Throws Error for its number.
Launch launch_here(std::uint32_t ranks, const std::string& device);

/// From now on the programs that this one starts, and their ranks, share a secret (kernels::secret_variable) that they
/// know each other by; a fresh one unless the user gave one.
void share_secret();

/// The words before the program: empty for one rank on this host. Every rank is bound to cores of its own where there
/// are enough of them.
std::vector<std::string> launcher_words(const Launch& launch);

/// How many hosts a host file names. Throws Error for one that cannot be read, is empty, or has lines that are no
/// "host [slots=N]".
std::uint32_t count_hosts(const std::string& file);

}  // namespace orrery::cli
