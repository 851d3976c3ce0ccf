// Links that can never be the bottleneck, so that neither the engine nor the folding has to look at them.
#pragma once

#include <vector>

#include "sim/hop_table.hpp"
#include "sim/network.hpp"
#include "sim/perturbed.hpp"
#include "topology/cluster.hpp"

namespace orrery::sim {

/// For each used link of `hops`, whether it is slack: the NICs whose traffic it can carry, on the sending or on the
/// receiving side, by what each puts there of what it carries, are together no faster than the link. Its constraint
/// then follows from theirs, and without it max-min rates are the same. NIC links are never slack, nor links that carry
/// a hop without a NIC, nor links that no contending hop crosses. In a fabric without oversubscription most links are
/// slack, which keeps the ranks of a stage alike wherever they sit.
std::vector<bool> slack_links(const HopTable& hops, const topology::Cluster& cluster, const Network& network,
                              const Marks& marks = {});

/// For each used link of `hops`, whether it is no NIC's.
std::vector<bool> not_of_nics(const HopTable& hops, const topology::Cluster& cluster);

/// The first link that can matter: 0, or the first of the fabric where every link inside a node is slack whatever the
/// traffic, because all NICs reached over it are together no faster.
topology::LinkId first_link_that_matters(const topology::Cluster& cluster, const Network& network);

}  // namespace orrery::sim
