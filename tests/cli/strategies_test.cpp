// Strategies through the command line, from scenarios that are shipped.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/cli/predictions.hpp"

namespace orrery::cli {
namespace {

using Json = nlohmann::json;

const std::string offloaded = "scenarios/gpt-5b-offload-dgx-2.json", windowed = "scenarios/gpt-1.3b-2bw-dgx-1v.json";

TEST(OptimizerOnTheHost, TheShippedScenarioFitsBecauseOfIt) {
    const Result text = orrery({"simulate", offloaded});
    EXPECT_EQ(text.exit, 0) << text.err;
    expect_words(text.out, {"optimizer on the host", "in host memory", "the host's cores update at"});
    const Json all = predicted(offloaded), none = predicted(offloaded, {"strategy.optimizer_cpu_offload=null",
                                                                        "strategy.overlap_cpu_optimizer_d2h_h2d=null"});
    EXPECT_TRUE(all["fits"]);
    EXPECT_FALSE(none["fits"]);
    EXPECT_EQ(none["host_memory_bytes"], 0);
    EXPECT_GT(all["host_memory_bytes"], 4.9e9 * 14) << "masters, moments and 16-bit gradients";
    EXPECT_GT(all["step_time_s"].get<double>(), none["step_time_s"].get<double>() + 0.5);
    const Json half = predicted(offloaded, {"strategy.optimizer_offload_fraction=0.5"});
    EXPECT_LT(half["step_time_s"].get<double>(), all["step_time_s"].get<double>());
    EXPECT_GT(half["memory_bytes"][0]["peak"], all["memory_bytes"][0]["peak"]);
}

/// Rajbhandari et al. 2021, arXiv:2104.07857, figure 5c: 100 billion parameters on one DGX-2, at "over 40 TFLOPs/GPU".
TEST(ZeroInfinity, ThePublishedModelFitsAtNoLessThanThePublishedRate) {
    const std::string shipped = "scenarios/gpt-100b-infinity-dgx-2.json";
    const Json all = predicted(shipped);
    EXPECT_TRUE(all["fits"]);
    EXPECT_GT(all["model_tflops_per_gpu"].get<double>(), 40);
    EXPECT_FALSE(predicted(shipped, {"strategy.offload_param_device=none"})["fits"]);
    const Json slow = predicted(shipped, {"storage.nvme_read_rate=2 GB/s"});
    EXPECT_GT(slow["step_time_s"], all["step_time_s"]);
    const Result unused = orrery({"simulate", shipped, "--set", "strategy.offload_optimizer_device=cpu", "--set",
                                  "strategy.offload_optimizer_pipeline_read=null", "--set",
                                  "strategy.offload_optimizer_pipeline_write=null"});
    EXPECT_EQ(unused.exit, 0) << "rates of drives that this plan does not use: " << unused.err;
}

TEST(OptimizerOnTheHost, KeysAreCheckedAndARunTakesThem) {
    const Result unused =
        orrery({"simulate", offloaded, "--set", "strategy.optimizer_cpu_offload=false", "--set",
                "strategy.overlap_cpu_optimizer_d2h_h2d=false", "--set", "strategy.optimizer_offload_fraction=0.5"});
    EXPECT_EQ(unused.exit, 2);
    expect_words(unused.err, {"/strategy/optimizer_offload_fraction: 0.5, but nothing is offloaded"});
    const Result run = orrery({"run", "scenarios/gpt-tiny-cpu.json", "--set", "strategy.optimizer_cpu_offload=true"});
    EXPECT_EQ(run.exit, 0) << run.err;
    expect_words(run.out, {"optimizer on the host"});
}

const std::string onebit = "lectures/onebit-adam-bert-large", slow_worker = "lectures/slow-worker";

TEST(OneBitAdam, BothStagesAreSaidAndARunRefusesIt) {
    const Result text = orrery({"simulate", onebit});
    EXPECT_EQ(text.exit, 0) << text.err;
    expect_words(text.out, {"1-bit Adam", "warm-up of 23,000 steps (15.1% of the training)", "times less"});
    const Json stages = predicted(onebit)["warm_up"];
    EXPECT_NEAR(stages["bytes_per_gpu"].get<double>() / stages["later_bytes_per_gpu"].get<double>(), 16, 0.1);
    EXPECT_EQ(predicted(onebit, {"outputs=null"})["warm_up"]["volume_ratio"], nullptr);
    EXPECT_FALSE(predicted(slow_worker).contains("warm_up"));
    const Result run = orrery({"run", "scenarios/gpt-tiny-cpu.json", "--set", "strategy.compression=onebit-adam",
                               "--set", "strategy.data=2", "--set", "training.precision=bf16"});
    EXPECT_EQ(run.exit, 2);
    expect_words(run.err, {"/strategy/compression: what is compressed cannot be exchanged yet"});
}

TEST(Synchrony, AWindowIsSaidAndARunRefusesIt) {
    const Result text =
        orrery({"simulate", slow_worker, "--set", "synchrony.mode=ssp", "--set", "synchrony.staleness=3"});
    EXPECT_EQ(text.exit, 0) << text.err;
    expect_words(text.out, {"ssp with staleness 3 over parameter servers", "replica", "waiting", "at most 3"});
    const Json window = predicted(slow_worker, {"synchrony.mode=asp", "outputs.token_budget=1M"})["synchrony"];
    EXPECT_EQ(window["mode"], "asp");
    EXPECT_EQ(window["replicas"].size(), 8U);
    EXPECT_EQ(window["updates"], 1600);
    EXPECT_NEAR(window["training_time_s"].get<double>() * window["tokens_per_s"].get<double>(), 1e6, 1);
    EXPECT_FALSE(predicted(onebit).contains("synchrony"));
    const Result averaged =
        orrery({"simulate", slow_worker, "--set", "synchrony={\"mode\": \"diloco\", \"local_steps\": 50}"});
    EXPECT_EQ(averaged.exit, 0) << averaged.err;
    expect_words(averaged.out, {"diloco, an average every 50 steps over all-reduce", "at most 49 (evenly",
                                "more a GPU for anchor and outer momentum"});
    const Result bound = orrery({"simulate", slow_worker, "--set", "synchrony.staleness=3"});
    EXPECT_EQ(bound.exit, 2);
    expect_words(bound.err, {"/synchrony/staleness: 3, but bsp has no such bound"});
    const Result run = orrery(
        {"run", "scenarios/gpt-tiny-cpu.json", "--set", "strategy.data=2", "--set", "synchrony={\"mode\": \"asp\"}"});
    EXPECT_EQ(run.exit, 2);
    expect_words(run.err, {"/synchrony: a real run's replicas meet in every step"});
    const Result search = orrery({"search", slow_worker, "--set", "perturbations=null"});
    EXPECT_EQ(search.exit, 2);
    expect_words(search.err, {"/synchrony: a plan is looked for whose replicas meet", "synchrony=null"});
}

TEST(WithoutFlushes, AStepHasNoBubbleAndWeightsHaveVersions) {
    const Json two = predicted(windowed), flushed = predicted(windowed, {"strategy.schedule=1f1b"});
    // The last stage has the logits as well and is the slowest, so that less than (16 + 7) / 16 is gained.
    const double gain = flushed["step_time_s"].get<double>() / two["step_time_s"].get<double>();
    EXPECT_GT(gain, 1.2);
    EXPECT_LT(gain, (16 + 7) / 16.0);
    const Json one = predicted(windowed, {"strategy.schedule=pipedream", "training.global_batch_size=4"});
    const auto weights = [](const Json& report, int stage) {
        return report["memory_bytes"][stage]["at_peak"]["weights"].get<double>();
    };
    for (int stage = 0; stage < 8; ++stage) {
        EXPECT_EQ(weights(two, stage), 2 * weights(flushed, stage));
        EXPECT_EQ(weights(one, stage), (8 - stage) * weights(flushed, stage));
    }
    EXPECT_GT(16 * one["step_time_s"].get<double>(), two["step_time_s"].get<double>()) << "it updates 16 times";
    EXPECT_LT(16 * one["step_time_s"].get<double>(), 1.5 * two["step_time_s"].get<double>());
}

TEST(WithoutFlushes, WhatItCannotDoIsRefused) {
    const auto refused = [](const std::vector<std::string>& changes) {
        std::vector<std::string> arguments{"simulate", windowed};
        for (const std::string& change : changes) arguments.insert(arguments.end(), {"--set", change});
        const Result result = orrery(arguments);
        EXPECT_EQ(result.exit, 2) << result.out;
        return result.err;
    };
    expect_words(refused({"model.tie_word_embeddings=true"}), {"/model/tie_word_embeddings"});
    expect_words(refused({"training.global_batch_size=16"}), {"/strategy/schedule", "a step has 4"});
    expect_words(refused({"perturbations.jitter=0.1"}), {"/perturbations"});
}

/// Two chunks in a V wait less than 1F1B.
TEST(ChunksInAV, WaitLessThanOneForwardOneBackward) {
    const std::vector<std::string> whole{"strategy.recompute=none", "training.micro_batch_size=1",
                                         "training.global_batch_size=24"};
    const auto with = [&](std::vector<std::string> changes) {
        changes.insert(changes.end(), whole.begin(), whole.end());
        return predicted(windowed, changes);
    };
    // 24 layers are no multiple of 8 stages of 2 chunks, but they are of 4.
    const Json v = with({"strategy.schedule=zb-v", "strategy.virtual_pipeline=2", "strategy.pipeline=4"}),
               plain = with({"strategy.schedule=1f1b", "strategy.pipeline=4"});
    EXPECT_LT(v["step_time_s"].get<double>(), plain["step_time_s"].get<double>());
    const Result run = orrery({"run", "scenarios/gpt-tiny-cpu.json", "--set", "strategy.pipeline=2", "--set",
                               "strategy.virtual_pipeline=2", "--set", "strategy.schedule=zb-v"});
    EXPECT_EQ(run.exit, 2);
    expect_words(run.err, {"/strategy/schedule: zb-v cannot be executed yet"});
}

/// Two copies of the model wait less than one, and weigh twice as much.
TEST(TwoWays, WaitLessAndWeighMore) {
    const auto with = [](const std::string& schedule) {
        return predicted(windowed, {"strategy.recompute=none", "training.micro_batch_size=1",
                                    "training.global_batch_size=16", "strategy.schedule=" + schedule});
    };
    const Json plain = with("1f1b");
    for (const char* schedule : {"chimera", "dualpipe"}) {
        const Json both = with(schedule);
        EXPECT_LT(both["step_time_s"].get<double>(), plain["step_time_s"].get<double>()) << schedule;
        const Result run =
            orrery({"run", "scenarios/gpt-tiny-cpu.json", "--set", "strategy.pipeline=2", "--set",
                    "strategy.schedule=" + std::string(schedule), "--set", "training.global_batch_size=32"});
        EXPECT_EQ(run.exit, 2);
        expect_words(run.err, {"/strategy/schedule: ", schedule, "cannot be executed yet"});
    }
    EXPECT_LT(with("zb-h2")["step_time_s"].get<double>(), with("zb-h1")["step_time_s"].get<double>());
    const Result few =
        orrery({"simulate", windowed, "--set", "strategy.schedule=chimera", "--set", "training.global_batch_size=16"});
    EXPECT_EQ(few.exit, 2);
    expect_words(few.err, {"/training/global_batch_size", "4 micro-batches", "8 stages, as chimera needs"});
}

}  // namespace
}  // namespace orrery::cli
