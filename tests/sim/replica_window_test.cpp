// Windows of replicas, and trainings in two stages, from scenarios.
#include "sim/replica_window.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/error.hpp"
#include "models/operators.hpp"
#include "sim/predict.hpp"

namespace orrery::sim {
namespace {

constexpr const char* slow_worker = "scenarios/lectures/slow-worker.json";
constexpr const char* onebit = "scenarios/lectures/onebit-adam-bert-large.json";

Prediction predicted(const char* file, const std::vector<std::string>& set) {
    std::vector<scenarios::Override> overrides;
    for (const std::string& text : set) overrides.push_back(scenarios::parse_override(text));
    return predict(scenarios::load(file, overrides), {.scale_factor = false, .advice = false});
}

std::string refused_at(const std::vector<std::string>& set) {
    try {
        predicted(slow_worker, set);
    } catch (const Error& error) {
        EXPECT_FALSE(error.hint().empty());
        return error.pointer();
    }
    return "accepted";
}

TEST(ReplicaWindow, IsNotThereWhereNotAsked) {
    EXPECT_EQ(predicted(slow_worker, {"synchrony=null"}).synchrony, nullptr);
    EXPECT_FALSE(predicted(slow_worker, {}).warm_up);
}

TEST(ReplicaWindow, BulkSynchronousOverAllReduceIsThePredictedStep) {
    const Prediction p = predicted(slow_worker, {"synchrony={\"mode\": \"bsp\"}", "perturbations=null"});
    EXPECT_NEAR(p.synchrony->seconds / 100, p.step_time_s, 1e-9 * p.step_time_s);
    EXPECT_NEAR(p.synchrony->tokens_per_s(), p.tokens_per_s, 1e-6 * p.tokens_per_s);
}

TEST(ReplicaWindow, ServersTakeWhatALectureSays) {
    // Eight workers beside eight servers: 7/8 of gradients and of parameters cross each NIC each way.
    const Prediction p = predicted(slow_worker, {"perturbations=null"});
    const synchrony::Job& job = p.synchrony->job;
    const double parameters = job.pull_bytes / 4;
    EXPECT_NEAR(parameters, 25.56e6, 0.01e6) << "ResNet-50";
    EXPECT_EQ(job.push_bytes, job.pull_bytes);
    EXPECT_NEAR(job.server_bytes, parameters * 20 / 8, 1);
    const double bytes = 2 * parameters * 4 * 7 / 8, rate = job.links.front();
    EXPECT_NEAR(rate, 25e9 / 8, 0.1 * 25e9 / 8);
    EXPECT_NEAR(p.synchrony->seconds / 200, job.workers.front().compute_s + bytes / rate, 1e-6);
}

TEST(ReplicaWindow, OneServerIsTheBottleneckOfItsNode) {
    const Prediction p = predicted(slow_worker, {"perturbations=null", "synchrony.servers=1"});
    const synchrony::Job& job = p.synchrony->job;
    const double in = 7 * job.push_bytes / job.links.front();  // the worker beside it takes no NIC
    EXPECT_NEAR(p.synchrony->seconds / 200, job.workers.front().compute_s + 2 * in, 0.01 * in);
    const Prediction apart =
        predicted(slow_worker, {"perturbations=null", "synchrony.servers=1", "synchrony.server_nodes=own",
                                "cluster.nodes=9", "strategy.data=8"});
    EXPECT_NEAR(apart.synchrony->seconds / 200, job.workers.front().compute_s + 2 * in * 8 / 7, 0.01 * in);
}

TEST(ReplicaWindow, ASlowRankSlowsItsReplica) {
    const Prediction even = predicted(slow_worker, {"perturbations=null"}), slow = predicted(slow_worker, {});
    const double compute = slow.synchrony->job.workers.front().compute_s;
    EXPECT_EQ(compute, even.synchrony->job.workers.front().compute_s) << "as planned";
    EXPECT_GT(slow.synchrony->seconds, even.synchrony->seconds);
    EXPECT_GT(slow.synchrony->workers[1].waiting, 0.8 * compute * 200);
    const Prediction free = predicted(slow_worker, {"synchrony.mode=asp"});
    EXPECT_GT(free.synchrony->tokens_per_s(), 1.3 * slow.synchrony->tokens_per_s());
}

TEST(ReplicaWindow, DilocoHidesASlowNetworkAndKeepsAnAnchor) {
    const std::vector<std::string> base{"perturbations=null", "cluster.nic_rate=1 Gb/s"};
    const auto with = [&](const std::string& options) {
        std::vector<std::string> set = base;
        set.push_back("synchrony=" + options);
        return predicted(slow_worker, set);
    };
    const Prediction bsp = with(R"({"mode": "bsp"})");
    const Prediction local = with(R"({"mode": "local-sgd", "local_steps": 100})");
    const Prediction diloco = with(R"({"mode": "diloco", "local_steps": 100})");
    EXPECT_GT(local.synchrony->tokens_per_s(), 2 * bsp.synchrony->tokens_per_s());
    EXPECT_GT(diloco.synchrony->seconds, local.synchrony->seconds) << "the outer optimizer";
    EXPECT_LT(diloco.synchrony->seconds, 1.01 * local.synchrony->seconds);
    EXPECT_EQ(local.synchrony->job.extra_bytes, 0);
    EXPECT_NEAR(diloco.synchrony->job.extra_bytes, 25.56e6 * 8, 1e5);
    const double average = local.synchrony->job.reduce_s;
    EXPECT_NEAR(average, 2 * 25.56e6 * 4 * 7 / 8 / (1e9 / 8), 0.15 * average) << "a ring of eight at 1 Gb/s";
}

TEST(ReplicaWindow, WhatItDoesNotGoWithIsRefused) {
    EXPECT_EQ(refused_at({"strategy.data=1", "training.global_batch_size=32", "perturbations=null"}), "/synchrony");
    EXPECT_EQ(refused_at({"strategy.sharding=zero1"}), "/strategy/sharding");
    EXPECT_EQ(refused_at({"strategy.optimizer_cpu_offload=true"}), "/strategy/optimizer_cpu_offload");
    EXPECT_EQ(refused_at({"perturbations.jitter=0.1"}), "/perturbations/jitter");
    EXPECT_EQ(refused_at({"perturbations.background=[\"node 0 to node 1 at 1 GB/s\"]"}), "/perturbations/background");
    EXPECT_EQ(refused_at({"perturbations.slow_links=[\"leaf 0 - node 1 nic 0 x 4\"]"}), "/perturbations/slow_links");
    EXPECT_EQ(refused_at({"cluster.more_nodes=[\"1 x V100-16GB\"]"}), "/cluster/more_nodes");
    EXPECT_EQ(refused_at({"synchrony.servers=9"}), "/synchrony/servers");
    EXPECT_EQ(refused_at({"synchrony.server_nodes=own"}), "/synchrony/server_nodes");
    EXPECT_EQ(refused_at({"synchrony.mode=asp", "synchrony.staleness=2"}), "/synchrony/staleness");
    EXPECT_EQ(refused_at({"synchrony.mode=asp", "cluster.nodes=200", "strategy.data=200", "synchrony.steps=100000",
                          "training.global_batch_size=6400"}),
              "/synchrony/steps");
    const char* big = R"(synchrony={"mode": "asp", "steps": 1})";
    EXPECT_EQ(refused_at({big, "cluster.nodes=1500", "strategy.data=1500", "training.global_batch_size=48000"}),
              "/synchrony");
}

TEST(WarmUp, VolumeIsTheRatioOfThePaper) {
    const Prediction p = predicted(onebit, {});
    ASSERT_TRUE(p.warm_up);
    EXPECT_NEAR(p.warm_up->share, 23.0 / 152, 1e-6);
    EXPECT_NEAR(p.warm_up->bytes / p.warm_up->later_bytes, 16, 0.01);
    EXPECT_NEAR(p.warm_up->volume_ratio(), 1 / (p.warm_up->share + (1 - p.warm_up->share) / 16), 0.01);
    // 334 million parameters in fp16, 63/64 of them sent twice.
    const double parameters =
        static_cast<double>(models::parameters(models::build(scenarios::load(onebit).plan.model)));
    EXPECT_NEAR(p.warm_up->bytes, parameters * 2 * 2 * 63 / 64, 0.01 * p.warm_up->bytes);
}

TEST(WarmUp, ATrainingHasBothStages) {
    const Prediction p = predicted(onebit, {}),
                     plain = predicted(onebit, {"strategy.compression=null", "strategy.freeze_step=null"});
    EXPECT_FALSE(plain.warm_up);
    EXPECT_NEAR(p.warm_up->step_time_s, plain.step_time_s, 1e-9);
    const double steps = 152'000;
    EXPECT_NEAR(p.training_time_s, 23'000 * plain.step_time_s + (steps - 23'000) * p.step_time_s,
                1e-6 * p.training_time_s);
    const Prediction all = predicted(onebit, {"strategy.freeze_step=1000000"});
    EXPECT_NEAR(all.training_time_s, plain.training_time_s, 1e-6 * plain.training_time_s) << "it never ends";
    EXPECT_EQ(all.warm_up->volume_ratio(), 1);
    const Prediction unknown = predicted(onebit, {"outputs=null"});
    EXPECT_EQ(unknown.warm_up->share, 0);
}

}  // namespace
}  // namespace orrery::sim
