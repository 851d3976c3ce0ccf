// The kinds of GPU in a cluster, each with the profile that times it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "calibrate/predictor.hpp"
#include "sim/collective/schedule.hpp"
#include "topology/cluster.hpp"

namespace orrery::sim {

/// Which profile times which GPU: one for all, or one for each by the GPU's name. Keeps references.
class Profiles {
public:
    Profiles(const calibrate::Predictor& all) : all_(&all) {}
    explicit Profiles(std::map<std::string, const calibrate::Predictor*> by_gpu) : by_gpu_(std::move(by_gpu)) {}

    /// Throws std::logic_error where there is none.
    [[nodiscard]] const calibrate::Predictor& of(const topology::Gpu& gpu) const;

private:
    const calibrate::Predictor* all_ = nullptr;
    std::map<std::string, const calibrate::Predictor*> by_gpu_;
};

struct GpuKind {
    topology::Gpu gpu;
    const calibrate::Predictor* predictor;
    std::uint32_t node;  ///< the first of this kind
};

/// Nodes with the same GPU are of one kind, wherever they stand. Kinds are numbered as they come, node after node.
class Kinds {
public:
    Kinds(const topology::Cluster& cluster, const Profiles& profiles);

    [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(kinds_.size()); }
    [[nodiscard]] const GpuKind& operator[](std::uint32_t number) const { return kinds_[number]; }
    [[nodiscard]] std::uint32_t of(topology::GpuId gpu) const;
    /// Of the GPUs of a group: numbers ascending, each once.
    [[nodiscard]] std::vector<std::uint32_t> among(std::span<const topology::GpuId> gpus) const;
    /// Of a fabric link's rate: what the profile of the first kind, whose NICs all nodes have (topology/cluster.hpp),
    /// measured; else what its adapters' frames leave (hardware/frames.hpp).
    [[nodiscard]] double payload_share() const { return payload_share_; }
    /// Seconds of a group on several nodes whose GPUs' profile measured just so many ranks on just so many nodes;
    /// nothing for other groups, and where several kinds take part.
    [[nodiscard]] std::optional<double> among_nodes(kernels::CollectiveKind kind, const Group& group,
                                                    double bytes) const;
    /// The largest value of a constant in the profiles of some kinds (at least one).
    [[nodiscard]] double most(std::span<const std::uint32_t> kinds, const std::string& constant) const;

private:
    struct Stretch {
        topology::GpuId end;  ///< one past its last GPU
        std::uint32_t kind;
    };
    std::vector<GpuKind> kinds_;
    double payload_share_ = 1;
    std::vector<Stretch> stretches_;
};

}  // namespace orrery::sim
