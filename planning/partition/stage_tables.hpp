// Times of a plan's layers on the GPUs that its stages have: where a cluster has several kinds, each at its own rates.
//
// A stage whose ranks are on several kinds goes at the pace of the slowest, as its ranks wait for each other.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "planning/search/layer_table.hpp"

namespace orrery::planning {

class StageTables {
public:
    /// prices must have been placed for the plan.
    StageTables(const strategies::Plan& plan, const Prices& prices);

    /// Seconds of a micro-batch, forward and backward, of such layers on a stage.
    [[nodiscard]] double seconds(std::uint32_t stage, const Run& run) const;
    /// The same on ranks of some kinds of GPU that a stage has, and on none quicker than its host issues it.
    [[nodiscard]] double issued_on(const std::vector<std::uint32_t>& kinds, const Run& run) const;
    /// Of GPU, that some stage has.
    [[nodiscard]] std::size_t kinds() const { return tables_.size(); }
    /// Of one kind, for what all kinds have in common: how the model's layers lie.
    [[nodiscard]] const LayerTable& layers() const { return tables_.begin()->second; }

private:
    std::map<std::uint32_t, LayerTable> tables_;     ///< by kind
    std::vector<std::vector<std::uint32_t>> kinds_;  ///< by stage
};

}  // namespace orrery::planning
