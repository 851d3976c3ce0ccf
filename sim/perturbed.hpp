// A step's perturbations as the replay applies them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "scenarios/background.hpp"
#include "scenarios/perturbations.hpp"
#include "strategies/plan.hpp"
#include "strategies/step_program.hpp"
#include "topology/cluster.hpp"

namespace orrery::sim {

/// For folding: ranks or links with different marks are never alike. Empty: all have mark 0. Ranks are those of the
/// scenario's own job.
struct Marks {
    std::vector<std::uint32_t> rank;
    std::vector<std::uint32_t> link;  ///< of the fabric's links, in order
    std::vector<scenarios::BackgroundFlow> background;

    [[nodiscard]] std::uint32_t of_rank(std::uint32_t number) const { return rank.empty() ? 0 : rank[number]; }
    /// Of a link `after` the first of the fabric; links before it have none.
    [[nodiscard]] std::uint32_t of_link(topology::LinkId id, topology::LinkId first) const {
        return link.empty() || id < first ? 0 : link[id - first];
    }
};

/// From `at` seconds on, work or bytes take `factor` times as long as planned.
struct Pace {
    double at, factor;
};

/// When work of so many seconds ends that begins then, at the paces of `list` (ascending; before the first: factor 1).
double paced_end(std::span<const Pace> list, double begin, double work);

/// Factor on the time of one operation: exp(sigma z - sigma^2 / 2), of mean 1, with a standard normal z that follows
/// from (seed, rank, operation) alone (splitmix64, Box and Muller 1958).
double jitter_factor(double sigma, std::uint64_t seed, std::uint32_t rank, std::uint32_t operation);

class Perturbed {
public:
    Perturbed(const scenarios::Perturbations& table, std::uint64_t seed, const topology::Cluster& cluster,
              const strategies::Plan& plan);

    [[nodiscard]] const Marks& marks() const { return marks_; }
    /// Whether kernels take other times than planned.
    [[nodiscard]] bool kernels() const { return jitter_ > 0 || !marks_.rank.empty(); }
    /// Whether no two ranks are alike.
    [[nodiscard]] bool each_rank() const { return jitter_ > 0; }

    /// When a kernel of `work` seconds ends that begins then. routed: it works on the tokens that the rank's experts
    /// receive (strategies::Label), in proportion to them.
    [[nodiscard]] double end(std::uint32_t rank, std::uint32_t operation, double begin, double work,
                             bool routed = false) const {
        if (routed && !expert_scale_.empty()) work *= expert_scale_[rank];
        if (jitter_ > 0) work *= jitter_factor(jitter_, seed_, rank, operation);
        return paced_end(rank_paces_[marks_.of_rank(rank)], begin, work);
    }
    /// Of a collective that moves routed tokens, as the rank sees it: an exchange takes as long as the rank that
    /// receives the most; tensor ranks share the tokens of their experts.
    [[nodiscard]] std::uint64_t routed_bytes(const strategies::Collective& collective, std::uint32_t rank) const {
        if (expert_scale_.empty()) return collective.bytes;
        const bool exchange = collective.kind == kernels::CollectiveKind::all_to_all;
        const double scale = exchange ? largest_scale_ : expert_scale_[rank];
        return static_cast<std::uint64_t>(scale * static_cast<double>(collective.bytes) + 0.5);
    }
    /// How a link's rate changes.
    [[nodiscard]] std::span<const Pace> paces_of_link(std::uint32_t mark) const { return link_paces_[mark]; }

private:
    void load_experts(const scenarios::Perturbations& table, const strategies::Plan& plan);

    double jitter_;
    std::uint64_t seed_;
    Marks marks_;
    std::vector<double> expert_scale_;  // by rank: tokens its experts take, over what is planned; empty: as planned
    double largest_scale_ = 1;
    std::vector<std::vector<Pace>> rank_paces_, link_paces_;  // by mark
};

}  // namespace orrery::sim
