// Places for the ends of a stage's operations: its own for each, or used again.
#include "sim/slots.hpp"

#include <gtest/gtest.h>

#include <set>

#include "strategies/build.hpp"
#include "tests/strategies/tiny_plan.hpp"

namespace orrery::sim {
namespace {

strategies::Program first_stage(std::uint32_t micro_batches) {
    strategies::Plan plan = strategies::tiny_plan(1, 2);
    plan.training.global_batch = plan.strategy.data * plan.training.micro_batch * micro_batches;
    return strategies::build(plan).programs.front();
}

TEST(Slots, EveryEndHasItsOwnAndTheLastOperationsTheLowest) {
    const strategies::Program program = first_stage(8);
    const strategies::Hazards hazards(program);
    const Slots every(program, hazards, Slots::Of::every_end), few(program, hazards, Slots::Of::ends_reused);
    EXPECT_EQ(every.place, few.place) << "lanes and numbers are the program's";
    std::set<std::uint32_t> taken{Slots::beginning};
    std::uint32_t before = every.count, syncs = 0;
    for (std::uint32_t i = 0; i < program.ops.size(); ++i) {
        const std::uint32_t slot = every.slot[i];
        EXPECT_TRUE(few.slot[i] == Slots::none || slot != Slots::none) << i;
        for (const std::uint32_t other : hazards.of(i)) EXPECT_NE(every.slot[other], Slots::none) << i;
        EXPECT_TRUE(every.start[i] == Slots::beginning || taken.contains(every.start[i])) << i;
        if (std::holds_alternative<strategies::HostSync>(program.ops[i].what)) ++syncs;
        if (slot == Slots::none) continue;
        EXPECT_TRUE(taken.insert(slot).second) << i;
        EXPECT_LT(slot, before) << i;
        before = slot;
    }
    EXPECT_GT(syncs, 0U) << "the stage should wait for its neighbours";
}

TEST(Slots, ReusedAreAsManyForALongProgramAsForAShortOne) {
    const auto slots = [](std::uint32_t micro_batches) {
        const strategies::Program program = first_stage(micro_batches);
        return Slots(program, strategies::Hazards(program), Slots::Of::ends_reused).count;
    };
    EXPECT_EQ(slots(64), slots(16));
}

}  // namespace
}  // namespace orrery::sim
