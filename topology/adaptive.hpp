// Adaptive routing: a pair of ports takes the least used of its minimal paths when its first message is routed, and
// keeps it, as switches do that place whole flows by load (Dragonfly's UGAL-L among minimal paths; Kim et al., ISCA
// 2008). So routes depend on which pairs were routed before; the same program asks in the same order.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "topology/fabric.hpp"

namespace orrery::topology {

class Failures;

class AdaptivePaths {
public:
    explicit AdaptivePaths(std::shared_ptr<const Fabric> fabric) : fabric_(std::move(fabric)) {}

    /// The pair's path: of at most 64 minimal ones, beginning with the usual one, that whose fullest trunk then has the
    /// most bytes per second for each pair. Paths over what has failed come last. failures: null when all works.
    std::uint32_t path(Port from, Port to, const Failures* failures);

private:
    std::uint32_t choose(Port from, Port to, const Failures* failures);

    std::shared_ptr<const Fabric> fabric_;
    std::mutex mutex_;
    std::unordered_map<std::uint64_t, std::uint32_t> chosen_;  // by both ports
    std::vector<std::uint32_t> pairs_over_;                    // by link
};

}  // namespace orrery::topology
