#include "sim/link_events.hpp"

#include <cmath>

namespace orrery::sim {

LinkEvents::LinkEvents(const Perturbed& perturbed, const Folding& folding, topology::LinkId first, Engine& engine,
                       std::uint64_t first_tag)
    : folding_(folding), engine_(engine), first_tag_(first_tag) {
    for (std::uint32_t link = 0; link < folding.capacities.size(); ++link) {
        const std::uint32_t mark = perturbed.marks().of_link(folding.link_example[link], first);
        for (const Pace& pace : perturbed.paces_of_link(mark))
            at(pace.at, {Kind::capacity, link, folding.capacities[link] / pace.factor});
    }
    for (std::uint32_t i = 0; i < folding.background.size(); ++i) {
        const BackgroundRoute& route = folding.background[i];
        if (route.uses == 0) continue;
        at(route.when.from, {Kind::begin, i, 0});
        if (std::isfinite(route.when.to)) at(route.when.to, {Kind::end, i, 0});
    }
}

void LinkEvents::at(double seconds, const Event& event) {
    engine_.timer(seconds, first_tag_ + events_.size());
    events_.push_back(event);
}

void LinkEvents::happen(std::uint64_t number) {
    const Event& event = events_[number];
    switch (event.kind) {
        case Kind::capacity: return engine_.capacity(event.which, event.bytes_per_second);
        case Kind::begin: {
            const BackgroundRoute& route = folding_.background[event.which];
            return engine_.stream(folding_.uses_of(route), route.bytes_per_second, event.which);
        }
        case Kind::end: return engine_.end_stream(event.which);
    }
}

}  // namespace orrery::sim
