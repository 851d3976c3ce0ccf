// A folding of traffic that differs from another's by groups that tell no ranks apart.
#pragma once

#include <memory>

#include "sim/folding.hpp"

namespace orrery::sim {

/// The classes of `known` (folded, by all links, nothing marked) for other traffic, or nothing. An equitable partition
/// stays one when groups are taken out of its graph, and when a group of all ranks comes in, which each of them sees
/// once. So the traffic may lack groups of `known` that do not contend, and have groups of the whole job that do not;
/// all else must be the same. Exact, if perhaps finer than fold_ranks(), and without a graph.
std::shared_ptr<const Folding> fold_like(const Folding& known, const Traffic& traffic, const Network& network);

}  // namespace orrery::sim
