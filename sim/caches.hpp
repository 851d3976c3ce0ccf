// Where a step's operands come from: the caches that the ranks of a node share, or memory.
#pragma once

#include <cstdint>

#include "calibrate/predictor.hpp"
#include "strategies/step_program.hpp"

namespace orrery::sim {

/// A CPU's kernels are measured with operands in its caches and in memory, and the profile's value is the middle, since
/// nothing is known of either. A step goes through all that its ranks hold: of W bytes, caches of C bytes (the
/// profile's cache_bytes, shared by a node's ranks) that replace at random still have C / W when they are wanted again,
/// and the share 1 - C / W comes from memory. Where that is more than half the value moves towards the cold one.
class Caches {
public:
    /// ranks: of a node. Without cache_bytes in the profile values stay as they are.
    Caches(const strategies::StepProgram& step, const calibrate::Predictor& predictor, std::uint32_t ranks);

    /// Seconds of a kernel in this step; never less than the estimate.
    [[nodiscard]] double seconds(const calibrate::Estimate& estimate) const {
        return estimate.seconds * (1 + estimate.caches * towards_cold_);
    }

private:
    double towards_cold_ = 0;  ///< 0: the middle; 1: everything comes from memory
};

}  // namespace orrery::sim
