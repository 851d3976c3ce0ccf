// orrery run and orrery compare: real steps of a tiny model, alone and as two ranks, and runs that fail.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <fstream>
#include <future>
#include <nlohmann/json.hpp>
#include <thread>

#include "run/progress.hpp"
#include "tests/cli/process.hpp"

namespace orrery::cli {
namespace {

using Json = nlohmann::json;
using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr const char* tiny = "scenarios/gpt-tiny-cpu.json";

using Words = std::vector<std::string>;

class RunTest : public testing::Test {
protected:
    [[nodiscard]] Json run(const std::vector<std::string>& more = {}, const std::string& steps = "6") const {
        std::vector<std::string> arguments{"run", tiny, "--steps", steps, "--json", "-"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        const Result result = orrery(arguments);
        EXPECT_EQ(result.exit, 0) << result.err;
        return result.exit == 0 ? Json::parse(result.out) : Json();
    }

    static std::vector<double> losses(const Json& report) {
        std::vector<double> all;
        for (const Json& step : report.at("measured").at("steps")) all.push_back(step.at("loss"));
        return all;
    }
    /// Losses of so many steps of a scenario, changed so.
    static std::vector<double> losses_of(const char* scenario, const char* steps, const Words& more) {
        Words all{"run", scenario, "--steps", steps, "--json", "-"};
        all.insert(all.end(), more.begin(), more.end());
        const Result result = orrery(all);
        EXPECT_EQ(result.exit, 0) << result.err;
        return losses(Json::parse(result.out));
    }

    /// Six steps of a scenario on one rank learn, and take the same losses on every mesh.
    static void expect_the_same(const char* scenario, const Words& changes, const std::vector<Words>& meshes) {
        const std::vector<double> expected = losses_of(scenario, "6", changes);
        ASSERT_EQ(expected.size(), 6U);
        EXPECT_LT(expected.back(), expected.front());
        for (const Words& mesh : meshes) {
            Words more = changes;
            more.insert(more.end(), mesh.begin(), mesh.end());
            const std::vector<double> found = losses_of(scenario, "6", more);
            ASSERT_EQ(found.size(), expected.size());
            for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-4 * expected[i]);
        }
    }

    Folder folder_;
};

TEST_F(RunTest, TrainsAndReportsAsASimulationDoes) {
    const Result result = orrery({"run", tiny, "--steps", "6"});
    EXPECT_EQ(result.exit, 0) << result.err;
    for (const char* word :
         {"1 GPUs  TP1 PP1 DP1", "time (ms)", "GEMM", "memory (MiB)", "LOSS", "3 of warm-up", "held by"})
        EXPECT_NE(result.out.find(word), std::string::npos) << word << " is missing from\n" << result.out;
}

/// What orrery-device measured on a machine that has it alone is reported like a run of one's own.
TEST_F(RunTest, ReportsWhatWasMeasuredElsewhere) {
    const std::string plan = folder_ / "plan.json", there = folder_ / "there.json";
    ASSERT_EQ(orrery({"run", tiny, "--steps", "6", "--plan", plan}).exit, 0);
    const Result ran = Running(Command{{ORRERY_DEVICE_PROGRAM, "run", plan, "--out", there}}).wait();
    ASSERT_EQ(ran.exit, 0) << ran.err;
    const Json report = run({"--measured", there});
    EXPECT_EQ(losses(report), losses(run()));
    EXPECT_EQ(report.at("measured").at("steps").size(), 6U);
    const Result other = orrery({"run", tiny, "--set", "strategy.data=2", "--measured", there});
    EXPECT_EQ(other.exit, 2);
    EXPECT_NE(other.err.find("/plan/strategy/data: 1 in the plan that ran, and 2 in this scenario"), std::string::npos)
        << other.err;
    const Result longer = orrery({"run", tiny, "--set", "training.seq_length=32", "--measured", there});
    EXPECT_EQ(longer.exit, 2) << "as many ranks and operations";
    EXPECT_NE(longer.err.find("/plan/training/seq_length"), std::string::npos) << longer.err;
    const Result alone = orrery({"run", tiny, "--measured", there, "--only-rank", "0", "--elide-communication"});
    EXPECT_EQ(alone.exit, 2);
    EXPECT_NE(alone.err.find("is of all ranks"), std::string::npos) << alone.err;
}

TEST_F(RunTest, OffloadedLayersLearnTheSameInLessMemory) {
    const Json all = run(), some = run({"--set", "strategy.cpu_offloading_num_layers=2"});
    EXPECT_EQ(losses(some), losses(all)) << "the same operations on the same numbers";
    EXPECT_LT(some.at("peak_memory_bytes")[0], all.at("peak_memory_bytes")[0]);
    EXPECT_GT(some.at("memory_bytes")[0].at("host"), 0);
}

TEST_F(RunTest, TwoRanksLearnWhatOneLearns) {
    const Json one = run();
    const std::vector<double> expected = losses(one);
    ASSERT_EQ(expected.size(), 6U);
    EXPECT_LT(expected.back(), expected.front());
    EXPECT_GT(one.at("step_time_s"), 0);
    for (const char* change : {"strategy.tensor=2", "strategy.pipeline=2", "strategy.data=2", "strategy.context=2"}) {
        SCOPED_TRACE(change);
        const Json two = run({"--set", change});
        EXPECT_EQ(two.at("measured").at("ranks").size(), 2U);
        EXPECT_EQ(two.at("operations").at("ranks").size(), 2U);
        const std::vector<double> found = losses(two);
        ASSERT_EQ(found.size(), expected.size());
        for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-4 * expected[i]);
    }
}

TEST_F(RunTest, AnOptimizerInHostMemoryLearnsTheSame) {
    const Json device = run();
    for (const char* overlap : {"false", "true"}) {
        const Json host = run({"--set", "strategy.optimizer_cpu_offload=true", "--set",
                               std::string("strategy.overlap_cpu_optimizer_d2h_h2d=") + overlap});
        const std::vector<double> expected = losses(device), found = losses(host);
        ASSERT_EQ(found.size(), expected.size());
        for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-5 * expected[i]);
        EXPECT_GT(host.at("memory_bytes")[0].at("host"), 0);
        EXPECT_LT(host.at("peak_memory_bytes")[0], device.at("peak_memory_bytes")[0]);
    }
}

