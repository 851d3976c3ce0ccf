// What a memory-bound kernel reads and writes per element.
#pragma once

#include "kernels/kernel.hpp"

namespace orrery::kernels {

/// Per element: operand-sized reads and writes, reads and writes that are fp32 whatever the operand, and
/// bytes of dropout mask.
struct Traffic {
    double reads = 0, writes = 0, fp32 = 0, mask_bytes = 0;
    [[nodiscard]] constexpr double bytes_per_element(std::uint32_t operand_bytes) const {
        return (reads + writes) * operand_bytes + 4.0 * fp32 + mask_bytes;
    }
};

Traffic traffic(PointwiseKind kind);

}  // namespace orrery::kernels
