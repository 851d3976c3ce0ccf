// What operations take of their stage's parameters fits, for every plan; planted faults are found.
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

#include "strategies/build.hpp"
#include "strategies/state_checks.hpp"
#include "tests/strategies/tiny_plan.hpp"

namespace orrery::strategies {
namespace {

using kernels::Dtype;

Plan tied_over_stages() {
    Plan plan = tiny_plan(2, 2, 2);
    plan.strategy.sequence_parallel = true;
    return plan;
}

TEST(StageState, FitsEveryPlan) {
    for (const Dtype compute : {Dtype::fp32, Dtype::tf32, Dtype::fp16, Dtype::bf16, Dtype::fp8})
        for (const Dtype sums : {Dtype::fp32, Dtype::bf16})
            for (const Sharding sharding : {Sharding::none, Sharding::zero1, Sharding::zero2, Sharding::zero3})
                for (const bool overlap : {false, true}) {
                    Plan plan = tied_over_stages();
                    plan.training.precision = {.compute = compute, .grad_reduce = sums};
                    plan.strategy.sharding = sharding;
                    plan.strategy.overlap_grad_reduce = overlap;
                    plan.strategy.overlap_param_gather = overlap && sharding == Sharding::zero1;
                    EXPECT_EQ(state_problems(build(plan)), std::vector<std::string>{})
                        << kernels::name(compute) << ' ' << kernels::name(sums) << ' ' << row_of(sharding).name;
                }
}

TEST(StageState, SaysHowMuchThereIs) {
    Plan plan = tiny_plan(1, 1, 4);
    plan.strategy.sharding = Sharding::zero1;
    const StepProgram step = build(plan);
    const StageState& state = step.programs.front().state;
    const std::uint64_t all = state.elements({State::weights});
    EXPECT_GT(all, 0U);
    EXPECT_EQ(state.elements({State::masters, Portion::updated}), all / 4);
    EXPECT_EQ(state.elements({State::gradients, Portion::words}), plan.padded_vocab() * plan.model.hidden);
    EXPECT_EQ(state.elements({State::weights, Portion::kept, StateView::of_experts}), 0U);
    EXPECT_EQ(state.elements({State::norm}), 1U);
}

class PlantedStateFault : public testing::Test {
protected:
    PlantedStateFault() : step_(build(tied_over_stages())) {}
    Op& op(const char* name) {
        Program& program = step_.programs.front();
        const auto found =
            std::ranges::find_if(program.ops, [&](const Op& each) { return step_.names[each.label.name] == name; });
        if (found == program.ops.end()) throw std::logic_error("no such operation");
        return *found;
    }
    StateDetail& detail(const char* name) { return step_.programs.front().state_details[op(name).state]; }
    void expect_found(const std::string& text) const {
        std::string all;
        for (const std::string& problem : verify(step_)) all += problem + "\n";
        EXPECT_NE(all.find(text), std::string::npos) << "looked for: " << text << "\nfound: " << all;
    }
    StepProgram step_;
};

TEST_F(PlantedStateFault, AnOperandTooFew) {
    detail("adam").operands.pop_back();
    expect_found("(adam): 4 operands, its kernel takes 5");
}

TEST_F(PlantedStateFault, AnOperandOfAnotherFormat) {
    std::swap(detail("adam").operands.front(), detail("adam").operands.back());
    expect_found("(adam): g is bf16, its kernel takes fp32");
}

TEST_F(PlantedStateFault, AnotherPartOfTheParameters) {
    detail("zero gradients").operands.front().portion = Portion::words;
    expect_found("(zero gradients): x is ");
}

TEST_F(PlantedStateFault, ACollectiveOfAnotherSize) {
    std::get<Collective>(op("gradient reduction").what).bytes += 64;
    expect_found("(gradient reduction): sends ");
}

TEST_F(PlantedStateFault, AMessageOfAnotherTensor) {
    detail("embedding gradient exchange").operands.front() = {State::norm};
    expect_found("B, the norm are 4");
}

TEST_F(PlantedStateFault, ANormThatNobodySums) {
    detail("gradient norm").operands.back() = {State::received_words};
    expect_found("reads the norm before anything wrote it");
}

TEST_F(PlantedStateFault, ParametersThatNobodyUpdates) {
    op("adam").state = no_state;
    expect_found("stage 0: nothing updates its parameters");
}

TEST_F(PlantedStateFault, OperandsThatAreNotThere) {
    op("adam").state = 1000;
    expect_found("operands 1000 do not exist");
}

}  // namespace
}  // namespace orrery::strategies
