// From a job and what is said of failures, checkpoints and storage to times.
#include "reliability/training_run.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.hpp"
#include "tests/reliability/sample_run.hpp"

namespace orrery::reliability {
namespace {

std::string pointer_of_error(const Options& options, const Job& job = sample_job()) {
    try {
        (void)training_run(job, options);
    } catch (const Error& error) {
        EXPECT_FALSE(error.hint().empty());
        return error.pointer();
    }
    return "none";
}

TEST(TrainingRun, FailuresAreLlama3sWhereNothingIsSaid) {
    const TrainingRun run = training_run(sample_job(), {});
    EXPECT_NEAR(run.mtbf(), 54 * day / 419 * 16384 / 800, 1e-6 * day);
    EXPECT_NEAR(1000 * day * node_failure_rate({}, 8), 3.79, 0.005);
}

TEST(TrainingRun, RatesAndMeanTimesAreTheSame) {
    Failures rate, mean;
    rate.per_1000_node_days = 6.5;
    mean.node_mtbf_s = 1000 * day / 6.5;
    EXPECT_DOUBLE_EQ(node_failure_rate(rate, 8), node_failure_rate(mean, 8));
    // Kokolis et al. 2025: RSC-1's rate stands for 1.8 h between failures of 16,384 GPUs, and 0.23 h of 131,072.
    EXPECT_NEAR(1 / (2048 * node_failure_rate(rate, 8)) / hour, 1.8, 0.01);
    EXPECT_NEAR(1 / (16384 * node_failure_rate(rate, 8)) / hour, 0.23, 0.01);
}

TEST(TrainingRun, AShareOfTheCheckpointFromEachRank) {
    Options options;
    TrainingRun run = training_run(sample_job(), options);
    EXPECT_DOUBLE_EQ(run.checkpoint_bytes, 14e11);
    EXPECT_DOUBLE_EQ(run.write, 14e11 / 62.5e9);  // 0.625 GB/s a node
    EXPECT_EQ(run.stall, run.write);
    EXPECT_DOUBLE_EQ(run.read, 14e11 / 125e9);
    options.checkpoint.savers = Savers::one_replica;
    run = training_run(sample_job(), options);
    EXPECT_DOUBLE_EQ(run.write, 14e11 / 50 * 8 / 4e9);  // 8 of the 50 ranks on one node, at 4 GB/s
    options.checkpoint.saved = Saved::masters;
    EXPECT_DOUBLE_EQ(training_run(sample_job(), options).write, 12e11 / 50 * 8 / 4e9);
}

TEST(TrainingRun, EveryTierHasItsOwnRates) {
    Options options;
    options.checkpoint.tier = Tier::nvme;
    TrainingRun run = training_run(sample_job(), options);
    EXPECT_DOUBLE_EQ(run.write, 14e9 / 15.2e9);
    EXPECT_DOUBLE_EQ(run.read, 8 * 40e9 / 28e9);
    EXPECT_FALSE(run.outlives_node);
    EXPECT_DOUBLE_EQ(run.shared_write, 14e11 / 62.5e9);
    options.checkpoint.tier = Tier::host_memory;
    run = training_run(sample_job(), options);
    EXPECT_DOUBLE_EQ(run.write, 14e11 / 800 / 20e9);
    EXPECT_DOUBLE_EQ(run.read, 2);
    EXPECT_FALSE(run.outlives_node);
    options.checkpoint.tier = Tier::peer_gpu;
    run = training_run(sample_job(), options);
    EXPECT_DOUBLE_EQ(run.write, 14e9 / 200e9);
    EXPECT_TRUE(run.outlives_node);
    options.checkpoint.asynchronous = true;
    EXPECT_DOUBLE_EQ(training_run(sample_job(), options).stall, 2 * 14e11 / 800 / 2e12);
}

TEST(TrainingRun, AsynchronousStepsWaitForTheCopyOnly) {
    Options options;
    options.checkpoint.asynchronous = true;
    const TrainingRun run = training_run(sample_job(), options);
    EXPECT_DOUBLE_EQ(run.stall, 14e11 / 800 / 20e9);
    EXPECT_DOUBLE_EQ(run.write, 14e11 / 62.5e9 + run.stall);
}

TEST(TrainingRun, TheIntervalIsTheOptimumOfWholeSteps) {
    Options options;
    TrainingRun run = training_run(sample_job(), options);
    EXPECT_TRUE(run.optimal_interval);
    EXPECT_NEAR(run.interval, daly_interval(run.stall, run.mtbf()), 5);
    EXPECT_EQ(std::fmod(run.interval, 10), 0);
    options.checkpoint.optimum = Optimum::young;
    EXPECT_NEAR(training_run(sample_job(), options).interval, std::sqrt(2 * run.stall * run.mtbf()), 5);
    options.checkpoint.interval_s = 994;
    run = training_run(sample_job(), options);
    EXPECT_FALSE(run.optimal_interval);
    EXPECT_EQ(run.interval, 990);
    options.checkpoint.interval_s = 0;
    options.failures.per_1000_node_days = 0;
    EXPECT_TRUE(std::isinf(training_run(sample_job(), options).interval));
}

TEST(TrainingRun, DalysFormula) {
    EXPECT_NEAR(daly_interval(60, 86400),
                std::sqrt(2 * 60 * 86400.) * (1 + std::sqrt(60 / 172800.) / 3 + 60 / 172800. / 9) - 60, 1e-9);
    EXPECT_EQ(daly_interval(100, 50), 50);
    EXPECT_LT(std::abs(daly_interval(1, 1e9) / young_interval(1, 1e9) - 1), 1e-4);
}

TEST(TrainingRun, StepsWaitForSlowLoaders) {
    Options options;
    options.storage.tokens_per_s_per_node = 2e5;
    EXPECT_EQ(training_run(sample_job(), options).paced_step, 10);
    options.storage.tokens_per_s_per_node = 5e4;
    EXPECT_EQ(training_run(sample_job(), options).paced_step, 20);
}

/// An interval is of the clock, of which steps that wait for their input take more.
TEST(TrainingRun, AnIntervalOfSlowStepsIsOfTheClock) {
    Options options;
    options.checkpoint.interval_s = hour;
    const TrainingRun quick = training_run(sample_job(), options);
    options.storage.tokens_per_s_per_node = 1e6 / 40;  // 40 s a step of 10
    const TrainingRun slow = training_run(sample_job(), options);
    EXPECT_DOUBLE_EQ(slow.paced_step, 40);
    EXPECT_DOUBLE_EQ(quick.paced_interval(), hour);
    EXPECT_DOUBLE_EQ(slow.paced_interval(), hour);
    EXPECT_DOUBLE_EQ(slow.interval, hour / 4);
}

TEST(TrainingRun, AnIntervalLeavesTimeToWrite) {
    Options options;
    options.checkpoint.asynchronous = true;
    options.storage.write = 1e9;  // 1,400 s
    const TrainingRun run = training_run(sample_job(), options);
    EXPECT_GE(run.interval, 1400 - run.stall);
    options.checkpoint.interval_s = 600;
    EXPECT_EQ(pointer_of_error(options), "/checkpoint/interval");
}

TEST(TrainingRun, ContradictionsNameTheirKey) {
    Options options;
    options.failures.per_1000_node_days = 1;
    options.failures.node_mtbf_s = day;
    EXPECT_EQ(pointer_of_error(options), "/reliability/node_mtbf");
    options = {};
    options.failures.spare_nodes = 2;
    EXPECT_EQ(pointer_of_error(options), "/reliability/spare_nodes");
    options = {};
    options.failures.repair_s = day;
    EXPECT_EQ(pointer_of_error(options), "/reliability/repair");
    options = {};
    options.failures.without_spare = WithoutSpare::shrink;
    EXPECT_EQ(pointer_of_error(options), "/reliability/without_spare");
    options.failures.spare_nodes = 1;
    options.failures.repair_s = day;
    Job job = sample_job();
    job.replicas = 1;
    EXPECT_EQ(pointer_of_error(options, job), "/reliability/without_spare");
    options = {};
    options.checkpoint.tier = Tier::peer_gpu;
    job = sample_job();
    job.nodes = 1;
    EXPECT_EQ(pointer_of_error(options, job), "/checkpoint/tier");
    options.checkpoint.tier = Tier::host_memory;
    job = sample_job();
    job.copy_bytes_per_second = 0;
    EXPECT_EQ(pointer_of_error(options, job), "/checkpoint/tier");
    options.checkpoint.tier = Tier::nvme;
    EXPECT_EQ(pointer_of_error(options, job), "/checkpoint/tier") << "whose drives are not known";
    options.storage.nvme_write = 1e9;
    EXPECT_EQ(pointer_of_error(options, job), "/checkpoint/tier") << "nor how fast they read";
    options.storage.nvme_read = 1e9;
    EXPECT_EQ(pointer_of_error(options, job), "none");
    options = {};
    options.failures.detection_s = -1;
    EXPECT_EQ(pointer_of_error(options), "/reliability/detection");
}

}  // namespace
}  // namespace orrery::reliability