TEST_F(RunTest, StepsWithoutFlushesAreOneProgram) {
    const std::vector<std::string> stages{"--set", "strategy.pipeline=2",
                                          "--set", "model.tie_word_embeddings=false",
                                          "--set", "training.global_batch_size=8"};
    std::vector<std::string> open = stages;
    open.insert(open.end(), {"--set", "strategy.schedule=pipedream-2bw"});
    const Json late = run(open, "8");
    const std::vector<double> found = losses(late), flushed = losses(run(stages, "8"));
    ASSERT_EQ(found.size(), 8U);
    EXPECT_NEAR(found.front(), flushed.front(), 1e-5 * flushed.front()) << "the first weights are the same";
    EXPECT_GT(std::abs(found.back() - flushed.back()), 1e-5 * flushed.back()) << "a step late";
    EXPECT_LT(found.back(), found.front());
    double longest = 0, shortest = 1e9;
    for (const Json& step : late.at("measured").at("steps")) {
        longest = std::max<double>(longest, step.at("seconds"));
        shortest = std::min<double>(shortest, step.at("seconds"));
    }
    EXPECT_GT(shortest, 0);
    EXPECT_GE(late.at("step_time_s").get<double>(), shortest);
    EXPECT_LE(late.at("step_time_s").get<double>(), longest);
}

/// Experts divided over two ranks, over two that split each, and over one.
TEST_F(RunTest, ExpertsLearnTheSameOnEveryMesh) {
    expect_the_same("scenarios/mixtral-tiny-cpu.json",
                    {"--set", "model.hidden_size=64", "--set", "model.num_hidden_layers=2"},
                    {{"--set", "strategy.data=2", "--set", "strategy.expert=2"},
                     {"--set", "strategy.tensor=2", "--set", "strategy.sequence_parallel=true"}});
}

/// Masks are of the model's elements, whichever rank holds them, and drawn again where a forward runs again.
TEST_F(RunTest, DropoutsLearnTheSameOnEveryMesh) {
    const Words drops{"--set", "training.dropout=0.1"};
    expect_the_same(tiny, drops,
                    {{"--set", "strategy.tensor=2", "--set", "strategy.sequence_parallel=true"},
                     {"--set", "strategy.data=2", "--set", "strategy.recompute=full"},
                     {"--set", "strategy.pipeline=2"}});
    const std::vector<double> dropped = losses_of(tiny, "6", drops);
    EXPECT_EQ(dropped, losses_of(tiny, "6", drops)) << "a run repeats itself";
    EXPECT_GT(std::abs(dropped.front() - losses_of(tiny, "6", {}).front()), 1e-4);
    const Result shared = orrery({"run", tiny, "--set", "training.dropout=0.1", "--set", "strategy.context=2"});
    EXPECT_EQ(shared.exit, 2);
    EXPECT_NE(shared.err.find("/training/dropout"), std::string::npos) << shared.err;
    EXPECT_NE(shared.err.find("hint:"), std::string::npos) << shared.err;
}

