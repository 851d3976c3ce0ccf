// Which vertices of a graph no counting of neighbours can tell apart: the classes a simulation can be folded by.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace orrery::sim {

/// Undirected graph with coloured vertices and labelled edges. The two ends of an edge may read different labels; an
/// edge from a vertex to itself counts once for each label.
struct ColouredGraph {
    std::vector<std::uint32_t> colour;  ///< per vertex; small numbers, as labels are: tables have a row for each
    struct Edge {
        std::uint32_t a, b;  ///< vertices
        std::uint32_t label_from_a, label_from_b;
    };
    std::vector<Edge> edges;
};

/// class of each vertex, numbered 0.. by first member: any two vertices of one class have, for every (label, class),
/// the same number of edges. Refines `colour`; the coarsest such partition, which is unique. Colour refinement with
/// a work list that leaves out the largest part of each split (Cardon and Crochemore, Partitioning a graph in
/// O(|A| log2 |V|), Theoretical Computer Science 19, 1982). Throws Error when an edge names no vertex.
std::vector<std::uint32_t> equitable_partition(const ColouredGraph& graph);

/// The independent check: whether `classes` (one a vertex) refines `colour` and is equitable.
bool is_equitable(const ColouredGraph& graph, std::span<const std::uint32_t> classes);

}  // namespace orrery::sim
