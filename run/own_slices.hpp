// Which of a step's micro-batches a rank takes.
#pragma once

#include <cstdint>

#include "strategies/plan.hpp"
#include "strategies/replica_batches.hpp"

namespace orrery::run {

/// A step's global batch is divided into slices of one micro-batch each. A data rank takes every so many-th, or where
/// ranks take unequal numbers those behind what the ranks before it take.
class OwnSlices {
public:
    /// data: Place::data().
    OwnSlices(const strategies::Plan& plan, std::uint32_t data) : first_(data), every_(plan.strategy.data) {
        if (!strategies::unequal_replicas(plan)) return;
        const strategies::ReplicaCounts counts = strategies::replica_counts(plan);
        first_ = 0;
        every_ = 1;
        for (std::uint32_t before = 0; before < data; ++before) first_ += counts.of(before);
    }
    /// The slice that is its micro-batch number `micro_batch` of a step.
    [[nodiscard]] std::uint64_t operator[](std::uint32_t micro_batch) const { return first_ + every_ * micro_batch; }

private:
    std::uint64_t first_, every_;
};

}  // namespace orrery::run
