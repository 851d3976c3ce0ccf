#include "sim/slots.hpp"

#include <algorithm>
#include <numeric>
#include <span>

namespace orrery::sim {

namespace {

/// How many operations of each lane have ended for certain.
using Ended = std::array<std::uint32_t, all_lanes>;

/// Places of those that need an operation's end: what waits for it, and behind a host sync all up to the next.
class Readers {
public:
    Readers(const strategies::Program& program, const strategies::Hazards& hazards,
            const std::vector<std::uint32_t>& place)
        : first_(program.ops.size() + 1) {
        each(hazards, place, [&](std::uint32_t read, std::uint32_t /*reader*/) { ++first_[read + 1]; });
        std::partial_sum(first_.begin(), first_.end(), first_.begin());
        places_.resize(first_.back());
        std::vector<std::uint32_t> next = first_;
        each(hazards, place, [&](std::uint32_t read, std::uint32_t reader) { places_[next[read]++] = place[reader]; });
    }

    [[nodiscard]] std::span<const std::uint32_t> of(std::uint32_t op) const {
        return {places_.data() + first_[op], first_[op + 1] - first_[op]};
    }

private:
    template <class Reads>
    static void each(const strategies::Hazards& hazards, const std::vector<std::uint32_t>& place, const Reads& reads) {
        std::uint32_t sync = Slots::none;
        for (std::uint32_t i = 0; i < place.size(); ++i) {
            for (const std::uint32_t other : hazards.of(i)) reads(other, i);
            if (sync != Slots::none) reads(sync, i);
            if (Place::lane(place[i]) == sync_lane) sync = i;
        }
    }

    std::vector<std::uint32_t> first_, places_;
};

/// Operations of a lane whose slot is theirs, oldest first.
struct Holders {
    std::vector<std::uint32_t> all;
    std::size_t oldest = 0;
};

/// Lanes that have operations: few of all.
std::vector<std::size_t> lanes_of(const std::vector<std::uint32_t>& place) {
    std::array<bool, all_lanes> used{};
    for (const std::uint32_t each : place) used[Place::lane(each)] = true;
    std::vector<std::size_t> lanes;
    for (std::size_t lane = 0; lane < all_lanes; ++lane)
        if (used[lane]) lanes.push_back(lane);
    return lanes;
}

/// The least that has ended when an operation begins: all before it in its lane, what it waits for, the host sync
/// before it, and all that had ended when those began.
std::vector<Ended> ended_before(const strategies::Program& program, const strategies::Hazards& hazards,
                                const std::vector<std::uint32_t>& place) {
    std::vector<Ended> ended(program.ops.size());
    std::array<std::uint32_t, all_lanes> last;
    last.fill(Slots::none);
    const std::vector<std::size_t> lanes = lanes_of(place);
    for (std::uint32_t i = 0; i < program.ops.size(); ++i) {
        Ended& now = ended[i];
        const auto after = [&](std::uint32_t other) {
            if (other == Slots::none) return;
            const std::size_t lane = Place::lane(place[other]);
            const std::uint32_t so_far = Place::number(place[other]) + 1;
            if (now[lane] >= so_far) return;  // and so has all that had ended when it began
            for (const std::size_t each : lanes) now[each] = std::max(now[each], ended[other][each]);
            now[lane] = so_far;
        };
        const std::size_t own = Place::lane(place[i]);
        if (const std::uint32_t before = last[own]; before != Slots::none) {
            now = ended[before];
            now[own] = Place::number(place[i]);
        }
        after(last[sync_lane]);
        for (const std::uint32_t other : hazards.of(i)) after(other);
        last[own] = i;
    }
    return ended;
}

}  // namespace

Slots::Slots(const strategies::Program& program, const strategies::Hazards& hazards, Of of)
    : place(program.ops.size()), slot(program.ops.size(), none), start(program.ops.size(), beginning) {
    const auto operations = static_cast<std::uint32_t>(program.ops.size());
    for (std::uint32_t i = 0; i < operations; ++i) {
        const std::size_t lane = lane_of(program.ops[i]);
        place[i] = Place::of(lane, of_lane[lane]++);
    }
    of == Of::every_end ? keep_all(hazards) : reuse(program, hazards);
}

void Slots::keep_all(const strategies::Hazards& hazards) {
    const auto operations = static_cast<std::uint32_t>(place.size());
    count = 1 + operations;
    std::uint32_t begun = beginning;
    for (std::uint32_t i = 0; i < operations; ++i) {
        start[i] = begun;
        for (const std::uint32_t other : hazards.of(i)) slot[other] = operations - other;
        if (Place::lane(place[i]) == sync_lane) begun = slot[i] = operations - i;
    }
}

void Slots::reuse(const strategies::Program& program, const strategies::Hazards& hazards) {
    const auto operations = static_cast<std::uint32_t>(place.size());
    const Readers readers(program, hazards, place);
    const std::vector<Ended> ended = ended_before(program, hazards, place);
    std::array<Holders, all_lanes> holders;
    std::uint32_t begun = beginning;
    for (std::uint32_t i = 0; i < operations; ++i) {
        start[i] = begun;
        if (readers.of(i).empty()) continue;
        auto& [queue, oldest] = holders[Place::lane(place[i])];
        const auto passed = [&](std::uint32_t holder) {
            return std::ranges::all_of(readers.of(holder), [&](std::uint32_t reader) {
                return Place::number(reader) < ended[i][Place::lane(reader)];
            });
        };
        if (oldest < queue.size() && passed(queue[oldest])) {
            slot[i] = slot[queue[oldest++]];
        } else {
            slot[i] = count++;
        }
        queue.push_back(i);
        if (Place::lane(place[i]) == sync_lane) begun = slot[i];
    }
}

}  // namespace orrery::sim
