// How this process was started among others, read from the variables that launchers set.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace orrery::kernels {

struct Processes {
    std::uint32_t rank = 0, ranks = 1;
    std::uint32_t local_rank = 0;  ///< among the processes of this host: which GPU is this one's
    std::string address;           ///< where rank 0 listens: host name or IP address
    std::uint16_t port = 0;
    std::string secret{};  ///< that ranks of one job share, so that nobody else joins; empty: none
};

/// The variable that holds a job's secret; `orrery` makes one for the ranks that it starts.
inline constexpr const char* secret_variable = "ORRERY_SECRET";

/// Value of an environment variable; none when it is not set.
using Environment = std::function<std::optional<std::string>(const char*)>;
/// Of this process.
std::optional<std::string> environment(const char* name);

/// torchrun (RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR, MASTER_PORT), Slurm's srun (SLURM_PROCID, SLURM_STEP_NUM_TASKS,
/// ...) or Open MPI's mpirun (OMPI_COMM_WORLD_RANK, ...), in this order. MASTER_ADDR and MASTER_PORT win over what
/// Slurm and mpirun imply. None when started alone. Throws Error for values that are no numbers, a rank beyond the
/// ranks, or several hosts under mpirun without MASTER_ADDR. The secret is ORRERY_SECRET's value.
std::optional<Processes> processes(const Environment& environment);

/// The first host of Slurm's compressed list: "gpu-[003-006,9],login" gives "gpu-003".
std::string first_host(const std::string& list);

}  // namespace orrery::kernels
