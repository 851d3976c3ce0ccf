#include "validate/measured.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "models/operators.hpp"
#include "tests/validate/sample.hpp"

namespace orrery::validate {

using nlohmann::json;

namespace {

// megatron(): 16 GPUs, 64 sequences of 512 tokens.
constexpr double gpus = 16, sequences = 64, tokens = 64 * 512;

Row row_measuring(const json& measured, const json& patch = json::object()) {
    json fields = test::with(test::megatron(), patch);
    fields["measured"] = measured;
    return test::row_of(fields);
}

double seconds(const json& measured, const json& patch = json::object()) {
    const Row row = row_measuring(measured, patch);
    const auto scenario = map_row(row, test::any_profile);
    return measured_seconds(row, scenario, topology::find_gpu(scenario.cluster.gpu));
}

std::string reason(const json& measured) {
    return test::reason_of([&] { seconds(measured); });
}

double model_flops(const scenarios::Scenario& scenario) {
    return models::model_flops(models::build(scenario.plan.model), 64, 512);
}

}  // namespace

TEST(Measured, Times) {
    EXPECT_DOUBLE_EQ(seconds({{"step_time_s", 4}}), 4);
    EXPECT_DOUBLE_EQ(seconds({{"step_time_s_derived", 3.5}}), 3.5);
    EXPECT_DOUBLE_EQ(seconds({{"value", 1121}, {"unit", "ms/iteration"}}), 1.121);
    EXPECT_DOUBLE_EQ(seconds({{"value", 2}, {"unit", "s/iteration"}}), 2);
    EXPECT_DOUBLE_EQ(seconds({{"iteration_time_ms", 250}}), 0.25);
}

TEST(Measured, RatesOfSequencesAndTokens) {
    EXPECT_DOUBLE_EQ(seconds({{"sequences_per_s", 32}}), sequences / 32);
    EXPECT_DOUBLE_EQ(seconds({{"value", 16}, {"unit", "samples/s"}}), sequences / 16);
    EXPECT_DOUBLE_EQ(seconds({{"value", 0.5}, {"unit", "steps/s"}}), 2);
    EXPECT_DOUBLE_EQ(seconds({{"samples_per_s_all_gpus_printed_per_gpu", 32}}), sequences / 32);
    EXPECT_DOUBLE_EQ(seconds({{"tokens_per_s", 8192}}), tokens / 8192);
    EXPECT_DOUBLE_EQ(seconds({{"tokens_per_s_per_gpu", 1024}}), tokens / (1024 * gpus));
}

TEST(Measured, RatesOfFlops) {
    const double work = model_flops(test::mapped({}));
    EXPECT_DOUBLE_EQ(seconds({{"model_TFLOPs_per_s_per_gpu", 100}}), work / (100e12 * gpus));
    const auto peak = topology::find_gpu("A100-80GB").half_flops;
    EXPECT_DOUBLE_EQ(seconds({{"MFU_percent", 40}}), work / (0.4 * peak * gpus));
    EXPECT_DOUBLE_EQ(seconds({{"MFU", "40%"}}), work / (0.4 * peak * gpus));
}

TEST(Measured, HardwareFlopsCountTheRecomputation) {
    const json full = {{"recompute", "full"}};
    const auto model = models::build(test::mapped(full).plan.model);
    const double hardware = models::hardware_flops_full_recompute(model, 64, 512);
    const json printed = {{"TFLOPs_per_s_per_gpu", 100}, {"TFLOPs_convention", "hardware FLOPs incl. recompute, eq.3"}};
    EXPECT_DOUBLE_EQ(seconds(printed, full), hardware / (100e12 * gpus));
    EXPECT_DOUBLE_EQ(seconds(printed), model_flops(test::mapped({})) / (100e12 * gpus)) << "nothing recomputed";
    const json maxtext = {{"recompute", "full"}, {"switches", {{"framework", "MaxText"}}}};
    EXPECT_DOUBLE_EQ(seconds({{"TFLOPs_per_s_per_gpu", 100}}, maxtext),
                     model_flops(test::mapped(full)) / (100e12 * gpus))
        << "whatever runs again";
    const json parameters = {{"TFLOPs_per_gpu_printed", 100}};
    const auto count = static_cast<double>(models::parameters(model));
    EXPECT_DOUBLE_EQ(seconds(parameters, full), 8 * count * tokens / (100e12 * gpus));
    EXPECT_DOUBLE_EQ(seconds(parameters), 6 * count * tokens / (100e12 * gpus));
}

TEST(Measured, TimesComeBeforeRates) {
    EXPECT_DOUBLE_EQ(seconds({{"model_TFLOPs_per_s_per_gpu", 1}, {"tokens_per_s", 1}, {"step_time_s", 7}}), 7);
    EXPECT_DOUBLE_EQ(seconds({{"model_TFLOPs_per_s_per_gpu", 1}, {"tokens_per_s", tokens}}), 1);
}

TEST(Measured, WhatIsNoStepTimeIsNamed) {
    EXPECT_EQ(reason({{"value", 7.27}, {"unit", "speedup over 1 GPU"}}), "ratio only");
    EXPECT_EQ(reason({{"value", 33}, {"unit", "% (up to)"}}), "ratio only");
    EXPECT_EQ(reason({{"value", 892}, {"unit", "GB/s"}}), "not a step time");
    EXPECT_EQ(reason({{"value", 34}, {"unit", "days"}}), "not a step time");
    EXPECT_EQ(reason({{"value", 34}}), "not a step time");
    EXPECT_EQ(reason({{"value", 1}, {"unit", "steps/s (global_batch is in tokens)"}}),
              "batch is not counted in sequences");
    EXPECT_EQ(reason({{"scaling_factor", 0.9}}), "ratio only");
    EXPECT_EQ(reason({{"oom", true}}), "ran out of memory: no time");
    EXPECT_EQ(reason(json::object()), "not a step time");
    EXPECT_EQ(reason(nullptr), "nothing measured");
    EXPECT_EQ(reason("fast"), "field of a wrong type: measured");
}

TEST(Measured, ValuesMustBePositiveNumbers) {
    EXPECT_EQ(reason({{"step_time_s", 0}}), "measured value is not positive");
    EXPECT_EQ(reason({{"step_time_s", -1}}), "measured value is not positive");
    EXPECT_EQ(reason({{"step_time_s", "4 s"}}), "field of a wrong type: measured.step_time_s");
    EXPECT_EQ(reason({{"MFU", "high"}}), "field of a wrong type: measured.MFU");
    EXPECT_EQ(reason({{"tokens_per_s", 1e-320}}), "measured value is out of range");
}

}  // namespace orrery::validate
