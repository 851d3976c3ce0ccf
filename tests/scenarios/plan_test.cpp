// The rules of a legal plan, and the nearest legal values that messages offer.
#include "strategies/plan.hpp"

#include <gtest/gtest.h>

#include "models/catalog.hpp"
#include "tests/scenarios/expect_error.hpp"

namespace orrery::strategies {
namespace {

using scenarios::expect_error;

/// GPT-3 1.3B: 24 layers, 16 heads; tensor 4, pipeline 2, data 4.
Plan sound() {
    Plan plan;
    plan.model = models::find("gpt3-1.3b");
    plan.strategy.tensor = 4;
    plan.strategy.pipeline = 2;
    plan.strategy.data = 4;
    plan.training.seq = 2048;
    plan.training.micro_batch = 2;
    plan.training.global_batch = 64;
    return plan;
}

template <class Change>
void expect_refused(Change change, const char* pointer, const char* mention, const char* hint) {
    Plan plan = sound();
    change(plan);
    expect_error([&] { validate(plan); }, pointer, mention, hint);
}

template <class Change>
void expect_legal(Change change) {
    Plan plan = sound();
    change(plan);
    EXPECT_NO_THROW(validate(plan));
}

TEST(Plan, CountsRanksMicroBatchesAndPadsTheVocabulary) {
    const Plan plan = sound();
    EXPECT_NO_THROW(validate(plan));
    EXPECT_EQ(plan.ranks(), 32U);
    EXPECT_EQ(plan.micro_batches(), 8U);
    EXPECT_EQ(plan.padded_vocab(), 50688U) << "50,257 padded to a multiple of 512";
    Plan exact = plan;
    exact.model.vocab = 51200;
    EXPECT_EQ(exact.padded_vocab(), 51200U);
    exact.model.vocab = 50257;
    exact.model.vocab_multiple = 1;
    EXPECT_EQ(exact.padded_vocab() % exact.strategy.tensor, 0U);
    EXPECT_LT(exact.padded_vocab() - 50257, exact.strategy.tensor);
}

TEST(Plan, TensorDividesHeadsGroupsAndMlp) {
    expect_refused([](Plan& p) { p.strategy.tensor = 3; }, "/strategy/tensor", "3 does not divide the 16 heads",
                   "nearest legal values: 2, 4");
    expect_refused([](Plan& p) { p.strategy.tensor = 64; }, "/strategy/tensor", "64", "nearest legal value: 16");
    expect_refused([](Plan& p) { p.model.kv_heads = 2; }, "/strategy/tensor", "the 2 key-value heads",
                   "nearest legal value: 2");
    expect_refused([](Plan& p) { p.model.ffn = 8190; }, "/strategy/tensor", "8190", "nearest legal value: 2");
    expect_legal([](Plan& p) { p.strategy.tensor = 16; });  // beyond one node: slow, not illegal
}

TEST(Plan, StagesDivideLayers) {
    expect_refused([](Plan& p) { p.strategy.pipeline = 5; }, "/strategy/pipeline",
                   "5 stages do not divide the 24 layers", "nearest legal values: 4, 6");
    expect_refused([](Plan& p) { p.strategy.pipeline = 48; }, "/strategy/pipeline", "48", "nearest legal value: 24");
    expect_refused(
        [](Plan& p) {
            p.strategy.schedule = ScheduleKind::interleaved;
            p.strategy.virtual_pipeline = 5;
        },
        "/strategy/virtual_pipeline", "5 chunks do not divide the 12 layers", "nearest legal values: 4, 6");
}

TEST(Plan, InterleavingNeedsItsScheduleStagesAndMicroBatches) {
    const auto interleaved = [](Plan& p) {
        p.strategy.schedule = ScheduleKind::interleaved;
        p.strategy.virtual_pipeline = 3;
    };
    expect_legal(interleaved);
    expect_refused([](Plan& p) { p.strategy.virtual_pipeline = 3; }, "/strategy/virtual_pipeline", "3 chunks",
                   "\"interleaved\"");
    expect_refused(
        [&](Plan& p) {
            interleaved(p);
            p.strategy.pipeline = 1;
        },
        "/strategy/virtual_pipeline", "pipeline is 1", "pipeline to 2");
    expect_refused(
        [&](Plan& p) {
            interleaved(p);
            p.training.global_batch = 24;
        },
        "/training/global_batch_size", "24 sequences give 3 micro-batches", "nearest legal values: 16, 32");
    expect_legal([](Plan& p) { p.strategy.schedule = ScheduleKind::interleaved; });  // one chunk: plain 1F1B
    expect_legal([](Plan& p) {  // fewer micro-batches than stages: a deep bubble, not illegal
        p.strategy.pipeline = 8;
        p.training.global_batch = 24;
    });
}

TEST(Plan, ABackwardInTwoPartsKeepsWhatItNeeds) {
    const auto split = [](Plan& p) { p.strategy.schedule = ScheduleKind::zb_h1; };
    expect_legal(split);
    expect_refused(
        [&](Plan& p) {
            split(p);
            p.strategy.recompute = Recompute::full;
        },
        "/strategy/recompute", "zb-h1", "selective");
    expect_refused(
        [&](Plan& p) {
            split(p);
            p.strategy.cpu_offloading_num_layers = 1;
        },
        "/strategy/cpu_offloading_num_layers", "zb-h1", "1f1b");
}

TEST(Plan, EveryShardingIsLegal) {
    for (const strategies::ShardingRow& row : strategies::shardings)
        expect_legal([&](Plan& p) { p.strategy.sharding = row.kind; });
    const auto gathers_early = [](Plan& p) {
        p.strategy.sharding = Sharding::zero2;
        p.strategy.overlap_grad_reduce = p.strategy.overlap_param_gather = true;
    };
    expect_legal(gathers_early);
    expect_refused(
        [&](Plan& p) {
            gathers_early(p);
            p.strategy.sharding = Sharding::zero3;
        },
        "/strategy/overlap_param_gather", "distributed optimizer", "zero1");
}

TEST(Plan, TheBatchIsDivisible) {
    expect_refused([](Plan& p) { p.training.global_batch = 63; }, "/training/global_batch_size", "63",
                   "nearest legal values: 56, 64");
    expect_refused([](Plan& p) { p.training.global_batch = 4; }, "/training/global_batch_size", "4",
                   "nearest legal value: 8");
}

TEST(Plan, SequencesFitPositionsAndTensor) {
    expect_refused([](Plan& p) { p.training.seq = 4096; }, "/training/seq_length", "4096", "");
    const auto odd = [](Plan& p) { p.training.seq = 2047; };
    expect_legal(odd);
    expect_refused(
        [&](Plan& p) {
            odd(p);
            p.strategy.sequence_parallel = true;
        },
        "/training/seq_length", "2047", "nearest legal values: 2044, 2048");
}

TEST(Plan, SwitchesNeedWhatTheyBuildOn) {
    expect_refused([](Plan& p) { p.strategy.overlap_p2p = true; }, "/strategy/overlap_p2p", "interleaved", "false");
    expect_refused([](Plan& p) { p.strategy.overlap_param_gather = true; }, "/strategy/overlap_param_gather",
                   "distributed optimizer", "zero1");
    expect_refused(
        [](Plan& p) {
            p.strategy.overlap_param_gather = true;
            p.strategy.sharding = Sharding::zero1;
        },
        "/strategy/overlap_param_gather", "overlap_grad_reduce", "true");
    expect_refused([](Plan& p) { p.strategy.recompute_num_layers = 2; }, "/strategy/recompute_num_layers", "2", "full");
    expect_refused(
        [](Plan& p) {
            p.strategy.recompute = Recompute::full;
            p.strategy.recompute_num_layers = 13;
        },
        "/strategy/recompute_num_layers", "13 layers, but a chunk has 12", "nearest legal value: 12");
}

TEST(Plan, WeightsAreKeptInFp8WhereProductsReadIt) {
    const auto narrow = [](Plan& p) {
        p.training.precision = {kernels::Dtype::fp8, kernels::Dtype::fp32};
        p.training.fp8_param_gather = true;
    };
    const char* const key = "/training/fp8_param_gather";
    expect_refused([](Plan& p) { p.training.fp8_param_gather = true; }, key, "products are not in fp8", "fp8");
    expect_refused(
        [&](Plan& p) {
            narrow(p);
            p.strategy.optimizer_cpu_offload = true;
        },
        key, "host memory", "false");
    expect_refused(
        [](Plan& p) {
            p.training.precision = {kernels::Dtype::fp8, kernels::Dtype::fp32};
            p.training.fp8_recipe = strategies::Fp8Recipe::blockwise;
            p.training.no_transpose_cache = true;
        },
        "/training/disable_parameter_transpose_cache", "one scale a tensor", "tensorwise");
    expect_refused(
        [&](Plan& p) {
            narrow(p);
            p.strategy.pipeline = p.strategy.tensor = p.strategy.virtual_pipeline = 1;
            p.strategy.sequence_parallel = false;
            p.strategy.schedule = strategies::ScheduleKind::one_f_one_b;
            p.strategy.sharding = Sharding::zero3;
            p.strategy.quantized_weights = true;
        },
        key, "quantized for each gathering", "zero_quantized_weights");
    expect_refused([](Plan& p) { p.training.fp8_function_input = true; }, "/training/activation_func_fp8_input_store",
                   "no SwiGLU", "false");
    Plan plan = sound();
    narrow(plan);
    EXPECT_NO_THROW(validate(plan));
}

TEST(Plan, GradientsAreSummedInFp32OrTheParametersFormat) {
    using kernels::Dtype;
    const auto with = [](Dtype compute, Dtype reduce) {
        Plan plan = sound();
        plan.training.precision = {compute, reduce};
        return !scenarios::error_of([&] { validate(plan); });
    };
    for (const Dtype compute : {Dtype::fp32, Dtype::tf32, Dtype::fp16, Dtype::bf16, Dtype::fp8, Dtype::fp4}) {
        EXPECT_TRUE(with(compute, Dtype::fp32)) << kernels::name(compute);
        EXPECT_EQ(with(compute, Dtype::fp16), compute == Dtype::fp16) << kernels::name(compute);
        const bool bf16_weights = compute == Dtype::bf16 || strategies::is_narrow(compute);
        EXPECT_EQ(with(compute, Dtype::bf16), bf16_weights) << kernels::name(compute);
    }
}

TEST(Plan, ZeroAndBoundlessSizesAreRefused) {
    expect_refused([](Plan& p) { p.strategy.tensor = 0; }, "/strategy/tensor", "0", "from 1 to");
    expect_refused([](Plan& p) { p.strategy.data = 0; }, "/strategy/data", "0", "from 1 to");
    expect_refused([](Plan& p) { p.training.micro_batch = 0; }, "/training/micro_batch_size", "0", "from 1 to");
    expect_refused([](Plan& p) { p.model.heads = 0; }, "/model/num_attention_heads", "0", "");
    expect_refused([](Plan& p) { p.strategy.data = 1U << 31U; }, "/strategy/data", "2147483648", "to 1048576");
    expect_refused(
        [](Plan& p) {
            p.strategy.tensor = p.strategy.data = 1U << 16U;
            p.strategy.pipeline = 1U << 13U;
        },
        "/strategy/data", "ranks", "2^31");
    expect_refused([](Plan& p) { p.training.global_batch = 1U << 24U; }, "/training/global_batch_size", "16777216",
                   "micro-batches");
    expect_refused(
        [](Plan& p) {
            p.training.micro_batch = 1U << 20U;
            p.training.global_batch = 1U << 24U;
        },
        "/training/micro_batch_size", "1048576", "tokens");
}

}  // namespace
}  // namespace orrery::strategies
