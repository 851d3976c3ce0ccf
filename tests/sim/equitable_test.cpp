#include "sim/equitable.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <set>

#include "base/error.hpp"

namespace orrery::sim {
namespace {

using Classes = std::vector<std::uint32_t>;

ColouredGraph plain(std::uint32_t vertices, const std::vector<std::pair<std::uint32_t, std::uint32_t>>& edges) {
    ColouredGraph graph;
    graph.colour.assign(vertices, 0);
    for (const auto& [a, b] : edges) graph.edges.push_back({a, b, 0, 0});
    return graph;
}

ColouredGraph cycle(std::uint32_t vertices) {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;
    for (std::uint32_t v = 0; v < vertices; ++v) edges.emplace_back(v, (v + 1) % vertices);
    return plain(vertices, edges);
}

/// Each round gives vertices new classes by (old class, all they see): the definition, in quadratic time.
Classes refine_by_rounds(const ColouredGraph& graph) {
    using View = std::pair<std::uint32_t, std::multiset<std::pair<std::uint32_t, std::uint32_t>>>;
    const std::size_t vertices = graph.colour.size();
    Classes classes = graph.colour;
    for (std::size_t round = 0; round <= vertices; ++round) {
        std::vector<View> views(vertices);
        for (std::size_t v = 0; v < vertices; ++v) views[v].first = classes[v];
        for (const auto& edge : graph.edges) {
            views[edge.a].second.emplace(edge.label_from_a, classes[edge.b]);
            views[edge.b].second.emplace(edge.label_from_b, classes[edge.a]);
        }
        std::map<View, std::uint32_t> names;
        for (std::size_t v = 0; v < vertices; ++v)
            classes[v] = names.emplace(views[v], static_cast<std::uint32_t>(names.size())).first->second;
    }
    return classes;
}

std::uint32_t number_of_classes(const Classes& classes) {
    return classes.empty() ? 0 : *std::max_element(classes.begin(), classes.end()) + 1;
}

TEST(Equitable, EmptyGraphAndSingleVertex) {
    EXPECT_TRUE(equitable_partition({}).empty());
    EXPECT_EQ(equitable_partition(plain(1, {})), Classes{0});
    EXPECT_TRUE(is_equitable({}, {}));
}

TEST(Equitable, CycleIsOneClass) { EXPECT_EQ(equitable_partition(cycle(12)), Classes(12, 0)); }

TEST(Equitable, PathFoldsAboutItsMiddle) {
    EXPECT_EQ(equitable_partition(plain(5, {{0, 1}, {1, 2}, {2, 3}, {3, 4}})), (Classes{0, 1, 2, 1, 0}));
}

TEST(Equitable, CompleteBinaryTreeHasOneClassALevel) {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;
    for (std::uint32_t v = 1; v < 15; ++v) edges.emplace_back(v, (v - 1) / 2);
    EXPECT_EQ(equitable_partition(plain(15, edges)), (Classes{0, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3}));
}

TEST(Equitable, UnionOfCyclesIsNotToldApartButAPathIs) {
    // Two cycles of different length look alike to every vertex; the path beside them does not.
    auto graph = plain(9, {{0, 1}, {1, 2}, {2, 0}, {3, 4}, {4, 5}, {5, 6}, {6, 3}, {7, 8}});
    EXPECT_EQ(equitable_partition(graph), (Classes{0, 0, 0, 0, 0, 0, 0, 1, 1}));
}

TEST(Equitable, ColoursAreKeptApart) {
    auto graph = cycle(6);
    graph.colour = {7, 2, 7, 2, 7, 2};
    EXPECT_EQ(equitable_partition(graph), (Classes{0, 1, 0, 1, 0, 1}));
    graph.colour = {1, 0, 0, 0, 0, 0};
    EXPECT_EQ(equitable_partition(graph), (Classes{0, 1, 2, 3, 2, 1}));
}

TEST(Equitable, LabelsAndTheirEndsMatter) {
    // 0 - 1 and 2 - 3: the same edge, but the second pair reads different labels at its two ends.
    ColouredGraph graph = plain(4, {});
    graph.edges = {{0, 1, 5, 5}, {2, 3, 5, 6}};
    EXPECT_EQ(equitable_partition(graph), (Classes{0, 0, 1, 2}));
}

TEST(Equitable, ParallelEdgesAndLoopsAreCounted) {
    EXPECT_EQ(equitable_partition(plain(4, {{0, 1}, {0, 1}, {2, 3}})), (Classes{0, 0, 1, 1}));
    EXPECT_EQ(equitable_partition(plain(3, {{0, 0}, {1, 1}})), (Classes{0, 0, 1}));
}

TEST(Equitable, RefusesAnEdgeToNowhere) { EXPECT_THROW(equitable_partition(plain(2, {{0, 2}})), Error); }

TEST(Equitable, TheCheckFindsFaults) {
    const auto path = plain(3, {{0, 1}, {1, 2}});
    EXPECT_TRUE(is_equitable(path, Classes{0, 1, 0}));
    EXPECT_TRUE(is_equitable(path, Classes{0, 1, 2}));
    EXPECT_FALSE(is_equitable(path, Classes{0, 0, 0}));
    EXPECT_FALSE(is_equitable(path, Classes{0, 1}));
    auto coloured = cycle(4);
    coloured.colour = {0, 1, 0, 1};
    EXPECT_FALSE(is_equitable(coloured, Classes{0, 0, 0, 0}));
    ColouredGraph labelled = plain(4, {});
    labelled.edges = {{0, 1, 5, 5}, {2, 3, 5, 6}};
    EXPECT_FALSE(is_equitable(labelled, Classes{0, 0, 0, 0}));
}

TEST(Equitable, RandomRegularGraphsAreOneClass) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        SCOPED_TRACE(seed);
        std::mt19937_64 random(seed);
        const std::uint32_t vertices = 200;
        ColouredGraph graph = plain(vertices, {});
        for (int matching = 0; matching < 3; ++matching) {  // a union of three random cycles: degree 6
            std::vector<std::uint32_t> order(vertices);
            std::iota(order.begin(), order.end(), 0u);
            std::shuffle(order.begin(), order.end(), random);
            for (std::uint32_t i = 0; i < vertices; ++i)
                graph.edges.push_back({order[i], order[(i + 1) % vertices], 0, 0});
        }
        EXPECT_EQ(equitable_partition(graph), Classes(vertices, 0));
    }
}

