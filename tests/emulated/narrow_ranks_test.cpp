// Ranks whose products are in fp8 train together as one does: each casts what it has of a tensor by a scale of its own.
#include <gtest/gtest.h>

#include "tests/emulated/machine/machine.hpp"
#include "tests/emulated/ranks.hpp"
#include "tests/gpu/narrow_plan.hpp"

namespace orrery::run {
namespace {

using strategies::Plan;
using strategies::Sharding;

class EmulatedNarrowRanks : public testing::TestWithParam<Case> {};

TEST_P(EmulatedNarrowRanks, TrainAsOne) {
    constexpr std::uint32_t few = 3;
    TrainSettings settings{.steps = few, .run = gentle()};
    const Plan one = narrow_plan(small_gpt());
    Plan plan = one;
    GetParam().change(plan);
    const Ran alone = train_on_gpus(one, settings);
    for (settings.seed = 1; settings.seed <= 2; ++settings.seed) {
        settings.eagerness = eagernesses[settings.seed % eagernesses.size()];
        const Ran ran = train_on_gpus(plan, settings);
        SCOPED_TRACE(emulated::describe_setup());
        for (std::uint32_t step = 0; step < few; ++step)
            EXPECT_NEAR(ran.losses[step], alone.losses[step], 2e-3 * alone.losses[step]) << "step " << step;
        for (const std::string& race : ran.races) ADD_FAILURE() << race;
    }
}

const Case cases[]{{"Tensor", [](Plan& p) { p.strategy.tensor = 2; }},
                   {"Sequence",
                    [](Plan& p) {
                        p.strategy.tensor = 2;
                        p.strategy.sequence_parallel = true;
                    }},
                   {"Pipeline", [](Plan& p) { p.strategy.pipeline = 2; }},
                   {"Data",
                    [](Plan& p) {
                        p.strategy.data = 2;
                        p.strategy.sharding = Sharding::zero1;
                        p.strategy.overlap_grad_reduce = true;
                        p.strategy.overlap_param_gather = true;
                    }},
                   {"ShardedGradients", [](Plan& p) {
                        p.strategy.data = 2;
                        p.strategy.sharding = Sharding::zero2;
                    }}};

INSTANTIATE_TEST_SUITE_P(Plans, EmulatedNarrowRanks, testing::ValuesIn(cases),
                         [](const auto& instance) { return std::string(instance.param.name); });

}  // namespace
}  // namespace orrery::run
