// Time of a kernel of which nothing is known but its work: FLOPs and bytes, as execution traces have them.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "sim/kinds.hpp"

namespace orrery::sim {

/// Of a profile's own tables: as long as a square product of so many FLOPs, or an addition that moves so many bytes,
/// whichever takes longer; so that small work reaches no more of a GPU's rate than it does on it. What is neither
/// (attention, batched small products) takes longer than that. Slower boards and memory count as in Costs.
class WorkTimes {
public:
    /// ranks: of the step, for the slowest of whose boards all wait.
    WorkTimes(const Kinds& kinds, kernels::Dtype dtype, std::uint32_t ranks);

    /// On a kind of GPU. Without work no time.
    [[nodiscard]] double seconds(std::uint32_t kind, double flops, double bytes);

private:
    [[nodiscard]] double computing(std::uint32_t kind, double flops) const;
    [[nodiscard]] double moving(std::uint32_t kind, double bytes) const;

    const Kinds& kinds_;
    kernels::Dtype dtype_;
    std::uint32_t ranks_;
    std::vector<std::map<std::pair<double, double>, double>> known_;  // by kind
};

}  // namespace orrery::sim