TEST(Equitable, RandomGraphsAreCoarsestAndEquitable) {
    for (std::uint64_t seed = 0; seed < 400; ++seed) {
        SCOPED_TRACE(seed);
        std::mt19937_64 random(seed);
        const auto below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
        // Copies of one small graph, so that classes have several members, and a few edges that disturb them.
        const std::uint32_t part = 1 + below(7), copies = 1 + below(4), vertices = part * copies;
        ColouredGraph graph;
        std::vector<std::uint32_t> colours(part);
        for (auto& colour : colours) colour = below(2);
        for (std::uint32_t v = 0; v < vertices; ++v) graph.colour.push_back(colours[v % part]);
        for (std::uint32_t e = below(2 * part + 1); e > 0; --e) {
            const std::uint32_t a = below(part), b = below(part), from_a = below(3), from_b = below(3);
            for (std::uint32_t c = 0; c < copies; ++c)
                graph.edges.push_back({c * part + a, c * part + b, from_a, from_b});
        }
        for (std::uint32_t e = below(3); e > 0; --e) graph.edges.push_back({below(vertices), below(vertices), 0, 1});

        const Classes classes = equitable_partition(graph);
        EXPECT_TRUE(is_equitable(graph, classes));
        const Classes expected = refine_by_rounds(graph);
        EXPECT_EQ(classes, expected);
    }
}

TEST(Equitable, NumbersDoNotDependOnTheOrderOfEdges) {
    std::mt19937_64 random(3);
    ColouredGraph graph = plain(500, {});
    for (int e = 0; e < 600; ++e)
        graph.edges.push_back({static_cast<std::uint32_t>(random() % 500), static_cast<std::uint32_t>(random() % 500),
                               static_cast<std::uint32_t>(random() % 2), static_cast<std::uint32_t>(random() % 2)});
    const Classes before = equitable_partition(graph);
    std::shuffle(graph.edges.begin(), graph.edges.end(), random);
    EXPECT_EQ(equitable_partition(graph), before);
}

TEST(Equitable, LongPathIsNotQuadratic) {
    // Rounds would need 100,000 of 200,000 steps each here; the work list needs n log n.
    const std::uint32_t vertices = 200'000;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;
    for (std::uint32_t v = 1; v < vertices; ++v) edges.emplace_back(v - 1, v);
    const auto graph = plain(vertices, edges);
    const Classes classes = equitable_partition(graph);
    EXPECT_EQ(number_of_classes(classes), vertices / 2);
    EXPECT_EQ(classes.front(), classes.back());
    EXPECT_TRUE(is_equitable(graph, classes));
}

}  // namespace
}  // namespace orrery::sim
