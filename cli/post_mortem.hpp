// Why a run failed, from what its ranks left behind.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "cli/watchdog.hpp"
#include "run/plan_file.hpp"

namespace orrery::cli {

/// Who started the ranks: mpirun on this host, mpirun on the hosts of a file, or the job that this process is a rank
/// of.
enum class Started : std::uint8_t { here, on_hosts, by_job };

/// Which rank failed first, on which host, in which step and at which operation, what to do, and what of the run is
/// left. progress: the folder of the ranks' records; steps: the log of measured steps; stall: why the run was ended,
/// if for that. Where ranks on other hosts left no record here, that is said, and what they wrote themselves counts.
std::string post_mortem(const run::RunPlan& plan, const std::filesystem::path& progress,
                        const std::filesystem::path& steps, Started started,
                        const std::optional<Stall>& stall = std::nullopt);

}  // namespace orrery::cli
