// Layers that run again, at whose ends the host waits for the device.
#pragma once

#include <vector>

#include "strategies/intern.hpp"
#include "strategies/plan.hpp"

namespace orrery::strategies {

/// Writes the waits of synchronize_checkpoint_boundary: DeepSpeed's checkpoints call torch.cuda.synchronize where a
/// layer's forward begins and ends, and where the backward that runs it again begins and ends (deepspeed/runtime/
/// activation_checkpointing/checkpointing.py, CheckpointFunction). The host then waits for all streams: for the layer,
/// and for reductions of gradients that run beside it. Between two waits with nothing between them there is one.
class CheckpointBoundary {
public:
    CheckpointBoundary(const Plan& plan, Builder& builder, Intern& intern)
        : waits_(plan.strategy.synchronize_checkpoints), builder_(builder), intern_(intern) {}

    /// To be told of every layer's call before it is written, in program order; `writes` is added to. checkpointed:
    /// its layer runs again.
    void before(const Label& label, bool checkpointed, std::vector<BufferId>& writes);
    /// Behind the call that was told of last. under_way: what was written last beside the compute lane.
    void behind(const Label& label, bool checkpointed, std::vector<BufferId> under_way);

private:
    void wait(const Label& label, std::vector<BufferId> reads);

    bool waits_;
    Builder& builder_;
    Intern& intern_;
    BufferId token_ = 0;   ///< written by the last call
    bool behind_ = false;  ///< the host has not waited for it
};

/// Throws Error where a plan that asks for these waits has no such layers, or runs beside them what is of other engines
/// than DeepSpeed's and no wait is written for.
void check_checkpoint_boundary(const Strategy& strategy);

}  // namespace orrery::strategies
