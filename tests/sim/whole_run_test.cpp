// From a scenario to the job that a whole training is, and to its wall clock.
#include "sim/whole_run.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "models/operators.hpp"
#include "reliability/goodput.hpp"
#include "scenarios/scenario.hpp"
#include "sim/predict.hpp"

namespace orrery::sim {
namespace {

constexpr const char* gpt3 = "scenarios/gpt3-175b-superpod-a100.json";
constexpr double day = 86400;

Prediction predicted(const std::vector<scenarios::Override>& overrides, const char* file = gpt3) {
    return predict(scenarios::load(file, overrides), {.scale_factor = false, .advice = false});
}

TEST(WholeRun, IsNotThereWhereNotAsked) {
    const Prediction p = predicted({});
    EXPECT_EQ(p.whole_run, nullptr);
    EXPECT_GT(p.end_to_end_s, 0);
    EXPECT_EQ(predicted({{"outputs", "null"}}).end_to_end_s, 0);
}

TEST(WholeRun, EndToEndTimeIsThePapers) {
    // Narayanan et al. 2021, section 5.1: 8TP/(nX) with X = 140 TFLOP/s is 34 days; X is what was predicted here.
    const Prediction p = predicted({});
    const double parameters = 174.6e9, tokens = 300e9;
    const double x = 8 * tokens * parameters / (1024 * p.end_to_end_s);
    EXPECT_NEAR(x, 140e12, 0.15 * 140e12);
    EXPECT_NEAR(p.end_to_end_s / day, 34, 0.15 * 34);
    EXPECT_NEAR(p.end_to_end_s, p.training_time_s, 0.05 * p.training_time_s);
}

TEST(WholeRun, SeedsOfTheField) {
    // The same paper, section 1: GPT-3 would take 36 years on eight V100, or seven months on 512. Both mean 45 TFLOP/s
    // a GPU; neither has a plan, and no GPU of that time holds the model with tensor 8 alone.
    const double work = 8 * 300e9 * 174.6e9, year = 365.25 * day;
    EXPECT_NEAR(work / (8 * 36 * year), work / (512 * 7 * year / 12), 0.05 * 46e12);
    const auto on_v100 = [](const char* nodes, const char* pipeline, const char* data, const char* batch) {
        return predicted({{"cluster", R"({"preset": "dgx-1v", "gpu": "V100-SXM2-32GB"})"},
                          {"cluster.nodes", nodes},
                          {"strategy", R"({"tensor": 8, "recompute": "full"})"},
                          {"strategy.pipeline", pipeline},
                          {"strategy.data", data},
                          {"training.global_batch_size", batch}})
            .end_to_end_s;
    };
    // Predicted at the products' own rate: two thirds of what was reckoned with.
    EXPECT_NEAR(on_v100("1", "1", "1", "192") / year, 36, 0.45 * 36);
    EXPECT_NEAR(on_v100("64", "8", "8", "1536") / (year / 12), 7, 0.45 * 7);
}

TEST(WholeRun, TheJobIsThePlans) {
    const Prediction p = predicted({{"reliability", "{}"}});
    ASSERT_NE(p.whole_run, nullptr);
    const reliability::Job& job = p.whole_run->job;
    EXPECT_EQ(job.nodes, 128U);
    EXPECT_EQ(job.gpus, 1024U);
    EXPECT_EQ(job.replicas, 16U);
    EXPECT_EQ(job.per_node, 1U);
    EXPECT_EQ(job.savers[0], 64U);  // one replica: a node a stage
    EXPECT_EQ(job.savers[1], 1024U);
    EXPECT_EQ(job.on_one_node[0], 8U);
    EXPECT_NEAR(job.parameters, 174.6e9, 0.1e9);
    EXPECT_DOUBLE_EQ(job.saved_bytes[0], 14 * job.parameters);
    EXPECT_DOUBLE_EQ(job.saved_bytes[1], 12 * job.parameters);
    EXPECT_DOUBLE_EQ(job.nics_bytes_per_second, 8 * 25e9);
    EXPECT_DOUBLE_EQ(job.node_tokens, 96 * 2048.);  // a replica's batch
    EXPECT_NEAR(job.steps * job.step_s, p.training_time_s, 1e-6 * p.training_time_s);
    // Weights and states without sharding: 2 and 12 bytes of a rank's parameters.
    EXPECT_NEAR(job.resident_bytes, 14 * job.parameters / 64, 0.05 * 14 * job.parameters / 64);
}

TEST(WholeRun, BloomsCheckpointHasItsPublishedSize) {
    // Le Scao et al. 2022, section 3.4.2: 2.3 TB with the optimizer; 176.2 billion parameters of 14 bytes.
    const Prediction p = predicted({{"model.name", "bloom-176b"},
                                    {"model.num_hidden_layers", "72"},
                                    {"strategy.virtual_pipeline", "1"},
                                    {"strategy.schedule", "1f1b"},
                                    {"checkpoint", "{}"}});
    EXPECT_NEAR(p.whole_run->run.checkpoint_bytes / 0x1p40 * 70 / 72, 2.3, 0.1);
}

TEST(WholeRun, ZeroOneSpreadsTheStatesAndSavesAsMuch) {
    const Prediction whole = predicted({{"reliability", "{}"}});
    const Prediction spread = predicted({{"reliability", "{}"}, {"strategy.sharding", "zero1"}});
    EXPECT_EQ(whole.whole_run->job.saved_bytes[0], spread.whole_run->job.saved_bytes[0]);
    EXPECT_LT(spread.whole_run->job.resident_bytes, 0.3 * whole.whole_run->job.resident_bytes);
}

/// Of adapters there is nothing else to save; what is frozen is saved as it is.
TEST(WholeRun, SavesWhatIsTrained) {
    const auto saved = [](const std::vector<scenarios::Override>& also) {
        std::vector<scenarios::Override> overrides{{"reliability", "{}"}, {"training.fused_attention", "true"}};
        overrides.insert(overrides.end(), also.begin(), also.end());
        return predicted(overrides).whole_run->job;
    };
    const reliability::Job all = saved({});
    const reliability::Job adapters = saved({{"training.lora_rank", "16"}});
    EXPECT_LT(adapters.saved_bytes[0], 0.02 * all.saved_bytes[0]);
    EXPECT_GT(adapters.saved_bytes[0], 0.0005 * all.saved_bytes[0]);
    EXPECT_DOUBLE_EQ(adapters.base_bytes, 2 * all.parameters);
    // Of the first of 96 layers and the words 2 bytes each are saved, of all others 14.
    const reliability::Job frozen = saved({{"training.frozen_layers", "1"}, {"model.tie_word_embeddings", "false"}});
    const reliability::Job trained = saved({{"model.tie_word_embeddings", "false"}});
    const double of_layer = 12.0 * 12288 * 12288 + 13 * 12288, of_words = (50257.0 + 2048) * 12288;
    EXPECT_DOUBLE_EQ(frozen.base_bytes, 0);
    EXPECT_NEAR(trained.saved_bytes[0] - frozen.saved_bytes[0], 12 * (of_layer + of_words), 1e6);
}

/// A restart of adapters reads the base they are put beside, from wherever they are saved.
TEST(WholeRun, AdaptersReadTheirBase) {
    const auto read = [](const std::vector<scenarios::Override>& also) {
        std::vector<scenarios::Override> overrides{{"training.fused_attention", "true"},
                                                   {"training.lora_rank", "16"},
                                                   {"storage.read_rate", "1 GB/s"},
                                                   {"reliability", "{}"}};
        overrides.insert(overrides.end(), also.begin(), also.end());
        return predicted(overrides).whole_run->run.read;
    };
    const double base = 2 * 174.6;  // GB
    EXPECT_GT(read({{"checkpoint", "{}"}}), base);
    EXPECT_LT(read({{"checkpoint", "{}"}}), 1.05 * base);
    EXPECT_NEAR(read({{"checkpoint.tier", "peer_gpu"}}), base, 0.001 * base);
}

TEST(WholeRun, EveryKeyHasItsEffect) {
    const auto seconds = [](std::vector<scenarios::Override> overrides) {
        overrides.push_back({"reliability.restart", "5 min"});
        return predicted(overrides).whole_run->seconds();
    };
    const double usual = seconds({});
    EXPECT_GT(seconds({{"reliability.failures_per_1000_node_days", "20"}}), usual);
    EXPECT_GT(seconds({{"reliability.node_mtbf", "20 days"}}), usual);
    EXPECT_GT(seconds({{"reliability.detection", "1 h"}}), usual);
    EXPECT_GT(seconds({{"reliability.spare_nodes", "0"}, {"reliability.repair", "3 days"}}), usual);
    EXPECT_GT(seconds({{"checkpoint.interval", "8 h"}}), usual);
    EXPECT_GT(seconds({{"storage.write_rate", "2 GB/s"}}), usual);
    EXPECT_GT(seconds({{"storage.tokens_per_second_per_node", "3000"}}), usual);
    EXPECT_LT(seconds({{"checkpoint.asynchronous", "true"}}), usual);
    EXPECT_LT(seconds({{"checkpoint.tier", "peer_gpu"}}), usual);
    EXPECT_NE(seconds({{"checkpoint.savers", "one_replica"}}), usual);
    EXPECT_NE(seconds({{"seed", "2"}}), usual);
}

}  // namespace
}  // namespace orrery::sim