/// By products, softmax and dropout of their own: what fused attention learns.
TEST_F(RunTest, AttentionThatIsNotFusedLearnsTheSame) {
    const Words unfused{"--set", "training.fused_attention=false"};
    expect_the_same(tiny, {"--set", "training.dropout=0.1"},
                    {unfused,
                     {"--set", "training.fused_attention=false", "--set", "strategy.tensor=2"},
                     {"--set", "training.fused_attention=false", "--set", "strategy.recompute=selective"}});
    const Json apart = run(unfused);
    EXPECT_NE(apart.dump().find("attention scores dgrad queries"), std::string::npos);
}

constexpr const char* tiny_t5 = "scenarios/t5-tiny-cpu.json";

TEST_F(RunTest, AnEncoderAndADecoderLearnTheSameOnEveryMesh) {
    expect_the_same(tiny_t5, {},
                    {{"--set", "strategy.data=2", "--set", "strategy.sharding=zero3"},
                     {"--set", "strategy.tensor=2", "--set", "strategy.sequence_parallel=true"}});
}

TEST_F(RunTest, RefusesWhatAnEncoderAndADecoderCannot) {
    const std::vector<std::pair<std::string, std::string>> cases{
        {"training.dropout=0.1", "/training/dropout"},
        {"model.relative_attention_num_buckets=2", "/model/relative_attention_num_buckets"},
        {"strategy.cpu_offloading_num_layers=1", "/strategy/cpu_offloading_num_layers"},
        {"strategy.pipeline=2", "/strategy/pipeline"},
        {"training.fused_attention=false", "/training/fused_attention"},
    };
    for (const auto& [change, pointer] : cases) {
        const Result result = orrery({"run", tiny_t5, "--set", change});
        EXPECT_EQ(result.exit, 2) << result.err;
        EXPECT_NE(result.err.find(pointer), std::string::npos) << result.err;
        EXPECT_NE(result.err.find("hint:"), std::string::npos) << result.err;
    }
}

/// All of ResNet-50; both ranks take statistics of as many images as the one does at once.
TEST_F(RunTest, AResidualNetworkRunsAloneAndOnTwoRanks) {
    const auto of = [](const Words& more) { return losses_of("scenarios/resnet-50-tiny-cpu.json", "4", more); };
    const std::vector<double> one = of({});
    ASSERT_EQ(one.size(), 4U);
    const std::vector<double> two = of({"--set", "strategy.data=2", "--set", "strategy.sharding=zero1"});
    EXPECT_NEAR(two.front(), one.front(), 1e-5 * one.front());
    const Result half = orrery({"run", "scenarios/resnet-50-tiny-cpu.json", "--set", "training.precision=bf16"});
    EXPECT_EQ(half.exit, 2);
    EXPECT_NE(half.err.find("/training/precision"), std::string::npos) << half.err;
    EXPECT_NE(half.err.find("hint:"), std::string::npos) << half.err;
}

TEST_F(RunTest, RefusesExpertsThatItCannotBalance) {
    const std::vector<std::pair<std::string, std::string>> cases{
        {"training.seq_length=63", "/training/micro_batch_size"},
        {"training.moe_expert_capacity_factor=0.5", "/training/moe_expert_capacity_factor"},
    };
    for (const auto& [change, pointer] : cases) {
        const Result result =
            orrery({"run", "scenarios/mixtral-tiny-cpu.json", "--set", change, "--set", "training.micro_batch_size=1"});
        EXPECT_EQ(result.exit, 2) << result.err;
        EXPECT_NE(result.err.find(pointer), std::string::npos) << result.err;
        EXPECT_NE(result.err.find("hint:"), std::string::npos) << result.err;
    }
    const Result uneven = orrery({"run", "scenarios/mixtral-tiny-cpu.json", "--set", "strategy.data=2", "--set",
                                  "strategy.expert=2", "--set", "perturbations.expert_imbalance=1.3"});
    EXPECT_EQ(uneven.exit, 2);
    EXPECT_NE(uneven.err.find("/perturbations"), std::string::npos) << uneven.err;
}

TEST_F(RunTest, TrainsOnText) {
    const std::string text = folder_.file("text", std::string(4000, 'a') + std::string(4000, 'b'));
    const std::vector<double> found = losses(run({"--data", text}, "12"));
    EXPECT_LT(found.back(), 0.6 * found.front());
}

