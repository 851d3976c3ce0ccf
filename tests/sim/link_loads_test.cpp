// Links that a folding supposes never to bind, and whether it is seen when they would have.
#include "sim/link_loads.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "sim/replay.hpp"
#include "sim/replicas.hpp"
#include "strategies/build.hpp"
#include "tests/sim/bench.hpp"
#include "topology/catalog.hpp"

namespace orrery::sim {
namespace {

constexpr double rounded = 1e-12;

Replayed replay_by(const strategies::StepProgram& step, const KindCosts& costs, const Network& network,
                   const Folding& folding, RateWatch* watch) {
    ReplayJob job{&step, &costs, &folding};
    job.record.resize(folding.classes.size());
    std::iota(job.record.begin(), job.record.end(), 0U);
    const auto engine = make_fluid_engine_under(run_by_itself, folding.capacities, watch);
    return std::move(replay({&job, 1}, network, *engine).jobs.front());
}

/// All that has a time by one folding has it by the other; the rest has none.
void expect_same_until_they_meet(const Folding& all, const Replayed& by_all, const Folding& nics,
                                 const Replayed& by_nics) {
    EXPECT_NEAR(by_nics.meets, by_all.meets, rounded * by_all.meets);
    for (const RankClass& rank : by_all.classes) {
        const RankClass& other = by_nics.classes[nics.class_of[rank.representative]];
        ASSERT_EQ(rank.spans.size(), other.spans.size());
        for (std::size_t op = 0; op < rank.spans.size(); ++op) {
            ASSERT_EQ(std::isnan(rank.spans[op].end), std::isnan(other.spans[op].end)) << op;
            if (std::isnan(rank.spans[op].end)) continue;
            EXPECT_NEAR(rank.spans[op].begin, other.spans[op].begin, rounded * by_all.meets) << op;
            EXPECT_NEAR(rank.spans[op].end, other.spans[op].end, rounded * by_all.meets) << op;
        }
    }
    EXPECT_LE(nics.classes.size(), all.classes.size());
}

enum class Seen : std::uint8_t { not_watched, held, overloaded };

/// Whether links other than NICs held; where they did, NICs alone say the same.
Seen check(const scenarios::Scenario& scenario) {
    const topology::Cluster cluster = topology::build(scenario.cluster);
    const Profiles of_gpus(profiles().find(scenario.profile));
    const Network network(cluster, of_gpus);
    const strategies::StepProgram step = strategies::build(scenario.plan);
    const Traffic whole(step, scenario.plan.placement), traffic = before_replicas_meet(step, whole);
    if (traffic == whole) return Seen::not_watched;
    const auto all = fold_ranks(traffic, cluster, network, true);
    const auto nics = fold_ranks(traffic, cluster, network, true, Binding::nics);
    if (!LinkLoads::can_watch(*nics, *all)) return Seen::not_watched;
    const KindCosts costs(step, scenario.plan, network, BesideCollectives::slowed, all.get());
    LinkLoads loads(*nics, *all, cluster);
    const Replayed by_nics = replay_by(step, costs, network, *nics, &loads);
    if (!loads.all_held()) return Seen::overloaded;
    expect_same_until_they_meet(*all, replay_by(step, costs, network, *all, nullptr), *nics, by_nics);
    return Seen::held;
}

/// Twelve replicas of four stages on 48 nodes, whose messages between scalable units share uplinks, one way each.
scenarios::Scenario sharing_uplinks(const std::string& strategy) {
    return small_scenario(fmt::format(
        R"({{"cluster": {{"nodes": 48, "routing": "minimal"}},
             "strategy": {{"tensor": 8, "pipeline": 4, "data": 12, {}}},
             "training": {{"global_batch_size": 96}}}})",
        strategy));
}

TEST(LinkLoads, HoldWhereFewSendAtOnce) {
    for (const char* schedule : {R"("schedule": "1f1b")", R"("schedule": "zb-h1")", R"("schedule": "gpipe")"}) {
        SCOPED_TRACE(schedule);
        EXPECT_EQ(check(sharing_uplinks(schedule)), Seen::held);
    }
}

/// From the last stage to the first, too, at one moment.
TEST(LinkLoads, AreOverWhereAllSendAtOnce) {
    EXPECT_EQ(check(sharing_uplinks(R"("schedule": "interleaved", "virtual_pipeline": 2)")), Seen::overloaded);
}

TEST(LinkLoads, OfRandomPlansHoldOnlyWhereNicsAloneSayTheSame) {
    std::mt19937_64 random(1);
    const auto below = [&](std::uint32_t end) { return static_cast<std::uint32_t>(random() % end); };
    std::array<int, 3> seen{};
    constexpr std::array schedules{"1f1b", "interleaved", "zb-h1", "gpipe", "zb-v", "dualpipe", "chimera"};
    for (int i = 0; i < 60; ++i) {
        const char* schedule = schedules[i % schedules.size()];
        const std::string chunks = std::string(schedule) == "interleaved" ? R"(, "virtual_pipeline": 2)" : "";
        const std::uint32_t tensor = 1U << below(4), data = 2 + below(6), pipeline = 2 + 2 * below(2);
        const std::uint32_t nodes = (tensor * data * pipeline + 7) / 8 + below(3);
        const std::string patch = fmt::format(
            R"({{"cluster": {{"preset": "{}", "nodes": {}, "oversubscription": {}}},
                 "strategy": {{"tensor": {}, "pipeline": {}, "data": {}, "schedule": "{}"{}}},
                 "training": {{"global_batch_size": {}}}}})",
            below(2) == 0 ? "superpod-a100" : "dgx-a100", nodes, 1 + below(4), tensor, pipeline, data, schedule, chunks,
            data * 8);
        SCOPED_TRACE(patch);
        try {
            ++seen[static_cast<std::size_t>(check(small_scenario(patch)))];
        } catch (const Error&) {  // no legal plan
        }
    }
    EXPECT_GE(seen[static_cast<std::size_t>(Seen::held)], 10);
}

}  // namespace
}  // namespace orrery::sim
