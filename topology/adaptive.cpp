#include "topology/adaptive.hpp"

#include <algorithm>
#include <limits>

#include "topology/routing.hpp"

namespace orrery::topology {

namespace {
constexpr std::uint32_t most_tried = 64;
}

std::uint32_t AdaptivePaths::path(Port from, Port to, const Failures* failures) {
    const std::scoped_lock lock(mutex_);
    const std::uint64_t pair = std::uint64_t{fabric_->port(from)} << 32 | fabric_->port(to);
    const auto known = chosen_.find(pair);
    if (known != chosen_.end()) return known->second;
    return chosen_[pair] = choose(from, to, failures);
}

std::uint32_t AdaptivePaths::choose(Port from, Port to, const Failures* failures) {
    pairs_over_.resize(fabric_->links(), 0);
    const std::uint32_t paths = fabric_->paths(from, to), tried = std::min(paths, most_tried);
    const std::uint32_t usual = fabric_->usual_path(from, to);
    std::vector<std::uint32_t> route, best_route;
    std::uint32_t best = usual;
    double best_rate = -1;
    for (std::uint32_t i = 0; i < tried; ++i) {
        const auto path = static_cast<std::uint32_t>((usual + std::uint64_t{i} * paths / tried) % paths);
        route.clear();
        fabric_->route(from, to, path, route);
        double rate = std::numeric_limits<double>::infinity();
        for (const std::uint32_t id : route) {
            if (id < fabric_->port_links()) continue;  // every path takes them
            rate = std::min(rate, fabric_->link(id).bytes_per_second / (pairs_over_[id] + 1));
        }
        if (failures != nullptr && failures->blocks(route)) rate = 0;
        if (rate <= best_rate) continue;
        best = path, best_rate = rate;
        best_route = route;
    }
    for (const std::uint32_t id : best_route) ++pairs_over_[id];
    return best;
}

}  // namespace orrery::topology
