// Whether links that a folding supposes never to bind could carry what was sent over them.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/engine.hpp"
#include "sim/folding.hpp"

namespace orrery::sim {

/// Watches a step whose messages alone leave nodes, replayed by a folding that counts NICs alone (Binding::nics), for
/// the links that the folding of the same traffic by all links has besides. Rates that are max-min fair without a link,
/// and that it can carry, are so with it: where none was ever over its capacity, the step is as if all had counted.
class LinkLoads final : public RateWatch {
public:
    /// nics, all: the two foldings. They are not kept.
    LinkLoads(const Folding& nics, const Folding& all, const topology::Cluster& cluster);

    /// Whether it can be seen at all: no collective crosses nodes, and every message that crosses a watched link is a
    /// flow, over some NIC.
    static bool can_watch(const Folding& nics, const Folding& all);

    void rate(std::uint64_t tag, double before, double now) override;
    void settled() override;

    /// No link has been over its capacity.
    [[nodiscard]] bool all_held() const { return held_; }

private:
    struct Link {
        double capacity;
        double load = 0;  // bytes per second
        std::uint32_t flows = 0;
        bool changed = false;
    };

    std::vector<Link> links_;
    std::vector<std::uint32_t> first_;  // in uses_, by message of `nics`, and one more
    std::vector<LinkUse> uses_;         // of links_
    std::vector<std::uint32_t> changed_;
    bool held_ = true;
};

}  // namespace orrery::sim
