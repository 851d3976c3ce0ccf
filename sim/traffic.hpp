// What the programs of a step send and reduce, role by role, and where ranks run: all that decides which flows a step
// can have.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <vector>

#include "strategies/rank_placement.hpp"
#include "strategies/step_program.hpp"

namespace orrery::sim {

/// A group whose collectives are all smaller than this crosses the network without contending: they are latency.
inline constexpr double contends_from_bytes = 64 * 1024;

/// An (axis, delta) along which some program sends activations, or gradients.
struct Channel {
    strategies::Axis axis;
    std::int32_t delta;
    bool gradients;
    auto operator<=>(const Channel&) const = default;
};

struct Traffic {
    struct GroupSet {
        strategies::AxisSet axes;
        /// Some collective of these groups is large enough to contend for links; else they are latency.
        bool contends;
        bool operator==(const GroupSet&) const = default;
    };
    static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

    strategies::Mesh mesh;
    strategies::RankPlacement placement;
    std::vector<std::uint16_t> role;                    ///< of each rank
    std::vector<Channel> channels;                      ///< ascending
    std::vector<GroupSet> sets;                         ///< ascending by bits
    std::vector<std::vector<std::uint32_t>> sends_of;   ///< role -> channels it sends along, ascending
    std::vector<std::vector<std::uint32_t>> groups_of;  ///< role -> sets it takes part in, ascending

    explicit Traffic(const strategies::StepProgram& step, strategies::RankPlacement place = {});
    bool operator==(const Traffic& other) const;

    /// Where a rank runs; where the group of `rank` along some axes does, ascending.
    [[nodiscard]] std::uint32_t gpu(std::uint32_t rank) const { return placement.gpu(rank); }
    [[nodiscard]] std::vector<std::uint32_t> gpus(std::uint32_t rank, strategies::AxisSet axes) const {
        return placement.gpus(mesh.group(rank, axes));
    }
    /// Number of a channel or set; `none` when no program uses it.
    [[nodiscard]] std::uint32_t number(Channel channel) const;
    [[nodiscard]] std::uint32_t number(strategies::AxisSet axes) const;
};

}  // namespace orrery::sim
