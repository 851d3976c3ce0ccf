// Trains for some steps and times every operation.
#pragma once

#include <functional>

#include "run/measured.hpp"
#include "run/plan_file.hpp"
#include "run/progress.hpp"

namespace orrery::run {

/// The plan whose program is executed: where steps follow each other without a flush, all of the run's are one.
RunPlan in_one_window(RunPlan plan);

struct MeasureHooks {
    Progress* progress = nullptr;  ///< kept up to date when given
    /// After each step, on every rank: number from 0, seconds on this rank, loss over all ranks.
    std::function<void(std::uint32_t, const MeasuredStep&)> on_step = nullptr;
    bool steps_only = false;  ///< operations are not timed (Executor::time_steps_only), and ranks have no ops
};

/// All ranks of the world call it together; world: null for a single rank. The result is whole on rank 0; other ranks'
/// holds no ranks. Throws Error for a plan that cannot be executed here and DeviceError for a failure, after which the
/// caller aborts the world.
MeasuredRun measure(kernels::Device& device, kernels::Communicator* world, const RunPlan& plan,
                    const MeasureHooks& hooks = {});

}  // namespace orrery::run
