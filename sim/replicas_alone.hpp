// What weak scaling is held against: a plan's model replicas, each by itself.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sim/session.hpp"
#include "strategies/plan.hpp"

namespace orrery::sim {

/// A block of data ranks that hold all experts (Plan::expert_extent()) is one replica, and its throughput is what it
/// would be if nobody else were there. On GPUs of one kind that of the first is that of all, placed linearly. On
/// several, each way through kinds has its own, on the GPUs of the first block that takes it.
class ReplicasAlone {
public:
    /// site must outlive it.
    explicit ReplicasAlone(Site& site) : site_(site) {}

    /// Of all replicas of a plan alone; 0 where there is one. A way through kinds that was not met before costs a
    /// simulation.
    double sequences_per_second(const strategies::Plan& plan);
    /// T_n / (n T_1): sequences per second of a plan whose step takes so long, over those of all its replicas alone, as
    /// above. 1 for a plan of one.
    static double scale_factor(const strategies::Plan& plan, double step_time_s, double alone);
    /// GPUs of one.
    static std::uint32_t gpus(const strategies::Plan& plan);

private:
    using Way = std::vector<std::string>;  ///< the GPU of each rank; empty where all are of one kind

    /// placement: of the block's ranks.
    [[nodiscard]] double alone(const strategies::Plan& plan, std::uint32_t block,
                               const strategies::RankPlacement& placement) const;

    Site& site_;
    std::map<Way, double> known_;  ///< sequences per second of a block
};

}  // namespace orrery::sim
