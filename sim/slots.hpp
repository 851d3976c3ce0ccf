// Where the ends of operations that others wait for are kept during a replay: a place is used again once all have read
// it.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <variant>
#include <vector>

#include "strategies/hazards.hpp"
#include "strategies/step_program.hpp"

namespace orrery::sim {

/// Lanes of a program, and one more that its host syncs make up. Operations of a lane end in order.
constexpr std::size_t sync_lane = strategies::lanes, all_lanes = strategies::lanes + 1;

inline std::size_t lane_of(const strategies::Op& op) {
    return std::holds_alternative<strategies::HostSync>(op.what) ? sync_lane : static_cast<std::size_t>(op.lane);
}

/// An operation by its lane and its number in that lane, in one word.
struct Place {
    static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();
    static constexpr std::uint32_t bits = 27;  ///< of the number
    static constexpr std::uint32_t of(std::size_t lane, std::uint32_t number) {
        return static_cast<std::uint32_t>(lane) << bits | number;
    }
    static constexpr std::size_t lane(std::uint32_t place) { return place >> bits; }
    static constexpr std::uint32_t number(std::uint32_t place) { return place & ((1U << bits) - 1); }
};

/// Slots of one program's ends. Reused: an operation takes the slot of an earlier one of its lane when the program's
/// order alone says that whoever waits for that one has begun before this one does, so that a rank needs few however
/// long its program is. Else each end has its own, which is found out ten times as fast; the later an operation, the
/// lower its slot, so that a rank which is near the end of its program needs few, too.
struct Slots {
    enum class Of : std::uint8_t { ends_reused, every_end };

    static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

    /// Never taken; holds the step's beginning.
    static constexpr std::uint32_t beginning = 0;

    std::vector<std::uint32_t> place;                ///< of each operation
    std::vector<std::uint32_t> slot;                 ///< of each operation; none: nobody waits for it
    std::array<std::uint32_t, all_lanes> of_lane{};  ///< operations
    std::vector<std::uint32_t> start;  ///< of each operation: slot of the host sync before it, or beginning
    std::uint32_t count = 1;

    Slots(const strategies::Program& program, const strategies::Hazards& hazards, Of of);

private:
    void reuse(const strategies::Program& program, const strategies::Hazards& hazards);
    void keep_all(const strategies::Hazards& hazards);
};

}  // namespace orrery::sim
