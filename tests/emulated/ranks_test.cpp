// Several ranks train on emulated GPUs over the emulated NCCL, in many interleavings of their streams: as one rank's
// reference does, without a race, and with nothing left behind.
#include "tests/emulated/ranks.hpp"

#include <gtest/gtest.h>

#include "tests/emulated/machine/machine.hpp"
#include "tests/emulated/machine/memory.hpp"

namespace orrery::run {
namespace {

using strategies::Plan;

class EmulatedRanks : public testing::TestWithParam<Case> {
protected:
    static Plan plan() {
        Plan plan;
        GetParam().change(plan);
        return plan;
    }
};

constexpr std::uint32_t few = 3;

TEST_P(EmulatedRanks, TrainAsTheReferenceInEveryOrder) {
    const Plan plan = this->plan();
    Plan one = plan;
    one.strategy = {};
    const auto reference = train_reference(one, fast(), few);
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
        const Ran ran =
            train_on_gpus(plan, {.seed = seed, .eagerness = eagernesses[seed % eagernesses.size()], .steps = few});
        SCOPED_TRACE(emulated::describe_setup());
        for (std::uint32_t step = 0; step < few; ++step)
            EXPECT_NEAR(ran.losses[step], reference[step].loss, 5e-5 * reference[step].loss) << "step " << step;
        for (const std::string& race : ran.races) ADD_FAILURE() << race;
    }
    EXPECT_EQ(emulated::living(emulated::Kind::device), 0u);
    EXPECT_EQ(emulated::living(emulated::Kind::pinned), 0u);
}

const Case cases[]{{"Tensor", [](Plan& p) { p = tensor_parallel(); }},
                   {"Pipeline", [](Plan& p) { p = pipeline(); }},
                   {"Data", [](Plan& p) { p = data_parallel(); }},
                   {"TensorAndPipeline", [](Plan& p) { p = tensor_and_pipeline(); }},
                   {"Dropouts", [](Plan& p) { p = dropouts(); }}};

INSTANTIATE_TEST_SUITE_P(Plans, EmulatedRanks, testing::ValuesIn(cases),
                         [](const auto& instance) { return std::string(instance.param.name); });

/// A lane's wait for another that is left out is a race, but where another wait covers it.
TEST(EmulatedRaces, ALostWaitIsSeen) {
    const Plan plan = data_parallel();
    const Ran right = train_on_gpus(plan, {.steps = 1});
    ASSERT_GT(right.waits, 4u);
    EXPECT_TRUE(right.races.empty());
    std::uint64_t raced = 0;
    for (std::uint64_t lost = 0; lost < right.waits; ++lost)
        raced += train_on_gpus(plan, {.seed = 1 + lost, .steps = 1, .forget = lost}).races.empty() ? 0 : 1;
    EXPECT_GT(raced, 0u) << "of " << right.waits << " waits";
}

}  // namespace
}  // namespace orrery::run
