#include "sim/collective/algorithms.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.hpp"
#include "base/text.hpp"
#include "sim/collective/all_to_all.hpp"
#include "sim/collective/broadcast.hpp"
#include "sim/collective/halving_doubling.hpp"
#include "sim/collective/hierarchical.hpp"
#include "sim/collective/in_network.hpp"
#include "sim/collective/nccl_tuning.hpp"
#include "sim/collective/parameter_server.hpp"
#include "sim/collective/ring.hpp"
#include "sim/collective/torus_ring.hpp"
#include "sim/collective/tree.hpp"

namespace orrery::sim {

namespace {

using kernels::CollectiveKind;
using enum kernels::CollectiveKind;

constexpr CollectiveKind reductions[] = {all_reduce, all_gather, reduce_scatter};
constexpr CollectiveKind rings[] = {all_reduce, all_gather, reduce_scatter, broadcast};
constexpr CollectiveKind trees[] = {all_reduce, broadcast};
constexpr CollectiveKind only_all_reduce[] = {all_reduce};
constexpr CollectiveKind only_all_to_all[] = {all_to_all};
constexpr CollectiveKind hierarchies[] = {all_reduce, all_to_all};
constexpr CollectiveKind pairs[] = {all_to_all, all_gather, reduce_scatter};

Schedule ring(CollectiveKind kind, const Group& group, double bytes) {
    return kind == broadcast ? chain_broadcast_schedule(group, bytes) : ring_schedule(kind, group, bytes);
}

/// Chips with links of their own take rings along the dimensions of the grid that they fill.
bool rings_of_torus(const Machine& machine, CollectiveKind kind, const Shape& shape) {
    return machine.chip_hop_seconds > 0 && kind != broadcast && !shape.grid.empty();
}

/// NCCL weighs trees for an all_reduce alone.
bool weighs_trees(const Machine& machine, CollectiveKind kind) {
    return kind == all_reduce && machine.chip_hop_seconds == 0 && machine.host_message_seconds == 0;
}

/// Messages leave by the GPU on the receiver's rail where it is reached by NVLink.
bool forwards(const Machine& machine, const Shape& shape) {
    return machine.nvlink && shape.nodes > 1 && shape.ranks > shape.nodes;
}

constexpr Algorithm table[] = {
    {"ring", "every rank passes to the next, a ring for every NIC", rings, Latencies::ring, true, ring_outline, ring,
     [](const Machine& m, CollectiveKind kind, const Shape& s) { return !rings_of_torus(m, kind, s); }},
    {"tree", "double binary tree over the nodes, a chain inside them", trees, Latencies::tree, true,
     [](CollectiveKind kind, const Shape& s) {
         return kind == broadcast ? tree_broadcast_outline(s) : tree_outline(s);
     },
     [](CollectiveKind kind, const Group& g, double bytes) {
         return kind == broadcast ? tree_broadcast_schedule(g, bytes) : tree_schedule(g, bytes);
     },
     [](const Machine& m, CollectiveKind kind, const Shape&) { return weighs_trees(m, kind); }},
    {"nvls_tree", "reduction in the NVSwitches, double binary tree between nodes", only_all_reduce,
     Latencies::in_switch, false, [](CollectiveKind, const Shape& s) { return in_switch_tree_outline(s); },
     [](CollectiveKind, const Group& g, double bytes) { return in_switch_tree_schedule(g, bytes); },
     [](const Machine& m, CollectiveKind kind, const Shape& s) {
         return weighs_trees(m, kind) && s.nodes > 1 && s.ranks >= 2 * s.nodes;
     }},
    {"sharp", "reduction in the switches of the network (CollNet)", only_all_reduce, Latencies::in_network, false,
     [](CollectiveKind, const Shape& s) { return in_network_outline(s); },
     [](CollectiveKind, const Group& g, double bytes) { return in_network_schedule(g, bytes); }},
    {"hierarchical", "inside every node, between nodes along the rails, inside again", hierarchies, Latencies::ring,
     false,
     [](CollectiveKind kind, const Shape& s) {
         return kind == all_to_all ? hierarchical_all_to_all_outline(s) : hierarchical_outline(s);
     },
     [](CollectiveKind kind, const Group& g, double bytes) {
         return kind == all_to_all ? hierarchical_all_to_all_schedule(g, bytes) : hierarchical_schedule(g, bytes);
     }},
    {"halving_doubling", "exchanges of halves with ever farther partners", reductions, Latencies::ring, false,
     halving_doubling_outline, halving_doubling_schedule},
    {"torus_ring", "rings along every dimension of a grid, both ways at once", reductions, Latencies::ring, false,
     torus_ring_outline, torus_ring_schedule, rings_of_torus},
    {"direct", "a message to every other rank, all at once", pairs, Latencies::messages, false, direct_outline,
     direct_schedule,
     [](const Machine& m, CollectiveKind kind, const Shape& s) {
         return kind == all_to_all && s.once >= 1 && !forwards(m, s);
     }},
    {"pxn", "direct, but leaving by the GPU on the receiver's rail", only_all_to_all, Latencies::messages, false,
     [](CollectiveKind, const Shape& s) { return pxn_outline(s); },
     [](CollectiveKind, const Group& g, double bytes) { return pxn_schedule(g, bytes); },
     [](const Machine& m, CollectiveKind, const Shape& s) { return s.once >= 1 && forwards(m, s); }},
    {"once_a_node", "what several of a node want goes there once, and on inside", only_all_to_all, Latencies::messages,
     false, [](CollectiveKind, const Shape& s) { return once_a_node_outline(s); },
     [](CollectiveKind, const Group& g, double bytes) { return once_a_node_schedule(g, bytes); },
     [](const Machine&, CollectiveKind, const Shape& s) { return s.once < 1; }},
    {"pairwise", "a message to every other rank, one after another", only_all_to_all, Latencies::messages, false,
     [](CollectiveKind, const Shape& s) { return pairwise_outline(s); },
     [](CollectiveKind, const Group& g, double bytes) { return pairwise_schedule(g, bytes); }},
    {"parameter_server", "a push to and a pull from a server on every node", only_all_reduce, Latencies::messages,
     false, [](CollectiveKind, const Shape& s) { return parameter_server_outline(s); },
     [](CollectiveKind, const Group& g, double bytes) { return parameter_server_schedule(g, bytes); }},
};

}  // namespace

bool Algorithm::serves(CollectiveKind kind) const { return std::ranges::find(kinds, kind) != kinds.end(); }

std::span<const Algorithm> algorithms() { return table; }

const Algorithm& find_algorithm(std::string_view name, CollectiveKind kind) {
    std::vector<std::string_view> names, serving;
    for (const Algorithm& algorithm : table) {
        names.push_back(algorithm.name);
        if (algorithm.serves(kind)) serving.push_back(algorithm.name);
    }
    const auto found = std::ranges::find(table, name, &Algorithm::name);
    if (found == std::end(table))
        throw Error(
            fmt::format("unknown algorithm \"{}\"", name),
            fmt::format("nearest: {}; for {}: {}", join(nearest(name, names)), kernels::name(kind), join(serving)));
    if (!found->serves(kind))
        throw Error(fmt::format("algorithm \"{}\" does not do {}", name, kernels::name(kind)),
                    "those that do: " + join(serving));
    return *found;
}

}  // namespace orrery::sim
