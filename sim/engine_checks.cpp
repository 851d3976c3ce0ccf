#include "sim/engine_checks.hpp"

#include <fmt/format.h>

#include <cmath>

#include "base/error.hpp"

namespace orrery::sim {

void check_capacities(const std::vector<double>& bytes_per_second) {
    for (std::size_t l = 0; l < bytes_per_second.size(); ++l)
        if (!(bytes_per_second[l] > 0.0))
            throw Error(fmt::format("link {} has a capacity of {} bytes per second", l, bytes_per_second[l]),
                        "give each link a positive capacity; leave out links that are down");
}

void check_changed_capacity(double bytes_per_second) {
    if (!(bytes_per_second >= 0.0))
        throw Error(fmt::format("a link is given a capacity of {} bytes per second", bytes_per_second),
                    "0 stops it; negative means nothing");
}

void check_timer(double at, double now) {
    if (!(at >= now) || !std::isfinite(at))
        throw Error(fmt::format("a timer for {} s is set at {} s", at, now), "times are finite and not in the past");
}

void check_link(std::uint32_t link, std::size_t links) {
    if (link >= links) throw Error(fmt::format("no link {}: there are {}", link, links));
}

void check_flow(std::span<const LinkUse> uses, double bytes, double rate_limit, std::size_t links) {
    if (!(bytes >= 0.0) || !std::isfinite(bytes)) throw Error(fmt::format("a flow of {} bytes", bytes));
    if (!(rate_limit > 0.0))
        throw Error(fmt::format("a flow limited to {} bytes per second never ends", rate_limit),
                    "use infinity for no limit");
    for (const LinkUse& use : uses) {
        check_link(use.link, links);
        if (!(use.weight >= 0.0) || !std::isfinite(use.weight))
            throw Error(fmt::format("a flow uses link {} with weight {}", use.link, use.weight));
    }
}

void check_stream(std::span<const LinkUse> uses, double rate_limit, bool under_way, std::size_t links) {
    check_flow(uses, 1.0, rate_limit, links);
    if (!std::isfinite(rate_limit)) throw Error("a stream without a limit", "give it a rate in bytes per second");
    if (uses.empty()) throw Error("a stream over no link", "name a link");
    if (under_way) throw Error("two streams of one tag are under way");
}

}  // namespace orrery::sim
