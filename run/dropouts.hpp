// Which part of a dropout's mask is a launch's: the same element of the model draws the same number on every mesh, in
// micro-batches of any size, and in a forward that a backward runs again.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/dropout_mask.hpp"
#include "kernels/kernel.hpp"
#include "run/place.hpp"
#include "strategies/dataflow.hpp"

namespace orrery::run {

/// Where a layer's dropout is met.
struct DropoutCall {
    strategies::DropoutSite site;
    std::int32_t layer = 0;         ///< as StageModel counts: -1 for the embedding
    std::uint32_t micro_batch = 0;  ///< of this rank, of all steps of the program
};

/// A part of a launch whose elements lie in one of the mask's regular patterns.
struct DroppedRows {
    std::uint64_t first = 0, rows = 0;  ///< of the kernel's rows; of attention 0: all of it
    /// step: of those that the program has, which is added to the run's.
    kernels::DropoutMask mask;
};

/// Of a kernel over tokens of the residual stream as many parts as there are runs of consecutive positions among the
/// rank's rows; of attention one. probability: the model's. Elements are counted over the global batch: of the residual
/// stream [sequence, position, column], of probabilities [sequence, head, query, key].
std::vector<DroppedRows> dropped_rows(const Place& place, const DropoutCall& call, const kernels::Kernel& kernel,
                                      std::uint64_t seed);

/// The name of a dropout among all of the model: its layer and its number there.
constexpr std::uint32_t dropout_site(std::int32_t layer, std::uint32_t number) {
    return (static_cast<std::uint32_t>(layer) << 8U) + number;
}

}  // namespace orrery::run
