// What happens to links whatever the steps do: capacities that change, background traffic that begins and ends.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/engine.hpp"
#include "sim/folding.hpp"
#include "sim/perturbed.hpp"

namespace orrery::sim {

/// Sets its timers when made; their tags are first_tag + number, and happen(number) is to follow each.
class LinkEvents {
public:
    /// folding: the first job's; first: the first link of the fabric. All must outlive it. Background flows are streams
    /// of the engine, by their number.
    LinkEvents(const Perturbed& perturbed, const Folding& folding, topology::LinkId first, Engine& engine,
               std::uint64_t first_tag);

    void happen(std::uint64_t number);

private:
    enum class Kind : std::uint8_t { capacity, begin, end };
    struct Event {
        Kind kind;
        std::uint32_t which;      // link or background route
        double bytes_per_second;  // the link's from now on
    };
    void at(double seconds, const Event& event);

    const Folding& folding_;
    Engine& engine_;
    std::uint64_t first_tag_;
    std::vector<Event> events_;
};

}  // namespace orrery::sim
