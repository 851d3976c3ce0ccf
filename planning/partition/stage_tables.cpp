#include "planning/partition/stage_tables.hpp"

#include <algorithm>

namespace orrery::planning {

StageTables::StageTables(const strategies::Plan& plan, const Prices& prices) {
    for (std::uint32_t stage = 0; stage < plan.strategy.pipeline; ++stage) {
        kinds_.push_back(prices.kinds(stage));
        for (const std::uint32_t kind : kinds_.back())
            if (!tables_.contains(kind)) tables_.emplace(kind, LayerTable(plan, prices, kind));
    }
}

double StageTables::seconds(std::uint32_t stage, const Run& run) const {
    double slowest = 0;
    for (const std::uint32_t kind : kinds_[stage]) slowest = std::max(slowest, tables_.at(kind).pass(run).device);
    return slowest;
}

double StageTables::issued_on(const std::vector<std::uint32_t>& kinds, const Run& run) const {
    double slowest = 0;
    for (const std::uint32_t kind : kinds) {
        const CallSums pass = tables_.at(kind).pass(run);
        slowest = std::max({slowest, pass.device, pass.host});
    }
    return slowest;
}

}  // namespace orrery::planning
