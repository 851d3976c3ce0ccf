#include "sim/replicas_alone.hpp"

#include <algorithm>

#include "sim/run_step.hpp"
#include "strategies/replica_batches.hpp"

namespace orrery::sim {

namespace {

/// The GPUs of each block's ranks, in the order of ranks.
std::vector<std::vector<std::uint32_t>> gpus_of_blocks(const strategies::Plan& plan) {
    const strategies::Mesh mesh = plan.mesh();
    const std::uint32_t least = plan.expert_extent();
    std::vector<std::vector<std::uint32_t>> blocks(plan.strategy.data / least);
    for (std::uint32_t rank = 0; rank < mesh.ranks(); ++rank)
        blocks[mesh.data_rank(rank) / least].push_back(plan.placement.gpu(rank));
    return blocks;
}

bool of_one_kind(const topology::Cluster& cluster) {
    return std::ranges::all_of(cluster.groups(),
                               [&](const topology::NodeGroup& group) { return group.gpu.name == cluster.gpu().name; });
}

}  // namespace

std::uint32_t ReplicasAlone::gpus(const strategies::Plan& plan) {
    return plan.ranks() / plan.strategy.data * plan.expert_extent();
}

double ReplicasAlone::alone(const strategies::Plan& plan, std::uint32_t block,
                            const strategies::RankPlacement& placement) const {
    strategies::Plan replica = strategies::replica_alone(plan, block);
    replica.placement = placement;
    const auto ran = run_plan(replica, site_.cluster, site_.profiles, {.foldings = &site_.foldings});
    return replica.strategy.data * strategies::mean_share(replica) / ran->seconds();
}

double ReplicasAlone::sequences_per_second(const strategies::Plan& plan) {
    const std::uint32_t blocks = plan.strategy.data / plan.expert_extent();
    if (blocks == 1) return 0;
    if (of_one_kind(site_.cluster)) {
        if (known_.empty()) known_[{}] = alone(plan, 0, {});
        return blocks * known_.begin()->second;
    }
    double all = 0;
    std::uint32_t block = 0;
    for (const std::vector<std::uint32_t>& gpus : gpus_of_blocks(plan)) {
        Way way;
        for (const std::uint32_t gpu : gpus) way.push_back(site_.cluster.gpu_of(gpu).name);
        const auto [found, is_new] = known_.emplace(way, 0);
        if (is_new) found->second = alone(plan, block, strategies::RankPlacement(gpus));
        all += found->second;
        ++block;
    }
    return all;
}

double ReplicasAlone::scale_factor(const strategies::Plan& plan, double step_time_s, double alone) {
    return alone > 0 ? plan.training.global_batch / step_time_s / alone : 1;
}

}  // namespace orrery::sim
