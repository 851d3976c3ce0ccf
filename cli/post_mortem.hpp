// Why a run failed, from what its ranks left behind.
#pragma once

#include <filesystem>
#include <string>

#include "run/plan_file.hpp"

namespace orrery::cli {

/// Which rank failed first, on which host, in which step and at which operation, what to do, and what of the run is
/// left. progress: the folder of the ranks' records; steps: the log of measured steps.
std::string post_mortem(const run::RunPlan& plan, const std::filesystem::path& progress,
                        const std::filesystem::path& steps);

}  // namespace orrery::cli
