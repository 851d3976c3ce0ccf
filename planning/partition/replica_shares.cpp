#include "planning/partition/replica_shares.hpp"

#include <algorithm>
#include <functional>
#include <queue>
#include <tuple>

#include "strategies/replica_batches.hpp"

namespace orrery::planning {

std::vector<ReplicaPace> replica_paces(const strategies::Plan& plan, const StageTables& tables, const Prices& prices) {
    std::vector<ReplicaPace> paces(plan.strategy.data);
    for (std::uint32_t stage = 0; stage < plan.strategy.pipeline; ++stage) {
        const std::vector<std::vector<std::uint32_t>> kinds = prices.kinds_by_data(stage);
        for (std::uint32_t data = 0; data < paces.size(); ++data) {
            ReplicaPace& pace = paces[data];
            double seconds = 0;
            for (std::uint32_t chunk = 0; chunk < plan.strategy.virtual_pipeline; ++chunk)
                seconds += tables.issued_on(kinds[data], tables.layers().run(plan, stage, chunk));
            pace.slowest = std::max(pace.slowest, seconds);
            pace.others += seconds;  // of all stages yet
            pace.kinds.insert(kinds[data].begin(), kinds[data].end());
        }
    }
    for (ReplicaPace& pace : paces) pace.others = (pace.others - pace.slowest) / plan.strategy.virtual_pipeline;
    return paces;
}

/// One unit after the other to the rank that has done with it first: no other way has a slowest rank that takes less,
/// because taking more never takes less.
std::vector<std::uint32_t> balanced_shares(const strategies::Plan& plan, const std::vector<ReplicaPace>& paces) {
    const strategies::Demand demand =
        schedule_of(plan.strategy.schedule).demand(strategies::with_own_micro_batches(plan, 1).pipeline_shape());
    const std::uint32_t unit = demand.micro_batches, least = (demand.least + unit - 1) / unit * unit;
    std::vector<std::uint32_t> shares(paces.size(), least);
    using Next = std::tuple<double, std::uint32_t>;  // when it is done with one more, data rank
    std::priority_queue<Next, std::vector<Next>, std::greater<>> queue;
    for (std::uint32_t data = 0; data < paces.size(); ++data) queue.emplace(paces[data].seconds(least + unit), data);
    const std::uint32_t left = plan.all_micro_batches() - least * static_cast<std::uint32_t>(paces.size());
    for (std::uint32_t given = 0; given < left; given += unit) {
        const std::uint32_t data = std::get<1>(queue.top());
        queue.pop();
        shares[data] += unit;
        queue.emplace(paces[data].seconds(shares[data] + unit), data);
    }
    return shares;
}

}  // namespace orrery::planning
