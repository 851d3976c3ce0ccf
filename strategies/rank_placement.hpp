// Which GPU each rank runs on.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "strategies/mesh.hpp"

namespace orrery::strategies {

/// A map from ranks to GPUs, no GPU twice. Linear, rank r on GPU r, is stored as nothing, whatever the number of ranks.
class RankPlacement {
public:
    RankPlacement() = default;
    /// gpus[rank]. Throws Error without a place when two ranks share a GPU.
    explicit RankPlacement(std::vector<std::uint32_t> gpus);

    [[nodiscard]] bool linear() const { return gpu_ == nullptr; }
    [[nodiscard]] std::uint32_t gpu(std::uint32_t rank) const { return linear() ? rank : (*gpu_)[rank]; }
    /// The GPUs of these ranks (ascending, each once), ascending.
    [[nodiscard]] std::vector<std::uint32_t> gpus(std::vector<std::uint32_t> ranks) const;
    bool operator==(const RankPlacement& other) const;

private:
    std::shared_ptr<const std::vector<std::uint32_t>> gpu_;  // null: linear; plans are copied often
};

/// Nodes with GPUs numbered one node after the other.
struct Nodes {
    std::uint32_t count = 1, gpus = 1;  ///< GPUs of each
};

/// Axes from the one that varies fastest over GPUs to the slowest.
using AxisOrder = std::vector<Axis>;

/// "tensor-data-pipeline", or Megatron-LM's names: "tp-cp-ep-dp-pp", its default, and "tp-cp-ep-pp-dp", its
/// --use-tp-pp-dp-mapping (megatron/core/parallel_state.py, RankGenerator). Axes of one rank may be left out. Throws
/// Error without a place for an unknown axis, one named twice, and one of several ranks that is missing.
AxisOrder parse_axis_order(std::string_view text, const Mesh& mesh);
/// "tp-dp-pp".
std::string to_text(const AxisOrder& order);
/// Ranks in that order, from GPU 0 on.
RankPlacement by_axes(const Mesh& mesh, const AxisOrder& order);
/// Every order of the axes of several ranks, the usual one first.
std::vector<AxisOrder> axis_orders(const Mesh& mesh);

/// Rank r on node r mod count: `mpirun --map-by node`, Slurm's --distribution=cyclic. ranks at most all GPUs.
RankPlacement round_robin(std::uint32_t ranks, const Nodes& nodes);
/// Each node gets as many ranks, those next to each other; nodes of the front one more where they do not divide.
RankPlacement evenly(std::uint32_t ranks, const Nodes& nodes);

/// A layout by its name: "linear", "round_robin", "average" (evenly), and Whale's names for the first two, "row" and
/// "column" of the matrix whose rows are nodes; else an axis order. Throws Error without a place.
RankPlacement named_placement(std::string_view name, const Mesh& mesh, const Nodes& nodes);

/// Whether the groups that a layer communicates in, over the tensor and expert axes, all lie inside nodes.
bool layer_groups_are_local(const Mesh& mesh, const RankPlacement& placement, std::uint32_t gpus_per_node);

}  // namespace orrery::strategies
