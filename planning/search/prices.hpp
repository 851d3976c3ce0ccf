// What calls, kernels, messages and collectives of a plan take at least: by themselves, with nothing else on the wire.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "planning/search/site.hpp"
#include "sim/costs.hpp"
#include "sim/network.hpp"
#include "strategies/plan.hpp"
#include "strategies/step_program.hpp"

namespace orrery::planning {

/// A call of a block.
struct BlockPrice {
    sim::OpCost cost;
    double kernels = 0;  ///< at least, seconds of its kernels beside which none of its own collectives runs
};

/// What collectives inside layers are taken to last on other kinds of GPU than the first ranks'.
enum class OnOtherKinds : std::uint8_t {
    the_same,  ///< as there
    nothing,   ///< whatever they last, it is not less
};

/// Not for several threads: each has its own.
class Prices {
public:
    explicit Prices(const Site& site);

    /// Of the operations of a program's role 0, none of which runs beside another; on clusters of several kinds of GPU
    /// the least of each.
    [[nodiscard]] std::vector<sim::OpCost> of(const strategies::StepProgram& step, const strategies::Plan& plan) const;
    /// Of all blocks; prices must have been placed. kind: of GPU, by its number in sim::Kinds; none: the least of all
    /// kinds. Collectives are known among the first ranks; on other kinds of GPU than theirs they count as told.
    [[nodiscard]] std::vector<BlockPrice> blocks(const strategies::StepProgram& step, const strategies::Plan& plan,
                                                 std::optional<std::uint32_t> kind, OnOtherKinds collectives) const;
    /// What kernels lose of each second of a collective beside them, on the kind of GPU and in the group where it is
    /// least.
    [[nodiscard]] double least_contention() const;
    /// Of the GPUs of a stage's ranks, by their numbers in sim::Kinds: ascending, each once.
    [[nodiscard]] std::vector<std::uint32_t> kinds(std::uint32_t stage) const;
    /// The same of each data rank's ranks in the stage.
    [[nodiscard]] std::vector<std::vector<std::uint32_t>> kinds_by_data(std::uint32_t stage) const;
    [[nodiscard]] const sim::Kinds& kinds() const { return network_.kinds(); }

    /// Seconds in which a copy between a GPU and its host is made, the shorter way; prices must have been placed for
    /// the plan.
    double copy(const strategies::Plan& plan, std::uint64_t bytes);

    /// Turns to the ranks of another plan. Only its extents and its placement matter.
    void place(const strategies::Plan& plan);
    /// Seconds of a boundary tensor from a stage to the next (of the last: to the first) or back, between the first
    /// ranks of both.
    double message(std::uint32_t stage, bool back, std::uint64_t bytes);
    /// Seconds of a collective of the group that holds a stage's first rank.
    double collective(std::uint32_t stage, kernels::CollectiveKind kind, strategies::AxisSet group,
                      std::uint64_t bytes);
    /// The plan's placement on the cluster.
    [[nodiscard]] const strategies::RankPlacement& placement() const { return placed_->placement; }

private:
    [[nodiscard]] sim::Costs costs(std::uint32_t kind, const strategies::StepProgram& step,
                                   const strategies::Plan& plan) const;
    [[nodiscard]] std::vector<std::uint32_t> ranks_of(std::uint32_t stage) const;

    struct Hop {
        topology::GpuId from = 0, to = 0;
        std::vector<sim::LinkUse> tightest;  ///< empty inside a node
    };
    struct Group {
        std::vector<topology::GpuId> gpus;
        std::vector<sim::LinkUse> tightest;
    };
    /// Everything that is known of one way to place ranks.
    struct Placed {
        strategies::Mesh mesh;
        strategies::RankPlacement placement;
        std::vector<std::uint32_t> hop_of;  ///< by stage, there and back: of `hops`, those alike being one
        std::vector<Hop> hops;
        std::map<std::uint64_t, double> copies;                                       ///< by bytes
        std::map<std::pair<std::uint32_t, std::uint64_t>, double> messages;           ///< hop, bytes
        std::map<std::pair<std::uint32_t, strategies::AxisSet::Bits>, Group> groups;  ///< stage, axes
        std::map<std::tuple<std::uint32_t, std::uint8_t, strategies::AxisSet::Bits, std::uint64_t>, double> collectives;
    };
    using Extents = std::tuple<std::array<std::uint32_t, strategies::axes>, bool>;

    [[nodiscard]] Placed placed(const strategies::Plan& plan) const;
    void add_hop(Placed& to, topology::GpuId from, topology::GpuId into) const;

    const Site& site_;
    sim::Network network_;
    std::map<Extents, Placed> known_;
    Placed* placed_ = nullptr;
};

}  // namespace orrery::planning
