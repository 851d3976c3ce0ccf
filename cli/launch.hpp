// How the ranks of a run are started: by mpirun, or by whoever started this process.
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
    bool root = false;              ///< of the user: mpirun refuses root without being told
    std::vector<std::string> more;  ///< words for mpirun
};

/// The words before the program: empty for one rank on this host. Every rank is bound to cores of its own where there
/// are enough of them; where ranks share cores they give way to each other when they wait.
std::vector<std::string> launcher_words(const Launch& launch);

/// Throws Error for a host file that cannot be read, is empty, or has lines that are no "host [slots=N]".
void check_hosts(const std::string& file);

}  // namespace orrery::cli