TEST_F(RunTest, IsComparedWithItsPrediction) {
    const std::string predicted = folder_ / "predicted.json", measured = folder_ / "measured.json";
    ASSERT_EQ(orrery({"simulate", tiny, "--operations", "--json", predicted, "--quiet"}).exit, 0);
    ASSERT_EQ(orrery({"run", tiny, "--steps", "6", "--json", measured, "--quiet"}).exit, 0);
    const Result far = orrery({"compare", predicted, measured, "--tolerance", "100000"});
    EXPECT_EQ(far.exit, 0) << far.err;
    for (const char* word : {"step predicted", "operations joined on (rank, operation)", "attention", "peak memory"})
        EXPECT_NE(far.out.find(word), std::string::npos) << word << " is missing from\n" << far.out;
    EXPECT_EQ(orrery({"compare", predicted, measured, "--tolerance", "0"}).exit, 1);
    const Result itself = orrery({"compare", measured, measured, "--tolerance", "0", "--json", "-"});
    EXPECT_EQ(itself.exit, 0);
    EXPECT_EQ(Json::parse(itself.out).at("median_op_error"), 0);
}

/// A scale that is far too large costs its first steps, and the file says so.
TEST_F(RunTest, ScalesTheLossOfFp16) {
    const std::string file = folder_ / "half.json";
    const Result ran = orrery({"run", tiny, "--steps", "6", "--set", "training.precision=fp16", "--set",
                               "training.initial_loss_scale=1e15", "--json", file});
    ASSERT_EQ(ran.exit, 0) << ran.err;
    EXPECT_NE(ran.out.find("SKIPPED   6 of 6 steps"), std::string::npos) << ran.out;
    std::ifstream in(file);
    const Json steps = Json::parse(in).at("measured").at("steps");
    ASSERT_EQ(steps.size(), 6U);
    for (const Json& step : steps) EXPECT_TRUE(step.at("skipped").get<bool>());
    EXPECT_EQ(steps[0].at("loss_scale"), 1e15);
    EXPECT_EQ(steps[5].at("loss_scale"), 1e15 / 16) << "the first is forgiven, four more have halved it";
}

TEST_F(RunTest, RefusesWhatCannotRun) {
    const std::string hosts = folder_.file("hosts", "# none\n");
    const std::vector<std::vector<std::string>> cases{{"--ranks", "3"},
                                                      {"--steps", "1"},
                                                      {"--hosts", folder_ / "absent"},
                                                      {"--hosts", hosts},
                                                      {"--set", "training.precision=fp8"},
                                                      {"--set", "training.kernel_fusion=operators"},
                                                      {"--data", folder_ / "absent"},
                                                      {"--device", "cpu:none"}};
    for (const auto& more : cases) {
        std::vector<std::string> arguments{"run", tiny};
        arguments.insert(arguments.end(), more.begin(), more.end());
        const Result result = orrery(arguments);
        EXPECT_EQ(result.exit, 2) << more[0] << ' ' << more[1] << ": " << result.err;
        EXPECT_NE(result.err.find("hint:"), std::string::npos) << result.err;
    }
    EXPECT_EQ(orrery({"compare", tiny, tiny}).exit, 2);
    EXPECT_EQ(orrery({"compare", folder_ / "absent", tiny}).exit, 2);
}

TEST_F(RunTest, OneRankOfALargePlanRunsAlone) {
    const std::vector<std::string> large{"run",   tiny,
                                         "--set", "cluster.nodes=64",
                                         "--set", "strategy.tensor=4",
                                         "--set", "strategy.pipeline=4",
                                         "--set", "strategy.data=8",
                                         "--set", "training.global_batch_size=64"};
    const auto alone = [&](const std::vector<std::string>& more) {
        std::vector<std::string> arguments = large;
        arguments.insert(arguments.end(), more.begin(), more.end());
        return orrery(arguments);
    };
    const Result result = alone({"--only-rank", "77", "--elide-communication", "--steps", "4", "--json", "-"});
    ASSERT_EQ(result.exit, 0) << result.err;
    const Json report = Json::parse(result.out);
    EXPECT_EQ(report.at("only_rank"), 77);
    EXPECT_EQ(report.at("stage"), 2);
    double measured = 0, predicted = 0;
    for (const Json& kernel : report.at("kernels")) {
        EXPECT_GT(kernel.at("measured_s"), 0) << kernel;
        measured += kernel.at("measured_s").get<double>();
        predicted += kernel.at("predicted_s").get<double>();
    }
    EXPECT_NEAR(measured, report.at("measured_s"), 1e-9);
    EXPECT_NEAR(predicted, report.at("predicted_s"), 1e-9);
    EXPECT_GE(report.at("step_time_s").get<double>(), measured * 0.5);
    const Result table = alone({"--only-rank", "0", "--elide-communication", "--steps", "4"});
    EXPECT_NE(table.out.find("rank 0 of 128 alone (stage 0)"), std::string::npos) << table.out;
    EXPECT_EQ(alone({"--only-rank", "0"}).exit, 2);
    EXPECT_EQ(alone({"--elide-communication"}).exit, 2);
    EXPECT_EQ(alone({"--only-rank", "128", "--elide-communication"}).exit, 2);
}

