// What of a step lies before the first and behind the last backward, and what the data lane carries all the while:
// gradients, parameters, the optimizer.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>

#include "planning/search/layer_table.hpp"

namespace orrery::planning {

/// Seconds of one stage, each at least.
struct UpdateTimes {
    double before = 0;    ///< until its first forward may begin
    double behind = 0;    ///< from the end of its last backward to the end of its update
    double per_pass = 0;  ///< of the data lane, for every micro-batch
    double slowing = 0;  ///< the same as sim::Costs counts it where kernels run beside it: by groups of the first stage
    double waited = 0;   ///< of that, what calls wait for: sums of gradients without overlap
    double last = 0;     ///< of what is waited for, what lies behind the last backward
    double update = 0;   ///< from the end of all that the data lane carries for micro-batches
};

/// By what they depend on, each worked out once. Not for several threads.
class UpdateTable {
public:
    explicit UpdateTable(Prices& prices) : prices_(prices) {}

    /// Of the first or the last stage; prices must have been placed for the plan.
    const UpdateTimes& of(const strategies::Plan& plan, const LayerTable& layers, std::uint32_t stage);

private:
    using Key = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t,
                           std::uint32_t, std::uint32_t, std::uint32_t, std::uint8_t, std::uint8_t>;

    [[nodiscard]] UpdateTimes work_out(const strategies::Plan& plan, const LayerTable& layers, std::uint32_t stage);

    Prices& prices_;
    std::map<Key, UpdateTimes> known_;
};

}  // namespace orrery::planning
