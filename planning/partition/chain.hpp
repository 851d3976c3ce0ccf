// A model as what partitions divide: layers in the order in which they run, what each takes, and what crosses behind
// it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "planning/search/layer_table.hpp"

namespace orrery::planning {

/// Throws Error (pointer under "/strategy") where only some layers run again: which ones depends on the stages that are
/// looked for.
void require_layers_alike(const strategies::Strategy& strategy);

struct ChainLayer {
    std::string name;
    double seconds = 0;    ///< of one micro-batch, forward and backward
    double gradients = 0;  ///< bytes of its gradients, which replicas of it sum
    double sent = 0;       ///< bytes of one micro-batch that layers behind it take of this one and of those before
};

class Chain {
public:
    explicit Chain(std::vector<ChainLayer> layers);
    /// Every node of a model's graph, as one rank of each tensor and context group has it. Throws what
    /// require_layers_alike() does.
    Chain(const strategies::Plan& plan, const LayerTable& table);

    [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(layers_.size()); }
    [[nodiscard]] const ChainLayer& operator[](std::uint32_t layer) const { return layers_[layer]; }
    /// Sums over layers [first, end).
    [[nodiscard]] double seconds(std::uint32_t first, std::uint32_t end) const {
        return seconds_[end] - seconds_[first];
    }
    [[nodiscard]] double gradients(std::uint32_t first, std::uint32_t end) const {
        return gradients_[end] - gradients_[first];
    }

private:
    std::vector<ChainLayer> layers_;
    std::vector<double> seconds_, gradients_;  // of the layers before the index
};

}  // namespace orrery::planning
