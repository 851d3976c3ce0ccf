// What brings summed gradients to the ranks that keep them.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "strategies/build.hpp"
#include "strategies/memory.hpp"
#include "tests/strategies/tiny_plan.hpp"

namespace orrery::strategies {
namespace {

using kernels::CollectiveKind;

constexpr GradReduceCollective all[]{GradReduceCollective::reduce_scatter, GradReduceCollective::reduce,
                                     GradReduceCollective::all_reduce};

Plan sharded(Sharding sharding, GradReduceCollective by) {
    Plan plan = tiny_plan(1, 1, 4);
    plan.strategy.sharding = sharding;
    plan.strategy.overlap_grad_reduce = true;
    plan.strategy.grad_reduce_collective = by;
    return plan;
}

/// What is the same in every program, whatever brings the sums about.
TEST(GradReduceCollective, MovesTheSameGradientsToTheSameRanks) {
    for (const Sharding sharding : {Sharding::zero1, Sharding::zero2, Sharding::zero3})
        for (const GradReduceCollective by : all) {
            const StepProgram step = build(sharded(sharding, by));
            const StepProgram usual = build(sharded(sharding, GradReduceCollective::reduce_scatter));
            EXPECT_EQ(memory(step, 0).peak, memory(usual, 0).peak);
            const std::vector<Op>&ops = step.programs[0].ops, &usual_ops = usual.programs[0].ops;
            ASSERT_EQ(ops.size(), usual_ops.size());
            std::uint32_t scatters = 0;
            for (std::size_t i = 0; i < ops.size(); ++i) {
                auto what = ops[i].what;
                if (auto* c = std::get_if<Collective>(&what); c != nullptr) {
                    const bool scatter = c->kind == CollectiveKind::reduce_scatter;
                    EXPECT_EQ(c->by, scatter ? by : GradReduceCollective::reduce_scatter);
                    scatters += scatter ? 1 : 0;
                    c->by = GradReduceCollective::reduce_scatter;
                }
                EXPECT_TRUE(what == usual_ops[i].what) << i;
            }
            EXPECT_GT(scatters, 0U);
        }
}

TEST(GradReduceCollective, LinksCarryWhatItIs) {
    const auto scatter = [](GradReduceCollective by) {
        return Collective{.kind = CollectiveKind::reduce_scatter, .group = {Axis::data}, .bytes = 1024, .by = by};
    };
    EXPECT_EQ(scatter(all[0]).on_links(), CollectiveKind::reduce_scatter);
    EXPECT_EQ(scatter(all[1]).on_links(), CollectiveKind::broadcast);
    EXPECT_EQ(scatter(all[2]).on_links(), CollectiveKind::all_reduce);
    EXPECT_EQ(scatter(all[0]).name(), "reduce_scatter");
    EXPECT_EQ(scatter(all[1]).name(), "reduce");
    EXPECT_EQ(scatter(all[2]).name(), "all_reduce");
}

std::string refused(const std::function<void(Strategy&)>& change) {
    Plan plan = sharded(Sharding::zero2, GradReduceCollective::all_reduce);
    change(plan.strategy);
    try {
        validate(plan);
    } catch (const Error& error) {
        return error.pointer();
    }
    return "";
}

TEST(GradReduceCollective, IsOfWhatIsScattered) {
    EXPECT_EQ(refused([](Strategy&) {}), "");
    EXPECT_EQ(refused([](Strategy& s) { s.sharding = Sharding::none; }), "") << "what software would do";
    const StepProgram whole = build(sharded(Sharding::none, GradReduceCollective::reduce));
    for (const Op& op : whole.programs[0].ops) {
        const auto* c = std::get_if<Collective>(&op.what);
        EXPECT_TRUE(c == nullptr || c->by == GradReduceCollective::reduce_scatter);
    }
    EXPECT_EQ(refused([](Strategy& s) {
                  s.sharding = Sharding::zero3;
                  s.quantized_gradients = true;
              }),
              "/strategy/grad_reduce_collective");
}

}  // namespace
}  // namespace orrery::strategies
