// Every algorithm moves the bytes that its formula says.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <set>

#include "base/error.hpp"
#include "sim/collective/algorithms.hpp"
#include "sim/collective/all_to_all.hpp"
#include "sim/collective/parameter_server.hpp"
#include "sim/collective/torus_ring.hpp"
#include "sim/collective/tree.hpp"

namespace orrery::sim {
namespace {

using kernels::CollectiveKind;
using enum kernels::CollectiveKind;
using topology::GpuId;

/// `local` GPUs of each of `nodes` nodes of eight.
Group group(std::uint32_t nodes, std::uint32_t local) {
    std::vector<GpuId> gpus;
    for (std::uint32_t node = 0; node < nodes; ++node)
        for (std::uint32_t i = 0; i < local; ++i) gpus.push_back(node * 8 + i);
    return {gpus, 8};
}

struct Case {
    std::uint32_t nodes, local;
    double bytes;
};

/// Random shapes; powers of two when asked.
std::vector<Case> cases(bool powers) {
    std::mt19937_64 random(20250607);
    std::vector<Case> list;
    for (int i = 0; i < 40; ++i) {
        auto nodes = static_cast<std::uint32_t>(1 + random() % 20),
             local = static_cast<std::uint32_t>(1 + random() % 8);
        if (powers) nodes = 1U << random() % 5, local = 1U << random() % 4;
        list.push_back({nodes, local, 1e3 * static_cast<double>(1 + random() % 1000000)});
    }
    return list;
}

void expect_near(double actual, double expected, const char* what) {
    EXPECT_NEAR(actual, expected, 1e-9 * std::max(1.0, expected)) << what;
}

TEST(Bytes, NodesAreLeftByWhatTheOutlineSays) {
    for (const Algorithm& algorithm : algorithms()) {
        const bool halves = algorithm.name == "halving_doubling";
        for (const CollectiveKind kind : algorithm.kinds)
            for (const Case& c : cases(halves)) {
                SCOPED_TRACE(testing::Message()
                             << algorithm.name << ' ' << kernels::name(kind) << ' ' << c.nodes << " x " << c.local);
                if (algorithm.name == "torus_ring") continue;  // GridsMoveTheLeast
                const Group members = group(c.nodes, c.local);
                const double formula = algorithm.outline(kind, members.shape()).node_bytes * c.bytes;
                const double moved = busiest_node_bytes(algorithm.schedule(kind, members, c.bytes), members);
                // Small trees have nodes that are leaves twice.
                const bool tree = algorithm.latencies == Latencies::tree || algorithm.latencies == Latencies::in_switch;
                if (tree && c.nodes > 2) {
                    EXPECT_LE(moved, formula * (1 + 1e-9));
                    EXPECT_GE(moved, formula * (kind == broadcast && c.nodes < 4 ? 0.99 : 0.74));
                } else {
                    expect_near(moved, formula, "bytes out of a node");
                }
            }
    }
}

TEST(Bytes, RingsSendTheBusTrafficAtEveryRank) {
    for (const CollectiveKind kind : {all_reduce, all_gather, reduce_scatter})
        for (const Case& c : cases(false)) {
            const Group members = group(c.nodes, c.local);
            const double bus = kernels::bus_factor(kind, members.ranks()) * c.bytes;
            const Schedule schedule = find_algorithm("ring", kind).schedule(kind, members, c.bytes);
            for (const double sent : sent_bytes(schedule, members)) expect_near(sent, bus, "sent");
            for (const double received : received_bytes(schedule, members)) expect_near(received, bus, "received");
        }
}

TEST(Bytes, HalvingAndHierarchiesSendWhatARingDoes) {
    for (const Case& c : cases(true)) {
        const Group members = group(c.nodes, c.local);
        const double bus = kernels::bus_factor(all_reduce, members.ranks()) * c.bytes;
        const Schedule halves = find_algorithm("halving_doubling", all_reduce).schedule(all_reduce, members, c.bytes);
        for (const double sent : sent_bytes(halves, members)) expect_near(sent, bus, "halving doubling");
        // (l - 1)/l twice and 2 (k - 1)/k / l: the same sum.
        const Schedule levels = find_algorithm("hierarchical", all_reduce).schedule(all_reduce, members, c.bytes);
        for (const double sent : sent_bytes(levels, members)) expect_near(sent, bus, "hierarchical");
    }
}

TEST(Bytes, EveryRankOfABroadcastReceivesTheDataOnce) {
    for (const char* name : {"ring", "tree"})
        for (const Case& c : cases(false)) {
            const Group members = group(c.nodes, c.local);
            const Schedule schedule = find_algorithm(name, broadcast).schedule(broadcast, members, c.bytes);
            const auto received = received_bytes(schedule, members);
            if (c.nodes == 1) {
                EXPECT_EQ(received.front(), 0) << name;
            }
            for (std::size_t i = members.node(0).size(); i < received.size(); ++i)
                expect_near(received[i], c.bytes, name);
        }
}

TEST(Bytes, AllToAllGivesEveryPairItsShare) {
    for (const char* name : {"direct", "pairwise", "pxn"})
        for (const Case& c : cases(false)) {
            const Group members = group(c.nodes, c.local);
            const Schedule schedule = find_algorithm(name, all_to_all).schedule(all_to_all, members, c.bytes);
            std::map<std::pair<GpuId, GpuId>, double> pairs;
            for (const Phase& phase : schedule.phases)
                for (const Leg& t : expanded(phase, members)) {
                    pairs[{t.from, t.to}] += t.bytes;
                    EXPECT_EQ(t.via / 8, t.from / 8) << "NVLink reaches only the sender's node";
                    if (std::string_view(name) == "pxn" && t.from / 8 != t.to / 8) {
                        EXPECT_EQ(t.via % 8, t.to % 8);
                    }
                }
            EXPECT_EQ(pairs.size(), std::size_t{members.ranks()} * (members.ranks() - 1)) << name;
            for (const auto& [pair, bytes] : pairs) expect_near(bytes, c.bytes / members.ranks(), name);
        }
}

/// Each token once to a node: what leaves one shrinks by Shape::once, what moves inside does not.
TEST(Bytes, TokensGoToANodeOnce) {
    for (const Case& c : cases(false))
        for (const double once : {1.0, 0.7, 0.25}) {
            std::vector<GpuId> gpus;
            for (std::uint32_t node = 0; node < c.nodes; ++node)
                for (std::uint32_t i = 0; i < c.local; ++i) gpus.push_back(node * 8 + i);
            const Group members(gpus, 8, {}, once);
            const Algorithm& algorithm = find_algorithm("once_a_node", all_to_all);
            const Schedule schedule = algorithm.schedule(all_to_all, members, c.bytes);
            const double direct = direct_outline(all_to_all, members.shape()).node_bytes;
            const double moved = busiest_node_bytes(schedule, members);
            expect_near(moved, once * direct * c.bytes, "out of a node");
            if (c.nodes > 1) {
                expect_near(algorithm.outline(all_to_all, members.shape()).rank_bytes, (c.local - 1.0) / c.local,
                            "inside");
            }
        }
}

/// (n - 1)/n S is the least that any reduce_scatter sends; a torus sends no more, over all links evenly.
TEST(Bytes, GridsMoveTheLeast) {
    for (const Grid& grid :
         {Grid{{4, 4, 4}}, Grid{{8, 2}}, Grid{{5, 3, 2}}, Grid{{7}}, Grid{{16, 16}}, Grid{{4, 4}, 3}}) {
        const auto n = std::accumulate(grid.extents.begin(), grid.extents.end(), grid.slices, std::multiplies<>{});
        std::vector<GpuId> gpus(n);
        std::iota(gpus.begin(), gpus.end(), 0U);
        const Group members(gpus, 1, grid);
        for (const CollectiveKind kind : {all_reduce, all_gather, reduce_scatter}) {
            const Schedule schedule = torus_ring_schedule(kind, members, 1e6);
            for (const double sent : sent_bytes(schedule, members))
                expect_near(sent, kernels::bus_factor(kind, n) * 1e6, "sent");
            expect_near(torus_ring_outline(kind, members.shape()).node_bytes, kernels::bus_factor(kind, n), "outline");
        }
        std::map<std::pair<GpuId, GpuId>, double> hops, legs;
        for (const Leg& hop : torus_ring_hops(members, kernels::bus_factor(all_gather, n)))
            hops[{hop.from, hop.to}] += hop.bytes;
        for (const Phase& phase : torus_ring_schedule(all_gather, members, 1.0).phases)
            for (const Leg& leg : phase.legs) legs[{leg.from, leg.to}] += leg.bytes;
        ASSERT_EQ(hops.size(), legs.size());
        for (const auto& [pair, bytes] : legs) expect_near(hops[pair], bytes, "hops are the schedule's");
    }
    EXPECT_THROW((void)torus_ring_schedule(all_reduce, group(4, 1), 1e6), Error) << "no grid";
}

TEST(Bytes, AServerReceivesFromEveryWorker) {
    const Group members = group(1, 8);
    EXPECT_DOUBLE_EQ(received_bytes(push_schedule(members, 100), members).front(), 700) << "(n - 1) S";
    EXPECT_DOUBLE_EQ(sent_bytes(pull_schedule(members, 100), members).front(), 700);
    const Group many = group(4, 8);
    EXPECT_DOUBLE_EQ(busiest_node_bytes(push_schedule(many, 100), many), 24 * 100 / 4.0);
}

TEST(Trees, JoinEveryNodeAndAreDeepByTheLogarithm) {
    for (std::uint32_t nodes = 1; nodes <= 300; ++nodes)
        for (const auto& parent : {binary_tree(nodes), second_tree(nodes)}) {
            std::vector<std::uint32_t> children(nodes);
            std::uint32_t roots = 0;
            for (std::uint32_t i = 0; i < nodes; ++i) {
                if (parent[i] == i)
                    ++roots;
                else
                    ++children[parent[i]];
                std::uint32_t at = i, steps = 0;
                while (parent[at] != at && steps <= 10) at = parent[at], ++steps;
                EXPECT_LE(steps, 10U) << nodes;
            }
            EXPECT_EQ(roots, 1U) << nodes;
            EXPECT_LE(*std::ranges::max_element(children), 2U) << nodes;
        }
}

/// What is inside one tree is a leaf of the other: that is why two of them use the links fully.
TEST(Trees, NoNodeIsInsideBoth) {
    for (std::uint32_t nodes = 2; nodes <= 300; ++nodes) {
        const auto a = binary_tree(nodes), b = second_tree(nodes);
        std::vector<std::uint32_t> inside_a(nodes), inside_b(nodes);
        for (std::uint32_t i = 0; i < nodes; ++i) {
            if (a[i] != i) ++inside_a[a[i]];
            if (b[i] != i) ++inside_b[b[i]];
        }
        for (std::uint32_t i = 0; i < nodes; ++i)
            EXPECT_LE(inside_a[i] + inside_b[i], 2U + (nodes > 2 ? 1U : 0U)) << nodes;
    }
}

TEST(Groups, RefuseWhatIsNoGroup) {
    EXPECT_THROW(Group(std::vector<GpuId>{}, 8), Error);
    EXPECT_THROW(Group(std::vector<GpuId>{3, 2}, 8), Error);
    EXPECT_THROW(Group(std::vector<GpuId>{3, 3}, 8), Error);
    const Group uneven(std::vector<GpuId>{0, 1, 2, 9, 16, 17}, 8);
    EXPECT_EQ(uneven.nodes(), 3U);
    EXPECT_EQ(uneven.rails(), 1U);
    EXPECT_THROW((void)find_algorithm("hierarchical", all_reduce).schedule(all_reduce, uneven, 8), Error);
}

TEST(Algorithms, AreFoundByNameForWhatTheyDo) {
    for (const Algorithm& algorithm : algorithms())
        for (const CollectiveKind kind : algorithm.kinds) EXPECT_EQ(&find_algorithm(algorithm.name, kind), &algorithm);
    EXPECT_THROW((void)find_algorithm("rings", all_reduce), Error);
    EXPECT_THROW((void)find_algorithm("tree", all_to_all), Error);
}

}  // namespace
}  // namespace orrery::sim