TEST_F(RunTest, ALossThatIsNoNumberEndsTheRun) {
    for (const char* ranks : {"strategy.data=1", "strategy.data=2"}) {
        const Result result = orrery({"run", tiny, "--set", ranks, "--learning-rate", "1e30"});
        EXPECT_EQ(result.exit, 3);
        for (const char* word : {"rank", "on host", "the loss is not a number", "learning rate"})
            EXPECT_NE(result.err.find(word), std::string::npos) << word << " is missing from\n" << result.err;
    }
}

TEST_F(RunTest, AnUnknownHostEndsTheRun) {
    const std::string hosts = folder_.file("hosts", "no-such-host.invalid slots=2\n");
    const auto begin = steady_clock::now();
    const Result result = orrery({"run", tiny, "--set", "strategy.data=2", "--hosts", hosts});
    EXPECT_EQ(result.exit, 3) << result.out;
    EXPECT_LT(steady_clock::now() - begin, seconds(60));
    EXPECT_NE(result.err.find("no rank was started"), std::string::npos) << result.err;
}

/// The process of a rank once it has begun a step; 0 when it does not in time.
std::int64_t process_of(const std::string& folder, std::uint32_t rank) {
    const auto deadline = steady_clock::now() + seconds(60);
    while (steady_clock::now() < deadline) {
        const auto trace = run::read_progress(run::progress_file(folder, rank));
        if (trace && trace->state == run::RankState::running && trace->step > 2) return trace->pid;
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return 0;
}

TEST_F(RunTest, ARankThatDiesEndsTheRun) {
    const std::string left = folder_ / "left";
    auto run = std::async(std::launch::async, [&] {
        return orrery({"run", tiny, "--set", "strategy.data=2", "--steps", "1000000", "--folder", left});
    });
    const std::int64_t victim = process_of(left + "/ranks", 1);
    ASSERT_GT(victim, 0);
    ASSERT_EQ(::kill(static_cast<pid_t>(victim), SIGKILL), 0);
    ASSERT_EQ(run.wait_for(seconds(60)), std::future_status::ready);
    const Result result = run.get();
    EXPECT_EQ(result.exit, 3);
    for (const char* word :
         {"rank 1 on host", "in step", " at ", "gone without a word", "their times and losses are in"})
        EXPECT_NE(result.err.find(word), std::string::npos) << word << " is missing from\n" << result.err;
    EXPECT_FALSE(content_of(left + "/measured.json.steps").empty());
}

/// Six seconds: on a busy machine two ranks may begin nothing for two without being stopped.
TEST_F(RunTest, ARankThatHangsEndsTheRun) {
    const std::string left = folder_ / "left";
    auto run = std::async(std::launch::async, [&] {
        return orrery(
            {"run", tiny, "--set", "strategy.data=2", "--steps", "1000000", "--folder", left, "--stall", "6"});
    });
    const std::int64_t victim = process_of(left + "/ranks", 1);
    ASSERT_GT(victim, 0);
    ASSERT_EQ(::kill(static_cast<pid_t>(victim), SIGSTOP), 0);
    // It ends after ten times the longest step, which on a busy machine may have been seconds.
    ASSERT_EQ(run.wait_for(seconds(240)), std::future_status::ready);
    const Result result = run.get();
    EXPECT_EQ(result.exit, 3);
    for (const char* word : {"rank 1 on host", "in step", "no rank has begun anything for", "--stall", "are in"})
        EXPECT_NE(result.err.find(word), std::string::npos) << word << " is missing from\n" << result.err;
    EXPECT_TRUE(comes_true([&] { return !lives(victim); }));
}

}  // namespace
}  // namespace orrery::cli
