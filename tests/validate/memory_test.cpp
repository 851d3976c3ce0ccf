#include "validate/memory.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/validate/sample.hpp"

namespace orrery::validate {

using nlohmann::json;

namespace {

std::optional<MeasuredMemory> memory(const json& measured) {
    json fields = test::megatron();
    fields["measured"] = measured;
    return measured_memory(test::row_of(fields));
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

TEST(Memory, LoggedRanksAreOfTheLastStage) {
    sim::MemoryUse prediction;
    prediction.memory.resize(3);
    prediction.memory[0].peak = 30;
    prediction.memory[1].peak = 20;
    prediction.memory[2].peak = 10;
    EXPECT_DOUBLE_EQ(predicted_memory(*memory({{"peak_memory_bytes_rank_logged", 1}}), prediction), 10);
    EXPECT_DOUBLE_EQ(predicted_memory(*memory({{"memory_GB", 1}}), prediction), 30);
    EXPECT_THROW(predicted_memory({.bytes = 1, .last_stage = true}, {}), Skip);
}

}  // namespace orrery::validate
