// Links shared with background traffic and with other jobs, by hand.
#include "sim/sharing.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "sim/agreement.hpp"
#include "tests/sim/bench.hpp"
#include "topology/catalog.hpp"
#include "topology/link_name.hpp"

namespace orrery::sim {
namespace {

/// Four nodes of one GPU and one NIC, two on each leaf, one cable from each leaf to the spine. Ranks 0 and 1 of a
/// job of two are on different leaves; gradients are reduced after the backward pass, so nothing hides them.
constexpr const char* two_leaves = R"({
    "cluster": {"preset": "ethernet", "gpu": "A100-80GB", "nodes": 4, "gpus_per_node": 1, "nics_per_node": 1,
                "nic_rate": "100 Gb/s", "fabric": "xgft", "shape": "2x2", "parents": "1x1"},
    "strategy": {"tensor": 1, "pipeline": 1, "data": 2, "placement": "0,2", "overlap_grad_reduce": false},
    "training": {"global_batch_size": 4, "cuda_graph": true}})";

scenarios::Scenario pair_on_two_leaves() { return small_scenario(two_leaves); }

/// The same job on other GPUs.
scenarios::OtherJob same_job(const scenarios::Scenario& own, std::vector<std::uint32_t> gpus, double starts_at = 0) {
    scenarios::OtherJob job;
    job.name = "other";
    job.starts_at = starts_at;
    job.plan = own.plan;
    job.plan.placement = strategies::RankPlacement(std::move(gpus));
    return job;
}

/// Runs of one scenario and what they are made of.
struct Bench {
    explicit Bench(const scenarios::Scenario& of)
        : scenario(of),
          cluster(topology::build(of.cluster)),
          predictor(profiles().find(of.profile)),
          perturbed(of.perturbations, 1, cluster, of.plan),
          alone(of.plan, cluster, predictor),
          shared(of.plan, cluster, predictor,
                 {.perturbed = of.perturbations.none() ? nullptr : &perturbed, .others = of.other_jobs}) {}

    const scenarios::Scenario& scenario;
    topology::Cluster cluster;
    const calibrate::Predictor& predictor;
    Perturbed perturbed;
    RanStep alone, shared;
};

/// Bytes that the step's collectives put on each link of their ring, added up.
double collective_bytes(const Bench& bench) {
    const std::vector<topology::GpuId> gpus{0, 2};
    const auto path = bench.alone.network.path(gpus);
    double bytes = 0;
    for (const strategies::Op& op : bench.alone.program.programs.front().ops)
        if (const auto* c = std::get_if<strategies::Collective>(&op.what);
            c != nullptr && c->bytes >= 64 * 1024 && bench.alone.program.mesh.group_size(c->group) > 1)
            bytes += bench.alone.network.collective(c->kind, gpus, static_cast<double>(c->bytes), path).bytes;
    return bytes;
}

double uplink(const Bench& bench) { return bench.alone.network.capacity({.bytes_per_second = 12.5e9, .tier = 2}); }

TEST(TwoJobs, OverOneUplinkTakeTwiceAsLongForItsBytes) {
    auto scenario = pair_on_two_leaves();
    scenario.other_jobs = {same_job(scenario, {1, 3})};
    const Bench bench(scenario);
    const double bytes = collective_bytes(bench);
    ASSERT_GT(bytes, 1e8);
    const double longer = bytes / uplink(bench);
    EXPECT_NEAR(bench.shared.replayed.end, bench.alone.replayed.end + longer, 1e-9 * bench.alone.replayed.end);
    EXPECT_NEAR(bench.shared.others[0].replayed.end, bench.shared.replayed.end, 1e-12);
}

TEST(TwoJobs, OnTheirOwnLeavesAreAsIfAlone) {
    auto scenario = pair_on_two_leaves();
    scenario.plan.placement = strategies::RankPlacement({0, 1});
    scenario.other_jobs = {same_job(scenario, {2, 3})};
    const Bench bench(scenario);
    EXPECT_NEAR(bench.shared.replayed.end, bench.alone.replayed.end, 1e-9 * bench.alone.replayed.end);
    EXPECT_NEAR(bench.shared.others[0].replayed.end, bench.alone.replayed.end, 1e-9 * bench.alone.replayed.end);
}

TEST(TwoJobs, ThatStartLateMeetTheStepsAfterwards) {
    auto scenario = pair_on_two_leaves();
    const double alone = Bench(scenario).alone.replayed.end;
    scenario.other_jobs = {same_job(scenario, {1, 3}, 3 * alone)};
    const Bench late(scenario);
    EXPECT_NEAR(late.shared.replayed.end, alone, 1e-9 * alone) << "over before the other begins";
    const double other = late.shared.others[0].replayed.end - 3 * alone;
    EXPECT_NEAR(other, alone + collective_bytes(late) / uplink(late), 1e-9 * alone)
        << "the own job's fourth step begins with it";
}

