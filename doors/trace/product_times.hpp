// Times of products of matrices, from the kernels that their operators launched.
#pragma once

#include <cstdint>
#include <vector>

#include "doors/trace/measurement.hpp"
#include "doors/trace/steps.hpp"

namespace orrery::doors::trace {

struct ProductTimes {
    std::vector<TimedProduct> products;  ///< by shape
    std::uint64_t left_out = 0;
};

/// Each product of a step is one reading: the sum of its kernels. Which of a layer's passes it is follows from the
/// strides of its operands; without them (PyTorch before 2.2) a forward product is taken for one of a linear layer, and
/// a backward one is told by the forward product with its sequence number. Others are counted and left out.
ProductTimes product_times(const Trace& trace, const std::vector<Origin>& origins, const std::vector<Step>& steps);

}  // namespace orrery::doors::trace
