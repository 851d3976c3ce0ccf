// Pipelines without flushes in time: a step takes what its slowest stage works for it.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.hpp"
#include "sim/breakdown.hpp"
#include "sim/run_step.hpp"
#include "strategies/build.hpp"
#include "tests/sim/bench.hpp"

namespace orrery::sim {
namespace {

/// 4 stages in one node, no host; layers of the last stage have the logits beside them.
class Pipeline {
public:
    Pipeline(const char* schedule, std::uint32_t micro_batches, const char* vocabulary = "128")
        : scenario_(small_scenario(std::string(R"({"model": {"num_hidden_layers": 16, "hidden_size": 4096,
              "num_attention_heads": 32, "tie_word_embeddings": false, "vocab_size": )") +
                                   vocabulary + R"(}, "cluster": {"nodes": 1},
              "strategy": {"tensor": 1, "pipeline": 4, "data": 1, "schedule": ")" +
                                   schedule + R"("},
              "training": {"seq_length": 2048, "global_batch_size": )" +
                                   std::to_string(micro_batches) + R"(, "cuda_graph": true, "clip_grad": 0}})")),
          cluster_(topology::build(scenario_.cluster)) {}

    [[nodiscard]] std::unique_ptr<RanStep> run() const {
        return run_plan(scenario_.plan, cluster_, profiles().find(scenario_.profile));
    }

private:
    scenarios::Scenario scenario_;
    topology::Cluster cluster_;
};

/// Seconds of a stage's compute lane in the round that is written last: a step.
double work_of_step(const RanStep& ran, std::uint32_t role) {
    const strategies::Program& program = ran.program.programs[role];
    double sum = 0;
    for (std::uint32_t i = program.rounds.end() - program.rounds.ops; i < program.rounds.end(); ++i)
        if (program.ops[i].lane == strategies::Lane::compute) sum += ran.costs[0].of(role, i).device;
    return sum;
}

TEST(Asynchronous, AStepTakesWhatTheSlowestStageWorks) {
    for (const char* schedule : {"pipedream", "pipedream-2bw"})
        for (const char* vocabulary : {"128", "64000"}) {
            SCOPED_TRACE(std::string(schedule) + " with a vocabulary of " + vocabulary);
            const auto ran = Pipeline(schedule, schedule == std::string("pipedream") ? 1 : 8, vocabulary).run();
            double slowest = 0;
            for (std::uint32_t role = 0; role < 4; ++role) slowest = std::max(slowest, work_of_step(*ran, role));
            if (slowest == 0) {  // no period shows where stages are alike: a written window, whose ends are 3%
                EXPECT_EQ(vocabulary, std::string("128"));
                continue;
            }
            ASSERT_TRUE(ran->period);
            EXPECT_NEAR(ran->seconds(), slowest, 2e-3 * slowest);
            EXPECT_NEAR(ran->period->seconds, ran->seconds(), 2e-4 * slowest);
        }
}

/// What a flush costs is what is gained: (p - 1) of the m micro-batches.
TEST(Asynchronous, GainsTheBubbleOfAFlush) {
    const auto flushed = Pipeline("1f1b", 8).run(), steady = Pipeline("pipedream-2bw", 8).run();
    EXPECT_NEAR(flushed->seconds() / steady->seconds(), (8 + 3) / 8.0, 0.05);
    const RankClass& last = steady->slowest(3);
    const Breakdown parts =
        breakdown(steady->program, steady->costs.of_rank(last.representative), last, steady->replayed.end);
    EXPECT_NEAR(parts.total(), steady->seconds(), 1e-6 * steady->seconds());
    EXPECT_LT(parts.bubble, 0.03 * steady->seconds());
}

}  // namespace
}  // namespace orrery::sim