TEST(TwoJobs, ASmallJobIsRepeatedBesideALargeOne) {
    auto scenario = pair_on_two_leaves();
    scenarios::OtherJob small = same_job(scenario, {1, 3});
    small.plan.training.global_batch = 2;
    scenario.plan.training.global_batch = 64;
    scenario.other_jobs = {small};
    const Bench bench(scenario);
    const RanStep alone_small(small.plan, bench.cluster, bench.predictor);
    EXPECT_NEAR(bench.shared.others[0].replayed.end, alone_small.replayed.end, 1e-9)
        << "its first step meets computing only";
    EXPECT_GT(bench.shared.replayed.end, bench.alone.replayed.end * 1.001) << "later ones meet the gradients";
    double own = 0, all = 0;
    for (std::size_t i = 0; i < bench.shared.link_bytes.size(); ++i) {
        own += bench.shared.replayed.own_bytes[i];
        all += bench.shared.link_bytes[i];
    }
    EXPECT_GT(all, 3 * own) << "many steps of the other";
}

TEST(Background, TakesItsRateFromTheUplink) {
    auto scenario = pair_on_two_leaves();
    scenario.perturbations.background = {scenarios::parse_background("node 1 nic 0 to node 3 nic 0 at 40 Gb/s")};
    const Bench bench(scenario);
    const double bytes = collective_bytes(bench), left = uplink(bench) - 5e9;
    EXPECT_NEAR(bench.shared.replayed.end, bench.alone.replayed.end + bytes / left - bytes / uplink(bench),
                1e-9 * bench.alone.replayed.end);
    scenario.perturbations.background.front().bytes_per_second = 1e12;
    EXPECT_NEAR(Bench(scenario).shared.replayed.end, bench.alone.replayed.end + bytes / uplink(bench),
                1e-9 * bench.alone.replayed.end)
        << "half of the uplink at most";
}

TEST(Background, OutsideItsWindowAndOnOtherLinksChangesNothing) {
    auto scenario = pair_on_two_leaves();
    const double alone = Bench(scenario).alone.replayed.end;
    for (const char* text : {"node 1 to node 3 at 100 Gb/s from 1 h", "node 1 to node 0 at 10 Gb/s to 1 us",
                             "node 3 to node 2 at 100 Gb/s to 1 us"}) {
        scenario.perturbations.background = {scenarios::parse_background(text)};
        EXPECT_NEAR(Bench(scenario).shared.replayed.end, alone, 1e-9 * alone) << text;
    }
}

TEST(Sharing, IsReported) {
    auto scenario = pair_on_two_leaves();
    scenario.other_jobs = {same_job(scenario, {1, 3})};
    const Prediction p = predict(scenario, profiles(), {});
    ASSERT_EQ(p.jobs.size(), 2U);
    EXPECT_EQ(p.jobs[0].shared_s, p.step_time_s);
    EXPECT_EQ(p.jobs[0].alone_s, p.planned_step_time_s);
    EXPECT_NEAR(p.jobs[1].alone_s, p.jobs[0].alone_s, 1e-12);
    EXPECT_NEAR(p.jobs[1].shared_s, p.jobs[0].shared_s, 1e-12);
    ASSERT_EQ(p.shared_links.size(), 1U) << "both uplinks and both downlinks are alike";
    EXPECT_EQ(p.shared_links[0].links, 4U);
    EXPECT_NE(p.shared_links[0].name.find("leaf"), std::string::npos);
    EXPECT_NEAR(p.shared_links[0].own_bytes, p.shared_links[0].other_bytes, 1);
    EXPECT_LT(p.shared_links[0].busy, 1);
    EXPECT_TRUE(p.advice.empty()) << "other plans would be simulated by themselves";
    const Prediction alone = predict(pair_on_two_leaves(), profiles(), {});
    EXPECT_TRUE(alone.jobs.empty() && alone.shared_links.empty());
}

TEST(Sharing, StepsThatAreTooUnlikeAreRefused) {
    auto scenario = pair_on_two_leaves();
    scenario.other_jobs = {same_job(scenario, {1, 3}, 3600)};
    try {
        (void)quick(scenario);
        ADD_FAILURE() << "repeated for an hour";
    } catch (const Error& error) {
        EXPECT_EQ(error.pointer(), "/other_jobs");
    }
}

/// Both engines: max-min with a bound on each stream's rate.
TEST(Sharing, AgreesWithTheReference) {
    auto scenario = pair_on_two_leaves();
    scenario.other_jobs = {same_job(scenario, {1, 3}, 1e-3)};
    scenario.perturbations.background = {
        scenarios::parse_background("node 1 nic 0 to node 2 nic 0 at 30 Gb/s from 1 ms to 1 s"),
        scenarios::parse_background("gpu 3 to gpu 0 at 70 Gb/s")};
    const Agreement engines = check_engine(scenario, profiles(), false);
    EXPECT_TRUE(engines.agrees()) << engines.text();
    const Agreement folding = check_folding(scenario, profiles(), EngineKind::fast);
    EXPECT_TRUE(folding.agrees()) << folding.text();
}

}  // namespace
}  // namespace orrery::sim
