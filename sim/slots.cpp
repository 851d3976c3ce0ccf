#include "sim/slots.hpp"

#include <algorithm>
#include <deque>

namespace orrery::sim {

namespace {

/// How many operations of each lane have ended for certain.
using Ended = std::array<std::uint32_t, all_lanes>;

/// The least that has ended when an operation begins: all before it in its lane, what it waits for, the host sync
/// before it, and all that had ended when those began.
std::vector<Ended> ended_before(const strategies::Program& program, const strategies::Hazards& hazards,
                                const std::vector<std::uint32_t>& place) {
    std::vector<Ended> ended(program.ops.size());
    std::array<std::uint32_t, all_lanes> last;
    last.fill(Slots::none);
    for (std::uint32_t i = 0; i < program.ops.size(); ++i) {
        const auto after = [&](std::uint32_t other) {
            if (other == Slots::none) return;
            for (std::size_t lane = 0; lane < all_lanes; ++lane)
                ended[i][lane] = std::max(ended[i][lane], ended[other][lane]);
            const std::uint32_t at = place[other];
            ended[i][Place::lane(at)] = std::max(ended[i][Place::lane(at)], Place::number(at) + 1);
        };
        for (const std::uint32_t other : hazards.of(i)) after(other);
        after(last[lane_of(program.ops[i])]);
        after(last[sync_lane]);
        last[lane_of(program.ops[i])] = i;
    }
    return ended;
}

}  // namespace

Slots::Slots(const strategies::Program& program, const strategies::Hazards& hazards)
    : place(program.ops.size()), slot(program.ops.size(), none), start(program.ops.size(), beginning) {
    const auto operations = static_cast<std::uint32_t>(program.ops.size());
    std::array<std::uint32_t, all_lanes> numbers{};
    for (std::uint32_t i = 0; i < operations; ++i) {
        const std::size_t lane = lane_of(program.ops[i]);
        place[i] = Place::of(lane, numbers[lane]++);
    }
    // read[i]: how far each lane must have come until the end of operation i is no longer needed.
    std::vector<Ended> read(operations, Ended{});
    std::vector<bool> kept(operations);
    std::uint32_t sync = none;
    for (std::uint32_t i = 0; i < operations; ++i) {
        const auto reads = [&](std::uint32_t other) {
            kept[other] = true;
            auto& lanes = read[other];
            lanes[Place::lane(place[i])] = std::max(lanes[Place::lane(place[i])], Place::number(place[i]) + 1);
        };
        for (const std::uint32_t other : hazards.of(i)) reads(other);
        if (sync != none) reads(sync);
        if (Place::lane(place[i]) == sync_lane) sync = i;
    }
    const std::vector<Ended> ended = ended_before(program, hazards, place);
    std::array<std::deque<std::uint32_t>, all_lanes> holders;  // operations whose slot is theirs, oldest first
    std::uint32_t begun = beginning;
    for (std::uint32_t i = 0; i < operations; ++i) {
        start[i] = begun;
        if (!kept[i]) continue;
        auto& queue = holders[Place::lane(place[i])];
        const auto passed = [&](std::uint32_t holder) {
            return std::equal(read[holder].begin(), read[holder].end(), ended[i].begin(), std::less_equal<>());
        };
        if (!queue.empty() && passed(queue.front())) {
            slot[i] = slot[queue.front()];
            queue.pop_front();
        } else {
            slot[i] = count++;
        }
        queue.push_back(i);
        if (Place::lane(place[i]) == sync_lane) begun = slot[i];
    }
}

}  // namespace orrery::sim
