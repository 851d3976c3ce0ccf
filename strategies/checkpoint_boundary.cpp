#include "strategies/checkpoint_boundary.hpp"

#include <string>
#include <utility>

#include "strategies/refusal.hpp"

namespace orrery::strategies {

void check_checkpoint_boundary(const Strategy& strategy) {
    if (!strategy.synchronize_checkpoints) return;
    const auto only = [](bool holds, const char* otherwise, const char* remedy, Source source = Source::not_modelled) {
        if (!holds)
            refuse("/strategy/synchronize_checkpoint_boundary", std::string("true, but ") + otherwise, remedy, source);
    };
    only(strategy.recompute == Recompute::full, "no layer is a checkpoint",
         "set recompute to \"full\", or synchronize_checkpoint_boundary to false", Source::origin_of_key);
    const char* const drop = "set it to false";
    only(!strategy.overlap_p2p, "overlap_p2p sends messages beside layers", drop);
    only(!strategy.overlap_param_gather, "overlap_param_gather gathers weights beside layers", drop);
    only(strategy.sharding != Sharding::zero3, "zero3 gathers weights beside layers", drop);
    only(strategy.cpu_offloading_num_layers == 0, "cpu_offloading_num_layers copies to the host beside layers", drop);
    only(!schedule_of(strategy.schedule).asynchronous, "steps run into each other under this schedule", drop);
}

void CheckpointBoundary::before(const Label& label, bool checkpointed, std::vector<BufferId>& writes) {
    if (!waits_) return;
    if (checkpointed && behind_) wait(label, {token_});
    token_ = builder_.buffer(0, Keep::scratch);
    writes.push_back(token_);
    behind_ = true;
}

void CheckpointBoundary::behind(const Label& label, bool checkpointed, std::vector<BufferId> under_way) {
    if (!waits_ || !checkpointed) return;
    under_way.push_back(token_);
    wait(label, std::move(under_way));
}

void CheckpointBoundary::wait(const Label& label, std::vector<BufferId> reads) {
    builder_.emit(Lane::compute, intern_.label("checkpoint boundary", label.phase, label.micro_batch, label.layer),
                  What{HostSync{}}, reads, {});
    behind_ = false;
}

}  // namespace orrery::strategies
