// Processes that this program had started, by itself or by a launcher, and that stand still.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace orrery::cli {

/// Whether a process of this host is stopped by a signal or a debugger (state T or t of proc(5)).
bool is_stopped(pid_t process);

struct StoppedProcess {
    pid_t process = 0;
    std::optional<std::uint32_t> rank;  ///< by its environment; none: no rank of several, such as the launcher itself
};

/// Those of this host whose environment names `starter` (started_by of cli/spawn.hpp), in no order.
std::vector<StoppedProcess> stopped_processes(pid_t starter);

}  // namespace orrery::cli
