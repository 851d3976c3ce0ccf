#include "validate/memory.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/validate/sample.hpp"

namespace orrery::validate {

using nlohmann::json;

namespace {

using Tool = MeasuredMemory::Tool;

std::optional<MeasuredMemory> memory(const json& measured) {
    json fields = test::megatron();
    fields["measured"] = measured;
    return measured_memory(test::row_of(fields));
}

/// Four stages on nodes of 8 GPUs, two of them on the first: tensor 4, pipeline 4.
scenarios::Scenario four_stages() {
    return test::mapped({{"gpus", 16}, {"nodes", 2}, {"tp", 4}, {"pp", 4}, {"dp", 1}, {"mbs", 1}, {"gbs", 8}});
}

sim::MemoryUse use_of(std::vector<std::uint64_t> peaks) {
    sim::MemoryUse use;
    use.memory.resize(peaks.size());
    for (std::size_t stage = 0; stage < peaks.size(); ++stage) use.memory[stage].peak = peaks[stage];
    use.framework.assign(peaks.size(), {.workspaces = 1, .context = 100, .communicators = 1000});
    return use;
}

double predicted(Tool tool, const sim::MemoryUse& use, Software software = Software::megatron_core) {
    return predicted_memory({.bytes = 1, .tool = tool}, use, four_stages(), software);
}

}  // namespace

TEST(Memory, UnitsAreBinary) {
    EXPECT_DOUBLE_EQ(memory({{"peak_memory_bytes_rank_logged", 1234}})->bytes, 1234);
    EXPECT_DOUBLE_EQ(memory({{"memory_MiB_printed", 2}})->bytes, 2.0 * (1 << 20));
    EXPECT_DOUBLE_EQ(memory({{"memory_GB", 26}})->bytes, 26.0 * (1 << 30));
    EXPECT_FALSE(memory({{"step_time_s", 1}}));
    EXPECT_FALSE(memory(nullptr));
    EXPECT_EQ(test::reason_of([] { memory({{"memory_GB", 0}}); }), "measured value is not positive");
}

TEST(Memory, ToolsAreToldByTheField) {
    EXPECT_EQ(memory({{"peak_memory_bytes_rank_logged", 1}})->tool, Tool::last_stage);
    EXPECT_EQ(memory({{"peak_memory_GiB", 1}})->tool, Tool::fullest);
    EXPECT_EQ(memory({{"reserved_memory_GiB", 1}})->tool, Tool::reserved);
    EXPECT_EQ(memory({{"memory_MiB_printed", 1}})->tool, Tool::device);
}

/// An allocator counts tensors and workspaces, nvidia-smi everything, and it is read on the first node.
TEST(Memory, EachToolCountsWhatItSees) {
    const sim::MemoryUse use = use_of({30, 40, 90, 10});
    EXPECT_DOUBLE_EQ(predicted(Tool::last_stage, use), 11);
    EXPECT_DOUBLE_EQ(predicted(Tool::fullest, use), 91);
    EXPECT_DOUBLE_EQ(predicted(Tool::device, use), 40 + 1101);
    sim::MemoryUse replayed = use;
    replayed.allocator.resize(4);
    replayed.allocator[2].reserved = 120;
    EXPECT_DOUBLE_EQ(predicted(Tool::reserved, replayed), 120);
    EXPECT_DOUBLE_EQ(predicted(Tool::device, use_of({30, 20, 90, 10})), 30 + 1101);
    EXPECT_THROW(predicted(Tool::last_stage, {}), Skip);
}

/// ZeRO-1's bucket and the weights that are gathered, and on the last stage the logits of the micro-batch before.
TEST(Memory, DeepSpeedHoldsMore) {
    scenarios::Scenario scenario = four_stages();
    sim::MemoryUse use = use_of({30, 20, 10, 10});
    use.memory[0].at_peak[static_cast<std::size_t>(strategies::Keep::weight)] = 600;
    const MeasuredMemory seen{.bytes = 1, .tool = Tool::device};
    const auto held = [&](Software software) { return predicted_memory(seen, use, scenario, software); };
    EXPECT_DOUBLE_EQ(held(Software::megatron_deepspeed), 30 + 1101) << "not sharded";
    scenario.plan.strategy.sharding = strategies::Sharding::zero1;
    EXPECT_DOUBLE_EQ(held(Software::megatron_core), 30 + 1101);
    EXPECT_DOUBLE_EQ(held(Software::megatron_deepspeed), 30 + 1101 + 2 * 600);
    scenario.plan.strategy.sharding = strategies::Sharding::none;
    scenario.plan.strategy.pipeline = 1;
    scenario.plan.strategy.data = 4;
    const double logits = static_cast<double>(scenario.plan.rank_tokens()) *
                          static_cast<double>(scenario.plan.padded_vocab() / scenario.plan.strategy.tensor);
    EXPECT_DOUBLE_EQ(predicted_memory(seen, use_of({30}), scenario, Software::megatron_deepspeed),
                     30 + 1101 + 4 * logits);
}

TEST(Memory, WhatThePlanDoesNotHoldIsNamed) {
    const auto reason = [](const json& patch) { return test::reason_of([&] { check_memory(test::row_with(patch)); }); };
    EXPECT_EQ(reason({}), "");
    EXPECT_EQ(reason({{"pp", 2}, {"switches", {{"framework", "OneFlow-GPT"}}}}),
              "memory of OneFlow's pipeline is not supported");
    EXPECT_EQ(reason({{"pp", 1}, {"switches", {{"framework", "OneFlow-GPT"}}}}), "");
    EXPECT_EQ(reason({{"switches", {{"cross-entropy-loss-fusion", true}}}}),
              "memory of a compiled loss is not supported");
    EXPECT_EQ(reason({{"switches", {{"defer-embedding-wgrad-compute", true}}}}),
              "memory of deferred weight gradients is not supported");
}

}  // namespace orrery::validate
