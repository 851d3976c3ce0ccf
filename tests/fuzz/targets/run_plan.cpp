// The plan that orrery hands to orrery-device. One that is accepted is the same when it is written and read again, and
// can be built.
#include "run/plan_file.hpp"
#include "strategies/build.hpp"
#include "tests/fuzz/target.hpp"

namespace orrery::fuzz {

namespace {

/// Building takes time in proportion to what a stage holds.
bool is_small(const strategies::Plan& plan) { return plan.model.layers <= 64 && plan.micro_batches() <= 64; }

}  // namespace

bool run_plan(const std::string& input) {
    run::RunPlan plan;
    if (!accepts("plan.json", [&] { plan = run::plan_from_json(input, "plan.json"); })) return false;
    const std::string text = run::to_json(plan);
    require_same(run::to_json(run::plan_from_json(text, "again.json")), text,
                 "a plan is itself when it is written and read again");
    if (is_small(plan.plan)) require(!strategies::build(plan.plan).programs.empty(), "a plan has a program");
    return true;
}

}  // namespace orrery::fuzz
